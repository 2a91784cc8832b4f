/** The package API: the same engine and queue as the server, inside this process. */
export { open } from './open.js'
export type * from './types.js'
