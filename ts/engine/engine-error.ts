import { ApiError } from '../errors/index.js'

/** A user's mistake found by an engine. Any other rejection of an engine is our own fault. */
export class EngineError extends ApiError {
  override readonly name = 'EngineError'
}
