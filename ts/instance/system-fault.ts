import { isDiskFull } from '../tasks/index.js'

/**
 * Whether a failure comes from the operating system, so that its message without a stack tells enough. The native
 * engine names such a fault as Rust does, by its number.
 */
export const isSystemFault = (error: unknown): error is Error =>
  error instanceof Error &&
  ((error as NodeJS.ErrnoException).syscall !== undefined ||
    /\(os error \d+\)/.test(error.message) ||
    isDiskFull(error))
