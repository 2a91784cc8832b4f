/** The program that tests start in a separate process. */
import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const compiled = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const writtenAt = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** True if the bundle is not older than the last compilation. */
export const isBundleFresh = writtenAt(compiled('bundle/siftd.js')) > writtenAt(compiled('.tsbuildinfo'))

/** The file for Node.js: the bundle, as for users, because it starts in half the time. */
export const program = isBundleFresh ? compiled('bundle/siftd.js') : compiled('ts/cli/main.js')

const { NODE_COMPILE_CACHE, XDG_CACHE_HOME } = process.env

/**
 * Variables for programs with a home directory of their own. Compiled code is not kept there: a start that takes longer
 * than usual would add a file.
 */
export const sharedCode = {
  NODE_COMPILE_CACHE: NODE_COMPILE_CACHE || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'siftd'),
}
