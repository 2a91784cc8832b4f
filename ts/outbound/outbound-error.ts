/** Why a call has no answer. */
export type OutboundFault =
  /** The URL cannot be called, or not with these headers. */
  | 'url'
  /** The address policy forbids it. */
  | 'refused'
  | 'unreachable'
  /** The certificate of the server is not trusted. */
  | 'certificate'
  | 'timeout'
  | 'too_large'
  | 'redirects'
  /** The signal of the caller aborted. */
  | 'aborted'

/** A call without an answer. Its message names the host, but never a header or the rest of the URL. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError'

  constructor(
    readonly fault: OutboundFault,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
