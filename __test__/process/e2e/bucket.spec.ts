/**
 * A server whose instance is kept in a bucket. Rules tested here:
 * 1. An empty data directory becomes the instance in the bucket: documents, tasks, keys, waiting uploads.
 * 2. After a takeover the former writer writes nothing to the bucket, unless `--bucket-take-over` is given.
 * 3. With `--bucket-ack bucket` a write is acknowledged only if the bucket has it.
 * 4. A start from a bucket with invalid objects exits with a one-line message, and can be repeated.
 */
import { randomBytes } from 'node:crypto'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeRecord } from '../../../ts/replication/index.js'
import { type SpoiltCase, spoiltCases, spoiltObject } from '../../replication/spoilt-json.js'
import { freePort } from '../../support/ports.js'
import { bucket, storeAt } from '../../support/store-servers.js'
import { add, answered, connected, held, sent, settled, tests, titles, world } from './bucket-world.js'

/** A body too large for the task store, so it goes to the spool. */
const many = Array.from({ length: 4000 }, (_, id) => ({
  id: id + 100,
  title: `film ${id} ${'x'.repeat(100)}`,
}))

tests(
  'a server with an empty data directory restores everything that a killed server acknowledged',
  async (t) => {
    const { directory, start } = await world(t)
    const first = await start('first', '--bucket-ack', 'bucket')
    await settled(first, await add(first, [{ id: 1, title: 'Solaris' }]))
    await first.call('POST', '/keys', { actions: ['search'], indexes: ['films'], expiresAt: null })
    await sent(first)
    await first.stop()
    const holding = await start('first', '--bucket-ack', 'bucket', ...held)
    await add(holding, many)
    const uids = (await holding.call('GET', '/tasks')).body.results
    await holding.kill()
    await rm(join(directory, 'first'), { recursive: true })

    const second = await start('second')
    t.deepEqual(await titles(second, 'solars'), ['Solaris'])
    t.is((uids as readonly unknown[]).length, 2)
    t.is((await settled(second, 1)).status, 'succeeded')
    t.is((await second.call('GET', '/indexes/films/stats')).body.numberOfDocuments, 4001)
    t.true((await readdir(join(directory, 'second'))).includes('VERSION'))
  },
)

tests('an encrypted bucket can be read only with its key', async (t) => {
  const { directory, start, origin } = await world(t)
  const [key, other] = [join(directory, 'key'), join(directory, 'other')]
  for (const path of [key, other]) await writeFile(path, randomBytes(32).toString('base64'))
  const first = await start('first', '--bucket-ack', 'bucket', '--bucket-key-file', key)
  await settled(first, await add(first, [{ id: 1, title: 'Solaris' }]))
  await add(first, many)
  await sent(first)
  await first.kill()
  const store = storeAt(t, origin, { url: `s3://${bucket}/instances/one` })
  for await (const { key: name } of store.list('')) {
    const bytes = await store.get(name, { bytesMax: 2 ** 25 })
    t.false(bytes?.includes('Solaris') ?? true, name)
  }
  t.regex(
    (await t.throwsAsync(start('none'))).message,
    /it is encrypted: give the key .* with --bucket-key-file/,
  )
  t.regex((await t.throwsAsync(start('wrong', '--bucket-key-file', other))).message, /--bucket-key-file/)
  const second = await start('second', '--bucket-key-file', key)
  t.deepEqual(await titles(second, 'solars'), ['Solaris'])
})

tests('a server continues with its own data directory, and sends what the bucket lacks', async (t) => {
  const { directory, start } = await world(t)
  // The long interval keeps the writes out of the bucket until the process is killed.
  const first = await start('first', '--bucket-interval', '3600000')
  await settled(first, await add(first, [{ id: 1, title: 'Solaris' }]))
  await first.kill()
  const again = await start('first', '--bucket-ack', 'bucket')
  t.deepEqual(await titles(again, ''), ['Solaris'])
  await sent(again)
  await again.kill()
  await rm(join(directory, 'first'), { recursive: true })
  t.deepEqual(await titles(await start('second'), ''), ['Solaris'])
})

tests('a former writer becomes a follower, and sets aside changes that it did not send', async (t) => {
  const { directory, start } = await world(t)
  const first = await start('first', '--bucket-ack', 'bucket')
  await settled(first, await add(first, [{ id: 1, title: 'Solaris' }]))
  await sent(first)
  await first.stop()
  // The end of the first task is sent at once. The long interval keeps later writes out of the bucket until the process is
  // killed.
  const alone = await start('first', '--bucket-interval', '3600000')
  await settled(alone, await add(alone, [{ id: 1, title: 'Solaris' }]))
  await connected(alone)
  await settled(alone, await add(alone, [{ id: 9, title: 'Nostalghia' }]))
  await alone.kill()
  const second = await start('second', '--bucket-ack', 'bucket')
  await settled(second, await add(second, [{ id: 2, title: 'Stalker' }]))
  await sent(second)
  await second.stop()

  const follows = await start('first')
  t.is((await follows.call('POST', '/indexes/films/documents', [{ id: 3 }])).body.code, 'not_leader')
  t.deepEqual((await titles(follows, '')).toSorted(), ['Solaris', 'Stalker'])
  await follows.stop()
  const forced = await start('first', '--bucket-take-over')
  t.deepEqual((await titles(forced, '')).toSorted(), ['Solaris', 'Stalker'])
  await forced.stop()
  const aside = (await readdir(join(directory, 'first'))).filter((name) => name.startsWith('diverged-'))
  t.is(aside.length, 1)
  const note = JSON.parse(await readFile(join(directory, 'first', aside[0]!, 'diverged.json'), 'utf8')) as {
    unsentTransactions: number
  }
  t.true(note.unsentTransactions > 0)
})

tests('a running writer refuses writes after a takeover, until it reaches the new writer', async (t) => {
  const { start } = await world(t)
  const first = await start('first', '--bucket-ack', 'bucket')
  await settled(first, await add(first, [{ id: 1, title: 'Solaris' }]))
  await sent(first)
  await start('second', '--advertised-url', 'http://127.0.0.1:9')
  const { status, body } = await answered(first, 'POST', '/indexes/films/documents', [{ id: 2 }])
  t.true(['not_leader', 'bucket_unavailable'].includes(String(body.code)), `${status} ${body.code}`)
})

tests('a server without data reports that its bucket does not answer', async (t) => {
  const { start, pauseStore, continueStore } = await world(t)
  const nowhere = `http://127.0.0.1:${await freePort()}`
  for (const role of [[], ['--follow'], ['--bucket-until', '3']]) {
    const refused = await t.throwsAsync(start('alone', '--bucket-endpoint', nowhere, ...role))
    t.regex(refused.message, /--bucket: .*127\.0\.0\.1.*; a server without data of its own needs the bucket/)
  }
  pauseStore()
  t.regex((await t.throwsAsync(start('alone'))).message, /needs the bucket at its start/)
  continueStore()
})

tests('a restarted former writer accepts no writes before it has read the log to its end', async (t) => {
  const { start, pauseStore, continueStore } = await world(t)
  const first = await start('first')
  await settled(first, await add(first, [{ id: 1, title: 'Solaris' }]))
  await sent(first)
  await first.stop()
  const second = await start('second', '--bucket-ack', 'bucket')
  await settled(second, await add(second, [{ id: 2, title: 'Stalker' }]))
  await sent(second)
  pauseStore()
  const late = await start('first')
  t.deepEqual(await titles(late, ''), ['Solaris'])
  const { status, body } = await late.call('POST', '/indexes/films/documents', [{ id: 3 }])
  t.deepEqual([status, body.code], [503, 'bucket_unavailable'])
  t.regex(String(body.message), /has not read the log in the bucket to its end/)
  await late.stop()
  const sole = await start('first', '--bucket-sole-writer')
  t.is((await sole.call('POST', '/indexes/films/documents', [{ id: 3 }])).status, 202)
  await sole.stop()
  const again = await start('first')
  continueStore()
  for (;;) {
    const refused = await answered(again, 'POST', '/indexes/films/documents', [{ id: 4 }])
    if (refused.body.code === 'not_leader') break
    t.is(refused.body.code, 'bucket_unavailable')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  // It refuses writes as a follower, and shows its own data until it has set them aside.
  while (!(await titles(again, '')).includes('Stalker'))
    await new Promise((resolve) => setTimeout(resolve, 50))
  t.deepEqual((await titles(again, '')).toSorted(), ['Solaris', 'Stalker'])
})

tests('a server with --bucket-take-over takes over when its bucket answers late', async (t) => {
  const { start, pauseStore, continueStore } = await world(t)
  const first = await start('first', '--bucket-ack', 'bucket')
  await settled(first, await add(first, [{ id: 1, title: 'Solaris' }]))
  await sent(first)
  await first.kill()
  const second = await start('second', '--bucket-ack', 'bucket', '--bucket-take-over')
  await settled(second, await add(second, [{ id: 2, title: 'Stalker' }]))
  await sent(second)
  await second.stop()
  pauseStore()
  const late = await start('first', '--bucket-take-over')
  t.deepEqual(await titles(late, ''), ['Solaris'])
  continueStore()
  t.is(await connected(late), 'writer')
  t.deepEqual((await titles(late, '')).toSorted(), ['Solaris', 'Stalker'])
})

tests('creating keys at the start does not wait for the bucket, but client writes do', async (t) => {
  const { start } = await world(t)
  const first = await start('first')
  await settled(first, await add(first, [{ id: 1, title: 'Solaris' }]))
  await sent(first)
  await first.kill()
  const masterKey = 'a master key of this test'
  const secured = await start('first', '--master-key', masterKey)
  const keys = (path: string, method: string) =>
    fetch(`http://127.0.0.1:${secured.port}/keys${path}`, {
      method,
      headers: { authorization: `Bearer ${masterKey}` },
    })
  const { results } = (await (await keys('', 'GET')).json()) as { results: readonly { uid: string }[] }
  t.true(results.length > 0)
  for (const { uid } of results) t.is((await keys(`/${uid}`, 'DELETE')).status, 204)
  await secured.kill()
  const nowhere = `http://127.0.0.1:${await freePort()}`
  const again = await start('first', '--bucket-endpoint', nowhere, '--bucket-ack', 'bucket')
  t.deepEqual(await titles(again, 'solaris'), ['Solaris'])
  const { status, body } = await again.call('POST', '/indexes/films/documents', [{ id: 2 }])
  t.deepEqual([status, body.code], [503, 'bucket_unavailable'])
})

tests('existing data and a bucket with another instance refuse the start', async (t) => {
  const { start } = await world(t)
  const first = await start('first', '--bucket-ack', 'bucket')
  await sent(first)
  await first.stop()
  const other = await start('other', '--bucket', `s3://${bucket}/instances/two`, '--bucket-ack', 'bucket')
  await sent(other)
  await other.stop()
  const refused = await t.throwsAsync(start('other'))
  t.regex(
    refused.message,
    /the bucket holds the instance [0-9a-f-]+, the data directory is of [0-9a-f-]+; choose/,
  )
})

tests('an earlier point in time is served from a new data directory, and nothing is sent', async (t) => {
  const { start, origin } = await world(t)
  const first = await start('first', '--bucket-ack', 'bucket')
  await settled(first, await add(first, [{ id: 1, title: 'Solaris' }]))
  await sent(first)
  const store = storeAt(t, origin, { url: `s3://${bucket}/instances/one` })
  const entries = async (): Promise<number> => {
    let count = 0
    for await (const { key } of store.list('log/')) count += Number(key.startsWith('log/'))
    return count
  }
  const moment = (await entries()) - 1
  await settled(first, await add(first, [{ id: 2, title: 'Stalker' }]))
  await sent(first)
  await first.stop()
  const before = await entries()
  const former = await start('former', '--bucket-until', String(moment))
  t.deepEqual(await titles(former, ''), ['Solaris'])
  await settled(former, await add(former, [{ id: 3, title: 'Mirror' }]))
  await former.stop()
  t.is(await entries(), before)
  const refused = await t.throwsAsync(start('early', '--bucket-until', '2020-01-01'))
  t.regex(refused.message, /--bucket-until: the bucket holds nothing of that moment/)
})

tests(
  'a server without data reports a damaged object in its bucket, and starts once it is repaired',
  async (t) => {
    const { start, origin } = await world(t)
    for (const words of [['Solaris'], ['Stalker', 'Mirror']]) {
      const writer = await start('first', '--bucket-ack', 'bucket')
      for (const title of words) await settled(writer, await add(writer, [{ id: title, title }]))
      await sent(writer)
      await writer.stop()
    }
    const store = storeAt(t, origin, { url: `s3://${bucket}/instances/one` })
    const read = async (key: string) => (await store.get(key, { bytesMax: 2 ** 25 }))!
    /** Kind of an object → the last one of it. */
    const last = new Map<string, string>()
    for await (const { key } of store.list('log/')) last.set(decodeRecord(await read(key)).kind, key)
    for await (const { key } of store.list('base/')) last.set('base', key)
    const cases: readonly (readonly [kind: string, of: SpoiltCase['of'], what: string])[] = [
      ['base', 'base', 'an image without parts'],
      ['changes', 'body', 'adopted numbers'],
      ['changes', 'rows', 'a table of null'],
      ['fence', 'fence', 'an unknown engine'],
    ]
    for (const [kind, of, what] of cases) {
      const spoilt = spoiltCases.find((one) => one.of === of && one.what === what)!
      const key = last.get(kind)!
      const whole = await read(key)
      await store.put(key, spoiltObject(spoilt, whole))
      for (const role of [[], ['--follow']]) {
        const { message } = await t.throwsAsync(start('second', ...role))
        const [line, ...others] = message.split('\n').filter((text) => text.includes('siftd: '))
        const entry = Number(key.split('/')[1])
        t.regex(line ?? '', new RegExp(`siftd: --bucket: .*log record ${entry}\\b.*`), message)
        t.regex(line ?? '', spoilt.told)
        t.deepEqual(others, [])
        t.regex(message, /^the daemon exited with 1: /)
        t.notRegex(message, /\n {4}at /)
      }
      await store.put(key, whole)
    }
    t.deepEqual(await titles(await start('second'), ''), ['Solaris', 'Stalker', 'Mirror'])
  },
)
