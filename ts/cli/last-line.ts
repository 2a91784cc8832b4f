import { ApiError, codes } from '../errors/index.js'
import { LaunchError } from '../launch/index.js'
import { printable } from '../parse/index.js'

/**
 * Text that says why the process ends: one line if the user or the operating system caused it. The stack for other
 * errors, which are bugs to report.
 */
export function lastLineOf(error: unknown): string {
  if (!(error instanceof Error)) return `siftd: ${printable(String(error))}`
  const isKnown = error instanceof LaunchError || isOfTheSystem(error)
  const text = isKnown ? error.message : (error.stack ?? error.message)
  // SQLite reports several damaged pages on several lines.
  return `siftd: ${printable(isKnown ? text.split('\n').join('; ') : text)}`
}

/** Returns true if the operating system refused something, such as disk space or an open file. */
function isOfTheSystem(error: Error): boolean {
  if (error instanceof ApiError) return codes[error.code].type === 'system'
  return 'syscall' in error && 'errno' in error
}
