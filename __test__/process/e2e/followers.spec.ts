/**
 * Servers that follow another server through its bucket. Rules tested here:
 * 1. A follower serves everything the writer has sent, and refuses writes while the writer cannot be reached.
 * 2. A task is shown as succeeded only if its documents are found.
 * 3. Without the bucket a follower serves its data, also after a restart, reports its age, and stays healthy.
 * 4. After a takeover the former writer becomes a follower without a manual restart.
 */
import type { TestDaemon } from '../../support/daemon.js'
import { add, answered, sent, settled, tests, titles, world } from './bucket-world.js'

/** Address at which no server listens. */
const unreachable = 'http://127.0.0.1:9'

/** Waits for a task of a server that may restart its instance in between. @returns its final status */
async function statusThrough(server: TestDaemon, uid: unknown): Promise<unknown> {
  for (;;) {
    const { status } = (await answered(server, 'GET', `/tasks/${uid}`)).body
    if (status === 'succeeded' || status === 'failed') return status
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

tests(
  'a follower gives the same answers as the writer while documents, settings, keys and indexes change',
  async (t) => {
    const { start } = await world(t)
    const writer = await start('writer', '--advertised-url', unreachable, '--bucket-ack', 'bucket')
    await settled(writer, await add(writer, [{ id: 1, title: 'Solaris', year: 1972 }]))
    await sent(writer)
    const follower = await start('follower', '--follow')
    t.deepEqual(await titles(follower, 'solars'), ['Solaris'])

    const refused = await follower.call('POST', '/indexes/films/documents', [{ id: 2 }])
    t.deepEqual([refused.status, refused.body.code], [503, 'bucket_unavailable'])
    t.regex(String(refused.body.message), /the leader cannot be reached: nothing was written/)
    for (const [method, path, body] of [
      ['PATCH', '/experimental-features', { metrics: true }],
      ['POST', '/keys', { actions: ['search'], indexes: ['*'], expiresAt: null }],
      ['POST', '/webhooks', { url: 'https://example.com' }],
      ['POST', '/swap-indexes', [{ indexes: ['films', 'books'] }]],
      ['DELETE', '/indexes/films', undefined],
      ['POST', '/dumps', undefined],
    ] as const)
      t.is((await follower.call(method, path, body)).body.code, 'bucket_unavailable', path)

    for (let round = 0; round < 10; round++) {
      const task = await add(writer, [{ id: 10 + round, title: `Mirror ${round}`, year: 1975 + round }])
      await settled(follower, task)
      t.true((await titles(follower, `mirror ${round}`)).includes(`Mirror ${round}`), `round ${round}`)
    }
    const filtered = { q: '', filter: 'year > 1980' }
    const settings = await writer.call('PATCH', '/indexes/films/settings', { filterableAttributes: ['year'] })
    await settled(follower, settings.body.taskUid)
    const [there, here] = await Promise.all(
      [writer, follower].map(
        async (server) => (await server.call('POST', '/indexes/films/search', filtered)).body.hits,
      ),
    )
    t.deepEqual(here, there)
    t.is((here as unknown as readonly unknown[]).length, 4)

    await settled(follower, (await writer.call('POST', '/indexes', { uid: 'books' })).body.taskUid)
    const swapped = await writer.call('POST', '/swap-indexes', [{ indexes: ['films', 'books'] }])
    await settled(follower, swapped.body.taskUid)
    t.is((await follower.call('GET', '/indexes/books/stats')).body.numberOfDocuments, 11)
    await settled(follower, (await writer.call('DELETE', '/indexes/books')).body.taskUid)
    t.is((await follower.call('GET', '/indexes/books')).status, 404)
    await writer.call('PATCH', '/experimental-features', { metrics: true })
    const last = await writer.call('POST', '/indexes/films/documents', [{ id: 1 }])
    await settled(follower, last.body.taskUid)
    t.true((await follower.call('GET', '/experimental-features')).body.metrics)
    const metrics = await (await fetch(`http://127.0.0.1:${follower.port}/metrics`)).text()
    for (const name of [
      'bucket_position',
      'bucket_unsent_transactions',
      'bucket_away_seconds',
      'follower_stale_seconds',
    ])
      t.regex(metrics, new RegExp(`^siftd_${name} \\d`, 'm'))
    const tasks = async (server: typeof writer) => (await server.call('GET', '/tasks?limit=1000')).body
    await settled(writer, last.body.taskUid)
    t.deepEqual(await tasks(follower), await tasks(writer))
  },
)

tests('a read that requires a position is answered once the follower has reached it', async (t) => {
  const { start } = await world(t)
  const writer = await start('writer', '--bucket-interval', '400')
  await settled(writer, await add(writer, [{ id: 0, title: 'Solaris' }]))
  const follower = await start('follower', '--follow', '--bucket-interval', '400')
  for (let round = 1; round < 5; round++) {
    const task = await add(writer, [{ id: round, title: `Mirror ${round}` }])
    await settled(writer, task)
    const seen = await fetch(`http://127.0.0.1:${writer.port}/tasks/${task}`)
    const position = seen.headers.get('x-siftd-position') ?? ''
    const search = (headers: Record<string, string>) =>
      fetch(`http://127.0.0.1:${follower.port}/indexes/films/search?q=${round}`, { headers })
    const { hits } = (await (await search({ 'X-Siftd-Position': position })).json()) as {
      hits: { title: string }[]
    }
    t.deepEqual(
      hits.map(({ title }) => title),
      [`Mirror ${round}`],
    )
  }
  const asked = (position: string) =>
    fetch(`http://127.0.0.1:${follower.port}/indexes`, { headers: { 'x-siftd-position': position } })
  t.is((await asked('nothing')).status, 400)
  const seen = await fetch(`http://127.0.0.1:${writer.port}/tasks/0`)
  const [outbox] = (seen.headers.get('x-siftd-position') ?? '').split(':')
  const behind = await asked(`${outbox}:999999`)
  t.is(behind.status, 503)
  t.is(((await behind.json()) as { code: string }).code, 'follower_behind')
})

tests(
  'without its bucket a follower serves its data, also after a restart, and reports its age in /health',
  async (t) => {
    const { start, pauseStore, continueStore } = await world(t)
    const writer = await start('writer', '--bucket-ack', 'bucket')
    await settled(writer, await add(writer, [{ id: 1, title: 'Solaris' }]))
    await sent(writer)
    const first = await start('follower', '--follow', '--follow-stale-after', '1')
    const health = async (server: TestDaemon) => {
      const { status, body } = await server.call('GET', '/health')
      t.is(status, 200)
      return body.replication as unknown as { role: string; staleSeconds: number | null }
    }
    t.is((await health(first)).role, 'follower')
    pauseStore()
    // Liveness probes must not restart a follower during an outage of the bucket.
    while (((await health(first)).staleSeconds ?? 0) < 2)
      await new Promise((resolve) => setTimeout(resolve, 50))
    t.deepEqual(await titles(first, 'solaris'), ['Solaris'])
    await first.kill()
    const again = await start('follower', '--follow')
    t.is((await health(again)).staleSeconds, null)
    t.deepEqual(await titles(again, 'solaris'), ['Solaris'])
    continueStore()
    // The writer refuses writes until it has reached the bucket again.
    for (;;) {
      const { status, body } = await writer.call('POST', '/indexes/films/documents', [
        { id: 2, title: 'Stalker' },
      ])
      if (status === 202) {
        await settled(again, body.taskUid)
        break
      }
      t.is(body.code, 'bucket_unavailable')
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    t.deepEqual(await titles(again, 'stalker'), ['Stalker'])
  },
)

tests('after a takeover the former writer follows, and leads again with --bucket-take-over', async (t) => {
  const { start } = await world(t)
  const first = await start('first', '--bucket-ack', 'bucket')
  await settled(first, await add(first, [{ id: 1, title: 'Solaris' }]))
  await sent(first)
  const second = await start('second', '--advertised-url', unreachable)
  const task = await add(second, [{ id: 2, title: 'Stalker' }])
  // The first server reopens its instance, so a request may meet a closed port.
  t.is(await statusThrough(first, task), 'succeeded')
  t.deepEqual((await titles(first, '')).toSorted(), ['Solaris', 'Stalker'])
  const refused = await first.call('POST', '/indexes/films/documents', [{ id: 3 }])
  t.is(refused.body.code, 'bucket_unavailable')
  await first.stop()
  const follows = await start('first')
  t.is((await follows.call('POST', '/indexes/films/documents', [{ id: 3 }])).body.code, 'bucket_unavailable')
  await follows.stop()
  const leads = await start('first', '--bucket-take-over')
  t.is((await settled(leads, await add(leads, [{ id: 3, title: 'Mirror' }]))).status, 'succeeded')
  t.is(await statusThrough(second, 2), 'succeeded')
  t.deepEqual((await titles(second, '')).toSorted(), ['Mirror', 'Solaris', 'Stalker'])
})
