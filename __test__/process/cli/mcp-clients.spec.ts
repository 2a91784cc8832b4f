/** Tests MCP with many clients at once, some of which cancel their calls. */
import test from 'ava'
import { callTool, connect, startFilms } from '../../mcp/world.js'

const CLIENTS = 100
const call = { name: 'searchInIndexes', arguments: { queries: [{ indexUid: 'films', q: 'atlas' }] } }

test(`each of ${CLIENTS} clients at once gets its hits, and cancelled calls affect no other`, async (t) => {
  t.timeout(300_000)
  const server = await startFilms(t)
  const outcomes = await Promise.all(
    Array.from({ length: CLIENTS }, async (_, i) => {
      const client = await connect(t, server, { era: i % 2 === 0 ? 'modern' : 'legacy' })
      if (i % 10 === 0) {
        const controller = new AbortController()
        const cancelled = client.callTool(call, { signal: controller.signal })
        controller.abort()
        return cancelled.then(
          () => 'answered',
          () => 'cancelled',
        )
      }
      return (await callTool(client, call.name, call.arguments)).value.results[0].hits[0].id
    }),
  )
  t.deepEqual(
    outcomes,
    Array.from({ length: CLIENTS }, (_, i) => (i % 10 === 0 ? 'cancelled' : 1)),
  )
  // The server still answers.
  const client = await connect(t, server)
  t.is((await callTool(client, 'describeIndex', { indexUid: 'films' })).value.numberOfDocuments, 30)
})
