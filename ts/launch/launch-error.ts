/** Reasons why a process cannot start. */
export type LaunchErrorCode =
  /** Another process has the data directory open. */
  | 'directory_in_use'
  /** The data directory cannot be read or written, or is not a directory. */
  | 'directory_unusable'
  /** Another version wrote the data directory, or it is not one of siftd. */
  | 'directory_version'
  /** The other engine wrote the data directory. */
  | 'directory_engine'
  /** The task store is damaged or incomplete, or an index cannot be read. */
  | 'directory_damaged'
  | 'disk_full'
  /** The native engine was requested, but its binary does not load. */
  | 'engine_unavailable'
  /** An option, argument or variable is invalid. */
  | 'invalid_option'
  | 'launch_failed'

/** A reason why the process cannot do its job, as one line for the user. */
export class LaunchError extends Error {
  override readonly name: string = 'LaunchError'
  /** 2 for a mistake on the command line or in the environment, 1 for other reasons. */
  readonly exitCode: 1 | 2
  readonly code: LaunchErrorCode

  constructor(
    message: string,
    exitCode: 1 | 2,
    { code, ...options }: ErrorOptions & { readonly code?: LaunchErrorCode } = {},
  ) {
    super(message, options)
    this.exitCode = exitCode
    this.code = code ?? (exitCode === 2 ? 'invalid_option' : 'launch_failed')
  }
}
