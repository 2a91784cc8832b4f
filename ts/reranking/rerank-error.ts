import type { OutboundAnswer } from '../outbound/index.js'

/**
 * Why a reranker ranked nothing. `timeout`: the time limit of the search passed. `unreachable` includes a request that
 * took too long before that limit. `refused`: the request was not sent. `model`: a model here cannot be used.
 */
export type RerankFault =
  | 'timeout'
  | 'unreachable'
  | 'refused'
  | 'status'
  | 'unreadable'
  | 'model'
  | 'aborted'

/** A reranker that ranked nothing. Its message names the host or the model, but no secret. */
export class RerankError extends Error {
  override readonly name = 'RerankError'

  constructor(
    readonly fault: RerankFault,
    message: string,
    /** The answer of a service, if there was one. */
    readonly answer: Pick<OutboundAnswer, 'status' | 'headers'> | null = null,
  ) {
    super(message)
  }
}

/** Returns the error for a search whose client has left. */
export const abandoned = (): RerankError => new RerankError('aborted', 'the search was abandoned')
