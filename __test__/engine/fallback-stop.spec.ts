/** Work that the fallback's one thread does for a request ends when its client leaves, or when a filter has had its time. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { openFallback } from '../../ts/engine/fallback/index.js'
import { filterClock } from '../../ts/engine/fallback/search/bounds.js'
import { encodeRequest } from '../../ts/engine/index.js'

const features = { containsFilter: false, legacySearch: false, multimodal: false, foreignKeys: false }
const listing = {
  indexUid: 'a',
  offset: 0,
  limit: 10,
  fields: null,
  retrieveVectors: false,
  ids: null,
  filter: null,
  sort: null,
  features,
}

test('a listing whose client disconnects is given up, and the index answers as before', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-stop-'))
  const engine = await openFallback({ directory, log: { error: () => undefined } as never })
  t.teardown(async () => {
    await engine.close()
    await rm(directory, { recursive: true, force: true })
  })
  const payload = { text: '[{"id":1},{"id":2}]', format: 'json' } as const
  const documents = {
    kind: 'documents',
    method: 'replace',
    payload,
    primaryKey: null,
    skipCreation: false,
  } as const
  const operations = [{ taskUid: 1, ...documents }]
  await engine.commit(await engine.prepare('a', { uid: 1, indexUid: 'a', operations } as never), [])
  const gone = AbortSignal.abort()
  await t.throwsAsync(engine.documents('a', encodeRequest(listing), gone), { message: /given up/ })
  await t.throwsAsync(engine.documents('a', encodeRequest({ ...listing, filter: 'x = 1' }), gone))
  t.is(engine.damage('a'), null)
  const answer = JSON.parse(Buffer.from(await engine.documents('a', encodeRequest(listing))).toString())
  t.is(answer.total, 2)
})

test('a filter fails once its time is up or its client disconnects, and not before', (t) => {
  let now = 500
  const stop = { aborted: false }
  const look = filterClock(stop, 'invalid_document_filter', () => now)
  look()
  now += 3000
  look()
  now += 1
  t.throws(look, { message: /3000 ms/, name: 'EngineError' })
  now = 500
  stop.aborted = true
  t.throws(look, { message: /given up/ })
})
