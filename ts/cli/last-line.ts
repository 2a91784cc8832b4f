import { EngineLoadError } from '../engine/index.js'
import { ApiError, codes } from '../errors/index.js'
import { LaunchError } from '../settings/index.js'

/**
 * Why the process ends. One line for what the user or the system is the reason of; a fault of ours comes with
 * its stack, which its report needs.
 */
export function lastLineOf(error: unknown): string {
  if (!(error instanceof Error)) return `siftd: ${String(error)}`
  const isKnown = error instanceof LaunchError || error instanceof EngineLoadError || isOfTheSystem(error)
  const text = isKnown ? error.message : (error.stack ?? error.message)
  // SQLite tells of several damaged pages on several lines.
  return `siftd: ${isKnown ? text.split('\n').join('; ') : text}`
}

/** Whether a disk, a limit of open files or the like failed, by whichever layer noticed it. */
function isOfTheSystem(error: Error): boolean {
  if (error instanceof ApiError) return codes[error.code].type === 'system'
  return 'syscall' in error && 'errno' in error
}
