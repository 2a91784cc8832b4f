import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { Dictionaries } from '../../ts/engine/fallback/analysis/words/index.js'
import { type EngineSetup, openEngine } from '../../ts/engine/index.js'
import { packageFolder } from '../../ts/launch/index.js'
import { defaultIndexSettings } from '../../ts/settings/index.js'
import { startServer, type TestServer, testEngine } from '../support/server.js'

/** Small dictionaries, made by `scripts/tiny-words.mjs`. */
const support = join(packageFolder(), '__test__', 'support', 'words')
const dictionaries = ['tiny-ja.bin', 'tiny-ko.bin'].map((name) => join(support, name))
const cases = JSON.parse(readFileSync(join(support, 'cases.json'), 'utf8')) as [string, string, string][]

test('the fallback cuts texts into the cheapest words', (t) => {
  const installed = Dictionaries.of(dictionaries)
  for (const [language, text, words] of cases)
    t.is([...installed.cutter(language)!.words(text)].join('|'), words, text)
})

test('the fallback cuts a text longer than a window like its parts', (t) => {
  const cutter = Dictionaries.of(dictionaries).cutter('jpn')!
  const once = [...cutter.words('関西国際空港は今日も𠮷野家で')]
  const words = [...cutter.words('関西国際空港は今日も𠮷野家で'.repeat(1_000))]
  t.deepEqual(words, Array.from({ length: 1_000 }, () => once).flat())
})

test('a damaged dictionary is an error that names the path', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-words-'))
  t.teardown(() => rm(directory, { recursive: true }))
  const path = join(directory, 'damaged.bin')
  const sound = readFileSync(dictionaries[0]!)
  const read = () => Dictionaries.of([path]).cutter('jpn')
  for (const length of [0, 8, 15, 60, 100, sound.length - 1]) {
    writeFileSync(path, sound.subarray(0, length))
    t.throws(read, { message: /damaged\.bin cannot be used/ }, `${length} bytes`)
  }
  for (let at = 0; at < sound.length; at += 7) {
    const damaged = Buffer.from(sound)
    damaged[at] = damaged[at]! ^ 0x55
    writeFileSync(path, damaged)
    t.throws(read, { message: /damaged\.bin cannot be used/ }, `byte ${at}`)
  }
  writeFileSync(path, 'no dictionary')
  const opening = async (): Promise<void> => {
    const { engine } = await openEngine(testEngine, { ...setupIn(directory), dictionaries: [path] })
    await engine.list()
  }
  await t.throwsAsync(opening, { message: /damaged\.bin cannot be used/ })
})

const quiet = (): void => undefined
const quietLog = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const setupIn = (directory: string): EngineSetup => ({
  directory: join(directory, 'indexes'),
  log: quietLog,
  indexingMemoryBytes: 1e8,
  indexingThreads: 1,
})

const ID = '0b5a1c1e-2f5b-4c3a-9a6e-0d5f1c2b3a49'

const localized = { localizedAttributes: [{ attributePatterns: ['*'], locales: ['jpn'] }] }

async function titles(server: TestServer, q: string, uid = 'shop'): Promise<string[]> {
  const answer = await server.post(`/indexes/${uid}/search`, { q })
  return answer.body.hits.map(({ title }) => String(title))
}

test('compounds are found by each part, the whole first, and the part is highlighted', async (t) => {
  const server = await startServer(t, { dictionaries })
  await server.settle(t, server.patch('/indexes/shop/settings', localized))
  const documents = [
    { id: 1, title: '空港は国際と関西で' },
    { id: 2, title: '関西国際空港' },
    { id: 3, title: '東京駅' },
    { id: 4, title: '今日は晴れ' },
  ]
  await server.settle(t, server.post('/indexes/shop/documents', documents))
  t.deepEqual(await titles(server, '関西国際空港'), ['関西国際空港', '空港は国際と関西で'])
  for (const q of ['関西', '空港', '国際空港']) t.true((await titles(server, q)).includes('関西国際空港'), q)
  for (const q of ['今', '今日', '今日は晴']) t.deepEqual(await titles(server, q), ['今日は晴れ'], q)
  const shown = await server.post('/indexes/shop/search', { q: '空港', attributesToHighlight: ['title'] })
  const formatted = shown.body.hits.map(({ _formatted }) => (_formatted as { title: string }).title)
  t.true(formatted.includes('関西国際<em>空港</em>'))
})

test('Korean words are found without their particles, and while they are typed', async (t) => {
  const server = await startServer(t, { dictionaries })
  const documents = [
    { id: 1, title: '삼성전자에서 사과를' },
    { id: 2, title: '하늘의 한국' },
  ]
  await server.settle(t, server.post('/indexes/shop/documents', documents))
  for (const q of ['삼성전자', '전자', '삼성', '사과', '삼성전자에서'])
    t.deepEqual(await titles(server, q), ['삼성전자에서 사과를'], q)
  for (const q of ['ㅎ', '하', '하느', '하늘', '한국'])
    t.deepEqual(await titles(server, q), ['하늘의 한국'], q)
})

test('an index keeps its words when a dictionary is installed, until its texts are cut again', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-words-'))
  t.teardown(() => rm(directory, { recursive: true }))
  // Without the dictionary, a run of katakana and a long name are words.
  const without = await startServer(t, { directory })
  await without.settle(t, without.patch('/indexes/shop/settings', localized))
  await without.settle(t, without.post('/indexes/shop/documents', [{ id: 1, title: '삼성전자에서' }]))
  t.deepEqual(await titles(without, '전자'), [])
  await without.stop()

  const server = await startServer(t, { directory, dictionaries })
  const cutBy = async (uid: string) => (await server.get(`/indexes/${uid}/stats`)).body.wordDictionaries
  t.deepEqual(await titles(server, '전자'), [])
  t.is(await cutBy('shop'), undefined)
  await server.settle(t, server.post('/indexes/shop/documents', [{ id: 2, title: '전자' }]))
  t.deepEqual(await titles(server, '삼성전자에서'), ['삼성전자에서'])
  await server.settle(t, server.post('/indexes/new/documents', [{ id: 1, title: '삼성전자에서' }]))
  t.deepEqual(await titles(server, '전자', 'new'), ['삼성전자에서'])
  const { jpn, kor } = (await cutBy('new')) as Record<string, string>
  t.regex(jpn!, /^tiny-ja-1-[0-9a-f]{8}$/)
  t.regex(kor!, /^tiny-ko-1-[0-9a-f]{8}$/)
  await server.settle(t, server.post('/indexes/shop/reindex'))
  t.deepEqual(await titles(server, '전자'), ['전자', '삼성전자에서'])
  t.deepEqual(await cutBy('shop'), { jpn, kor })
  await server.stop()

  const again = await startServer(t, { directory, dictionaries })
  t.deepEqual(await titles(again, '전자'), ['전자', '삼성전자에서'])
  await again.stop()

  const warned: object[] = []
  const log = { ...quietLog, warn: (facts: object) => warned.push(facts) }
  const { engine } = await openEngine(testEngine, { ...setupIn(directory), log, dictionaries: [] })
  for (const index of await engine.list()) await engine.stats(index)
  await engine.close()
  const reason = /^its texts were cut with tiny-(ja|ko)-1-[0-9a-f]{8}, which is not installed$/
  t.is(warned.length, 4)
  for (const fault of warned) t.regex((fault as { reason: string }).reason, reason)
})

test('settings that name a language without a dictionary are logged once, with the command', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-words-'))
  t.teardown(() => rm(directory, { recursive: true }))
  const said: string[] = []
  const log = { ...quietLog, warn: (_facts: object, message: string) => said.push(message) }
  const { engine } = await openEngine(testEngine, { ...setupIn(directory), log, dictionaries: [] })
  const settings = JSON.stringify({ ...defaultIndexSettings, ...localized })
  for (const uid of [1, 2]) {
    const operations = [{ taskUid: uid, kind: 'settings', settings } as const]
    const prepared = await engine.prepare(ID, { uid, indexUid: 'shop', operations })
    await engine.commit(prepared, [])
  }
  await engine.close()
  t.is(said.length, 1)
  t.regex(
    said[0]!,
    /run `npm install @siftd\/words-ja@\d.*` where siftd is installed \(`npm install --global …`/,
  )
})
