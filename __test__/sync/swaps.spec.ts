/** Swaps of a sync whose answers are lost. A repeated swap would undo the first. */
import { request as call, createServer } from 'node:http'
import test from 'ava'
import { openOutbound } from '../../ts/outbound/index.js'
import { openPeer } from '../../ts/transfer/index.js'
import { Destination } from '../../ts/transfer/sync/index.js'
import { listening } from '../support/listening.js'
import { startServer } from '../support/server.js'

const losses: readonly { readonly name: string; readonly path: RegExp }[] = [
  { name: 'the answer to the swap', path: /^\/swap-indexes/ },
  { name: 'an answer about its task', path: /^\/tasks\/\d+/ },
]

for (const { name, path } of losses)
  test(`indexes are swapped once if the target does not send ${name}`, async (t) => {
    const server = await startServer(t)
    for (const uid of ['films', 'copy'])
      await server.settle(t, server.post(`/indexes/${uid}/documents`, [{ id: uid }]))
    let lost = 0
    const proxy = createServer((request, answer) => {
      const { method, url = '', headers } = request
      const passed = call(`${server.url}${url}`, { method, headers }, (found) => {
        const isLost = path.test(url) && ++lost === 1
        // The server has carried out the call.
        if (isLost) found.resume().once('end', () => answer.destroy())
        else {
          answer.writeHead(found.statusCode ?? 500, found.headers)
          found.pipe(answer)
        }
      })
      request.pipe(passed)
    })
    const url = await listening(t, proxy)
    const outbound = openOutbound({ allowedNetworks: 'any' })
    t.teardown(() => outbound.close())
    const { signal } = new AbortController()
    const peer = openPeer(outbound, { flag: 'url', url, key: null }, { attemptsMax: 1, signal })
    const target = new Destination(peer, { log: () => undefined, signal })
    await target.swap('films', 'copy')
    t.is((await server.get('/indexes/films/documents/copy')).status, 200)
    t.is((await server.get('/tasks?types=indexSwap')).body.total, 1)
    t.true(lost > 0)

    await target.swap('films', 'copy')
    t.is((await server.get('/indexes/films/documents/films')).status, 200)
    t.is((await server.get('/tasks?types=indexSwap')).body.total, 2)
  })

test('indexes are not swapped with a key that does not see the task of the swap', async (t) => {
  const server = await startServer(t, { masterKey: 'master-key-of-a-test' })
  for (const uid of ['films', 'films_siftd_copy'])
    await server.settle(t, server.post(`/indexes/${uid}/documents`, [{ id: uid }]))
  const outbound = openOutbound({ allowedNetworks: 'any' })
  t.teardown(() => outbound.close())
  const stop = new AbortController()
  const { signal } = stop
  const targetOf = async (indexes: readonly string[], log: (line: string) => void): Promise<Destination> => {
    const actions = ['documents.*', 'indexes.*', 'settings.*', 'stats.get', 'tasks.get']
    const { body } = await server.post('/keys', { actions, indexes, expiresAt: null })
    const address = { flag: 'url', url: server.url, key: body.key } as const
    return new Destination(openPeer(outbound, address, { attemptsMax: 1, signal }), { log, signal })
  }
  let refuse: (line: string) => void = () => undefined
  const refused = new Promise<string>((resolve) => {
    refuse = resolve
  })
  const limited = (await targetOf(['films*', '_siftd_sync*'], refuse)).swap('films', 'films_siftd_copy')
  t.regex(await refused, /refuses the key for all indexes: make one with `--indexes '\*'`/)
  t.is((await server.get('/tasks?types=indexSwap')).body.total, 0)
  await (await targetOf(['*'], t.log)).swap('films', 'films_siftd_copy')
  t.is((await server.get('/tasks?types=indexSwap')).body.total, 1)
  stop.abort()
  await t.throwsAsync(limited)
})
