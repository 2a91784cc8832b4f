/** An instance answered with an error status. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'

  /**
   * @param code error code of the API; null if there was none
   * @param reason error message, or the start of a body that is not JSON; it does not show the key of the call
   * @param retryAfter milliseconds from the Retry-After header; null if there was none
   */
  constructor(
    readonly status: number,
    readonly code: string | null,
    readonly reason: string,
    readonly retryAfter: number | null,
  ) {
    super(reason)
  }

  /** Status, code and reason in one line. */
  get summary(): string {
    const words = [String(this.status), this.code, this.reason]
    return words.filter((word) => word !== null && word !== '').join(' ')
  }
}
