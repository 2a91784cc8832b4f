/** A reason why the process cannot do its job, as one line for the user. */
export class LaunchError extends Error {
  override readonly name: string = 'LaunchError'
  /** 2 for a mistake on the command line or in the environment, 1 for other reasons. */
  readonly exitCode: 1 | 2

  constructor(message: string, exitCode: 1 | 2, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}
