/** The program that tests start in a process of its own. */
import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const compiled = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const writtenAt = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

/**
 * The file that Node.js runs: the bundle, as users run it, which also starts in half the time. A bundle older than the
 * last compilation would be another program, and is passed over.
 */
export const program =
  writtenAt(compiled('bundle/siftd.js')) > writtenAt(compiled('.tsbuildinfo'))
    ? compiled('bundle/siftd.js')
    : compiled('ts/cli/main.js')
