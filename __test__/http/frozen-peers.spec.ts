import { request } from 'node:http'
import test, { type ExecutionContext } from 'ava'
import { openOutbound } from '../../ts/outbound/index.js'
import { masterKey, startCells } from '../support/cells.js'
import { frozenServer } from '../support/frozen-server.js'
import { alone } from '../support/replicated.js'
import { startServer } from '../support/server.js'

// A request is passed on to a server that accepts it and does nothing more, as a suspended process does.

const silence = { passedSilenceMs: 1_000 }

/** A follower of a suspended leader. */
async function behindLeader(t: ExecutionContext) {
  const frozen = await frozenServer(t)
  const peers = openOutbound({ allowedNetworks: 'any', ...silence })
  t.teardown(() => peers.close())
  const replicated = {
    ...{ ...alone, peers, leader: async () => ({ address: frozen.url }), isTooStale: () => false },
    ...{ position: async () => null, reaches: async () => true },
  } as never
  const { url } = await startServer(t, { replicated, masterKey })
  return { requests: frozen.requests, url, who: /the leader did not answer/ }
}

/** A server of a cell. The other cell has a suspended server, and one more that must not get the request. */
async function nextToCell(t: ExecutionContext) {
  const [frozen, second] = [await frozenServer(t), await frozenServer(t)]
  const { a, place } = await startCells(t, {}, ['books'], silence)
  const urls = [frozen.url, second.url]
  place((placement) => ({ ...placement, cells: { ...placement.cells, b: { number: 1, urls } } }))
  const requests = () => frozen.requests() + second.requests()
  return { requests, url: a.url, who: /the cell `b` did not answer/ }
}

/** Sends a write, and returns its answer even if the server does not read the body to its end. */
function written(url: string, method: string, body: Buffer | string) {
  const headers = { authorization: `Bearer ${masterKey}`, 'content-type': 'application/x-ndjson' }
  return new Promise<{ status: number | undefined; text: string; retryAfter: string | undefined }>(
    (resolve, reject) => {
      const sent = request(url, { method, headers }, async (answer) => {
        let text = ''
        for await (const chunk of answer) text += chunk
        resolve({ status: answer.statusCode, text, retryAfter: answer.headers['retry-after'] })
        sent.destroy()
      })
      sent.on('error', reject).end(body)
    },
  )
}

const line = '{"id":1,"text":"some words"}\n'
const writes = [
  ['a write without a body', 'DELETE', '/indexes/books', ''],
  ['a short write', 'POST', '/indexes/books/documents', line],
  ['a long upload', 'POST', '/indexes/books/documents', line.repeat(1_000_000)],
] as const

for (const [where, start] of [
  ['leader', behindLeader],
  ['cell', nextToCell],
] as const)
  for (const [name, method, path, body] of writes)
    test(`${name} to a suspended ${where} is refused, and never repeated`, async (t) => {
      const { requests, url, who } = await start(t)
      const { status, text, retryAfter } = await written(`${url}${path}`, method, body)
      t.is(status, 503, text)
      const { code, message } = JSON.parse(text)
      t.is(code, 'bucket_unavailable')
      t.regex(message, who)
      t.regex(message, /the write may have happened; check GET \/tasks before you send it again/)
      t.truthy(retryAfter)
      t.is(requests(), 1)
    })
