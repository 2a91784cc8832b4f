import { register } from 'node:module'
import test from 'ava'
import { startServer } from '../support/server.js'

/** The library cannot be loaded the first time that the endpoint asks for it. */
const hooks = `
let isRefused = false
export async function resolve(specifier, context, next) {
  if (isRefused || specifier !== '@modelcontextprotocol/server' || !context.parentURL.endsWith('/mcp/endpoint.js'))
    return next(specifier, context)
  isRefused = true
  throw new Error('too many open files')
}`

test('a library that could not be loaded is loaded at the next request', async (t) => {
  register(`data:text/javascript,${encodeURIComponent(hooks)}`)
  const server = await startServer(t, { features: ['mcpRoute'] })
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
  t.is((await server.post('/mcp', list)).body.code, 'internal')
  t.is((await server.post('/mcp', list)).status, 200)
})
