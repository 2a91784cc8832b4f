/** Here is a directory, may I search it without a server? The same engine and queue, inside this process. */
export { open } from './open.js'
export type * from './types.js'
