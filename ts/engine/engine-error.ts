import { ApiError } from '../errors/index.js'

/** A user's mistake found by an engine; any other rejection of an engine is a fault of ours. */
export class EngineError extends ApiError {
  override readonly name = 'EngineError'
}
