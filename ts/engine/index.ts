/** Here is an index and a request: what is the answer? One interface, two engines. */
export type * from './engine.js'
export { EngineError } from './engine-error.js'
export type * from './requests.js'
