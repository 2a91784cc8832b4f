/** The program that tests start in a separate process. */
import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const compiled = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const writtenAt = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** True if the bundle is not older than the last compilation. */
export const isBundleFresh = writtenAt(compiled('bundle/siftd.js')) > writtenAt(compiled('.tsbuildinfo'))

/** The file for Node.js: the bundle, as for users, because it starts in half the time. */
export const program = isBundleFresh ? compiled('bundle/siftd.js') : compiled('ts/cli/main.js')
