import { isDiskFull } from '../tasks/index.js'

/**
 * Returns true if an error comes from the operating system, so its message suffices without a stack. The native engine
 * gives such an error with its number, as Rust does.
 */
export const isSystemFault = (error: unknown): error is Error =>
  error instanceof Error &&
  ((error as NodeJS.ErrnoException).syscall !== undefined ||
    /\(os error \d+\)/.test(error.message) ||
    isDiskFull(error))
