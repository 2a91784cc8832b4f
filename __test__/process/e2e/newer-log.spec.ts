/** Servers that find a log of a newer version in their bucket at a start. */
import { LOG_FORMAT, type ReplicationFigures, recordKey } from '../../../ts/replication/index.js'
import type { TestDaemon } from '../../support/daemon.js'
import { withFormat } from '../../support/newer-format.js'
import { bucket, storeAt } from '../../support/store-servers.js'
import { add, answered, sent, settled, tests, titles, world } from './bucket-world.js'

async function problemOf(server: TestDaemon): Promise<ReplicationFigures> {
  for (;;) {
    const { body } = await answered(server, 'GET', '/health')
    const figures = body.replication as unknown as ReplicationFigures | undefined
    if (figures !== undefined && figures.problem !== null) return figures
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

tests('servers with data serve it when a newer version writes the log, others name the remedy', async (t) => {
  const { start, origin } = await world(t)
  const writer = await start('first', '--bucket-ack', 'bucket')
  await settled(writer, await add(writer, [{ id: 1, title: 'Solaris' }]))
  await sent(writer)
  const follower = await start('second', '--follow')
  t.deepEqual(await titles(follower, ''), ['Solaris'])
  await follower.stop()
  await writer.stop()
  const store = storeAt(t, origin, { url: `s3://${bucket}/instances/one` })
  let last = ''
  for await (const { key } of store.list('log/')) last = key
  const newest = (await store.get(last, { bytesMax: 2 ** 25 }))!
  const next = recordKey(Number(last.slice('log/'.length)) + 1)
  await store.put(next, withFormat(newest, LOG_FORMAT + 1))
  for (const [name, ...role] of [['second', '--follow', '--candidate', 'yes'], ['first']] as const) {
    const server = await start(name, ...role)
    t.deepEqual(await titles(server, ''), ['Solaris'])
    const { role: found, problem } = await problemOf(server)
    t.is(found, 'follower')
    t.regex(problem ?? '', /was written by a newer version .*upgrade this server$/)
    const { status } = await server.call('POST', '/indexes/films/documents', [{ id: 2 }])
    t.true([400, 503].includes(status))
    t.is(await server.stop(), 0)
  }
  for (const role of [[], ['--follow']]) {
    const { message } = await t.throwsAsync(start('third', ...role))
    t.regex(message, /siftd: --bucket: .*a newer version.*upgrade this server/)
  }
})
