/** Tools for agents over the Model Context Protocol. Loads the protocol library only when it is used. */
export type { Api } from './api.js'
export { type McpEndpoint, openMcpEndpoint } from './endpoint.js'
export { filterNames } from './indexes.js'
export { serveMcpStdio } from './stdio.js'
export { filterSyntax } from './tool.js'
