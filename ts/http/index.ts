/** The HTTP server. */
export { Cells, copyKeys } from './cells/index.js'
export { HttpLoops } from './loops/index.js'
export { QueryHistory, QueryWatch } from './queries/index.js'
export { buildServer } from './server.js'
export { defaultHttpOptions, type HttpOptions, memoryBounds, type Services } from './services.js'
