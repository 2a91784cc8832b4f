/** An instance answered with an error status. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'

  /**
   * @param code the API's code of the refusal; null if there was none
   * @param reason its message, or the start of a body that is no JSON; it does not show the key of the call
   * @param retryAfter milliseconds after which the instance asks to be called again; null if it does not
   */
  constructor(
    readonly status: number,
    readonly code: string | null,
    readonly reason: string,
    readonly retryAfter: number | null,
  ) {
    super(reason)
  }

  /** Status, code and reason in a line. */
  get summary(): string {
    const words = [String(this.status), this.code, this.reason]
    return words.filter((word) => word !== null && word !== '').join(' ')
  }
}
