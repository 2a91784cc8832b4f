/**
 * An engine that follows the files of another process gives the same answers as the writer, from a single commit at a
 * time.
 */
import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { answersOf } from '../../../ts/engine/answer-cache.js'
import { type Engine, encodeRequest } from '../../../ts/engine/index.js'
import { completeRequest, type Document, type PartialSettings, TestEngine } from '../../support/engine.js'
import { type TestedEngine, testedEngines } from '../../support/engines.js'
import { Follower, INDEX, isCommit, namesBelow } from '../../support/follower.js'
import { testNeeding } from '../../support/test-needing.js'

const words = ['quiet', 'lamp', 'river', 'stone', 'garden', 'letter', 'winter', 'music']

/** A document with words derived from its id and generation. */
const film = (id: number, generation = 0): Document => ({
  id,
  title: `${words[(id + generation) % 8]} ${words[(id * 3 + generation) % 8]} number${id}`,
  year: 1950 + ((id * 7 + generation) % 60),
  tags: [words[id % 5], words[(id + 2) % 5]],
  _geo: { lat: 45 + id / 100, lng: 9 },
})

const films = (from: number, to: number, generation = 0): Document[] =>
  Array.from({ length: to - from }, (_, at) => film(from + at, generation))

const embedded = (from: number, to: number, generation = 0): Document[] =>
  films(from, to, generation).map((document, at) => ({
    ...document,
    _vectors: { own: [at + 1, generation + 1, (at % 3) - 1] },
  }))

const settings: PartialSettings = {
  filterableAttributes: ['year', 'tags', '_geo'],
  sortableAttributes: ['year', '_geo'],
  synonyms: { stone: ['rock'] },
}

const withVectors: PartialSettings = {
  ...settings,
  embedders: { own: { source: 'userProvided', dimensions: 3 } } as never,
}

/** All answers about the index. */
async function everything(tested: TestEngine, hasVectors: boolean): Promise<unknown> {
  const { engine } = tested
  const searches = [
    { q: '', facets: ['*'], sort: ['year:desc'], limit: 500 },
    { q: 'quiet lamp', showRankingScoreDetails: true, limit: 100 },
    { q: 'qiuet gard', facets: ['tags'], limit: 100 },
    { q: '"stone river"', filter: 'year > 1970', limit: 100 },
    { q: 'rock', filter: 'tags = lamp AND _geoRadius(45, 9, 90000)', sort: ['_geoPoint(45, 9):asc'] },
    { q: 'number12' },
    ...(hasVectors
      ? [
          {
            q: 'lamp',
            vector: [1, 0.5, 0],
            hybrid: { embedder: 'own', semanticRatio: 0.6 },
            limit: 50,
            retrieveVectors: true,
          },
        ]
      : []),
  ]
  const { indexSize: _, rawDocumentDbSize: _r, ...stats } = await engine.stats(INDEX)
  return {
    searches: await Promise.all(
      searches.map(async (body) => {
        const { processingTimeMs: _p, ...answer } = (await tested.search(INDEX, body)) as never as Record<
          string,
          unknown
        >
        return answer
      }),
    ),
    documents: await tested.documents(INDEX, { limit: 500, retrieveVectors: hasVectors }),
    stats,
    fields: await engine.fields(INDEX),
    settings: JSON.parse(await engine.settings(INDEX)),
    report: await engine.lastCommit(INDEX),
  }
}

/** @returns the answer of both */
async function agree(t: ExecutionContext, follower: Follower, hasVectors: boolean, when: string) {
  const answered = await everything(follower.writer, hasVectors)
  t.deepEqual(await everything(follower.test, hasVectors), answered, when)
  return answered
}

interface Case {
  readonly name: string
  readonly hasVectors?: boolean
  /** Changes by the writer; each step is followed by an adoption. */
  readonly steps: readonly ((writer: TestEngine) => Promise<unknown>)[]
}

const puts =
  (...documents: readonly Document[]) =>
  (writer: TestEngine) =>
    writer.put(INDEX, ...documents)
const removes =
  (...ids: readonly number[]) =>
  (writer: TestEngine) =>
    writer.outcome(INDEX, { kind: 'deleteByIds', ids: ids.map(String) })
const configures = (changed: PartialSettings) => (writer: TestEngine) => writer.configure(INDEX, changed)
const clears = (writer: TestEngine) => writer.outcome(INDEX, { kind: 'clear' })
const compacts = (writer: TestEngine) => writer.engine.compact(INDEX)
const all =
  (...steps: Case['steps']) =>
  async (writer: TestEngine) => {
    for (const step of steps) await step(writer)
  }

const cases: readonly Case[] = [
  { name: 'documents are added', steps: [puts(...films(60, 90)), puts(film(90)), puts(film(91), film(92))] },
  { name: 'documents are replaced', steps: [puts(...films(10, 30, 1)), puts(film(12, 2), film(200))] },
  { name: 'documents are deleted', steps: [removes(3, 5, 59), removes(4), removes(...range(0, 60))] },
  {
    name: 'documents are deleted and added again',
    steps: [removes(7), puts(film(7, 3)), all(removes(8, 9), puts(film(8, 2)))],
  },
  { name: 'all documents are cleared', steps: [clears, puts(...films(0, 5, 4)), all(clears, puts(film(1)))] },
  {
    name: 'settings change',
    steps: [
      configures({ ...settings, searchableAttributes: ['tags', 'title'] }),
      configures({ ...settings, synonyms: {}, stopWords: ['lamp'] }),
      all(configures({ ...settings, sortableAttributes: ['year', 'title', '_geo'] }), puts(film(70))),
    ],
  },
  {
    name: 'many commits are adopted at once',
    steps: [
      all(
        puts(...films(60, 70)),
        removes(1, 2, 61),
        configures({ ...settings, rankingRules: ['words', 'sort', 'typo'] }),
        puts(film(1, 5), film(61, 5)),
        ...range(70, 90).map((id) => puts(film(id))),
      ),
    ],
  },
  {
    name: 'the writer compacts',
    steps: [all(puts(...films(0, 30, 1)), removes(31, 32), compacts), puts(film(300)), compacts],
  },
  {
    name: 'the writer compacts and commits before the adoption',
    steps: [
      all(removes(1, 2, 3), compacts, puts(...films(2, 6, 7)), configures({ ...settings, stopWords: ['a'] })),
    ],
  },
  {
    name: 'vectors are added, changed and deleted',
    hasVectors: true,
    steps: [
      all(clears, configures(withVectors), puts(...embedded(0, 40))),
      puts(...embedded(30, 50, 1)),
      removes(1, 2, 45),
      all(puts(...embedded(2, 4, 2)), removes(30)),
    ],
  },
  {
    name: 'vectors are compacted',
    hasVectors: true,
    steps: [
      all(clears, configures(withVectors), puts(...embedded(0, 30))),
      all(puts(...embedded(0, 20, 1)), compacts),
      all(puts(...embedded(5, 8, 2)), compacts, puts(...embedded(40, 44))),
    ],
  },
  {
    name: 'an embedder is removed and added again',
    hasVectors: true,
    steps: [
      all(clears, configures(withVectors), puts(...embedded(0, 20))),
      all(
        configures(settings),
        clears,
        configures({
          ...settings,
          embedders: { own: { source: 'userProvided', dimensions: 3, binaryQuantized: true } } as never,
        }),
        puts(...embedded(0, 15, 1)),
      ),
      puts(...embedded(12, 18, 2)),
    ],
  },
  {
    name: 'vectors are quantized',
    hasVectors: true,
    steps: [
      all(clears, configures(withVectors), puts(...embedded(0, 20))),
      all(
        puts(...embedded(18, 24, 1)),
        configures({
          ...settings,
          embedders: { own: { source: 'userProvided', dimensions: 3, binaryQuantized: true } } as never,
        }),
      ),
      puts(...embedded(3, 5, 2)),
    ],
  },
]

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, at) => from + at)
}

/** A follower that has adopted 60 films. */
async function started(t: ExecutionContext, tested: TestedEngine): Promise<Follower> {
  const follower = await Follower.start(t, tested)
  await follower.writer.configure(INDEX, settings)
  await follower.writer.put(INDEX, ...films(0, 60))
  await follower.catchUp()
  return follower
}

for (const tested of testedEngines) {
  const engineTest = testNeeding(tested.needs)
  for (const { name, steps, hasVectors = false } of cases)
    engineTest(
      `${tested.name}: after ${name}, a follower gives the same answers as the writer`,
      async (t) => {
        const follower = await started(t, tested)
        const before = await agree(t, follower, false, 'at first')
        for (const [at, step] of steps.entries()) {
          await step(follower.writer)
          await follower.catchUp()
          await agree(t, follower, hasVectors, `after step ${at + 1}`)
        }
        t.notDeepEqual(await everything(follower.test, false), before)
        await follower.test.reopen()
        await agree(t, follower, hasVectors, 'opened again')
      },
    )

  engineTest(`${tested.name}: searches during an adoption see the old or the new commit`, async (t) => {
    const follower = await started(t, tested)
    const documents = 300
    await follower.writer.configure(INDEX, { filterableAttributes: ['generation'] })
    const generations = (n: number) => range(0, documents).map((id) => ({ ...film(id, n), generation: n }))
    await follower.writer.put(INDEX, ...generations(0))
    await follower.catchUp()
    let isDone = false
    const seen: number[] = []
    const searching = async () => {
      while (!isDone) {
        const query = { indexUid: INDEX, q: '', facets: ['generation'], limit: documents }
        const [one, many] = await Promise.all([
          follower.test.search(INDEX, query),
          follower.engine.multiSearch(
            [query, { ...query, q: 'number1' }].map((body) => ({
              index: INDEX,
              request: encodeRequest(completeRequest(body)),
            })),
            null,
          ),
        ])
        const { results } = JSON.parse(Buffer.from(many.body).toString())
        const found = [one.hits, results[0].hits].map((hits) => [
          ...new Set(hits.map(({ generation }: never) => generation)),
        ])
        t.deepEqual(
          found.map(({ length }) => length),
          [1, 1],
        )
        t.deepEqual(one.facetDistribution, { generation: { [`${found[0]![0]}`]: documents } })
        t.deepEqual(
          new Set(
            results.flatMap(({ hits }: never) => (hits as Document[]).map(({ generation }) => generation)),
          ).size,
          1,
          'searches of a request see the same commit',
        )
        seen.push(found[0]![0] as number)
      }
    }
    const loops = [searching(), searching()]
    for (let n = 1; n <= 5; n++) {
      await follower.writer.put(INDEX, ...generations(n))
      if (n === 3) await follower.writer.engine.compact(INDEX)
      await follower.catchUp()
      const { facetDistribution } = await follower.test.search(INDEX, { q: '', facets: ['generation'] })
      t.deepEqual(facetDistribution, { generation: { [n]: documents } }, 'later searches see the new commit')
    }
    isDone = true
    await Promise.all(loops)
    t.true(seen.length > 5)
    t.deepEqual(seen.slice(-1), [5])
  })

  engineTest(`${tested.name}: a pinned commit is readable after later commits were adopted`, async (t) => {
    const follower = await started(t, tested)
    await all(clears, configures(withVectors), puts(...embedded(0, 20)))(follower.writer)
    await follower.catchUp()
    const before = await everything(follower.test, true)
    const pin = await follower.engine.pin(INDEX)
    // The files of the next commit are in the directory but not adopted.
    await follower.writer.put(INDEX, ...embedded(0, 15, 1))
    await follower.writer.engine.compact(INDEX)
    const copy = await follower.copy()
    await follower.bring(copy)
    const early = await follower.engine.pin(INDEX)
    await follower.engine.adopt(INDEX)
    await follower.tidy(copy)
    for (const [at, held] of [pin, early].entries()) {
      const target = join(follower.test.directory, `pinned-${at}`)
      await mkdir(target)
      await follower.engine.snapshot(held, join(target, INDEX))
      await follower.engine.unpin(held)
      const copied = await TestEngine.start(t, () => tested.open(target))
      t.deepEqual(await everything(copied, true), before, `pin ${at}`)
    }
    await agree(t, follower, true, 'after the adoption')
  })

  engineTest(`${tested.name}: adopting does not open an index that was never opened`, async (t) => {
    const follower = await Follower.start(t, tested)
    await follower.engine.adopt(INDEX)
    t.deepEqual(await follower.engine.list(), [])
    await mkdir(follower.directory, { recursive: true })
    const name = tested.name === 'native' ? 'commit-00000000000000000001' : 'commits.log'
    await writeFile(join(follower.directory, name), 'this is no commit at all')
    await follower.engine.adopt(INDEX)
    t.is(follower.engine.damage(INDEX), null)
    await t.throwsAsync(follower.test.idsFor(INDEX, 'lamp'), { code: 'index_damaged' })
  })

  engineTest(
    `${tested.name}: an index searched before its files arrived is readable after the adoption`,
    async (t) => {
      const follower = await Follower.start(t, tested)
      await t.throwsAsync(follower.test.idsFor(INDEX, 'lamp'), { code: 'index_damaged' })
      await follower.writer.configure(INDEX, settings)
      await follower.writer.put(INDEX, ...films(0, 60))
      await follower.catchUp()
      await agree(t, follower, false, 'after the adoption')
    },
  )

  engineTest(`${tested.name}: a following engine changes no file and refuses writes`, async (t) => {
    const follower = await started(t, tested)
    await all(clears, configures(withVectors), puts(...embedded(100, 120)))(follower.writer)
    await follower.catchUp()
    await follower.test.reopen()
    await mkdir(join(follower.directory, 'vectors'), { recursive: true })
    for (const left of [
      'commit-99999999999999999999.tmp',
      'commits.log.new',
      'vectors/other.0.log',
      'vectors/other.0-9.graph',
    ])
      await writeFile(join(follower.directory, left), 'left by another process')
    const tree = await treeOf(join(follower.test.directory, 'indexes'))
    await everything(follower.test, true)
    await follower.engine.adopt(INDEX)
    await everything(follower.test, true)
    const { engine } = follower
    const batch = { uid: 90, indexUid: 'things', operations: [] }
    const prepared = { index: INDEX, ticket: 1, work: 0 }
    for (const call of [
      () => engine.prepare(INDEX, batch),
      () => engine.prepare('another', batch),
      () => engine.commit(prepared, []),
      () => engine.undo(INDEX, [1]),
      () => engine.compact(INDEX),
    ]) {
      const error = await t.throwsAsync(call, { message: 'an engine that follows files cannot write' })
      t.false('code' in error, 'it is our own fault')
    }
    await follower.test.reopen()
    t.deepEqual(await treeOf(join(follower.test.directory, 'indexes')), tree)
    const writer = follower.writer.engine as Engine
    await t.throwsAsync(writer.adopt(INDEX), { message: 'an engine that writes files cannot adopt commits' })
  })

  engineTest(
    `${tested.name}: adopting other files resets damage, and damage is detected again`,
    async (t) => {
      const follower = await started(t, tested)
      const copy = await follower.saved()
      const names = (await namesBelow(copy)).filter(isCommit)
      const damage = async () => {
        for (const name of names) {
          const bytes = await readFile(join(copy, name))
          bytes.fill(0x55, 40, bytes.length - 40)
          await replaceBy(join(follower.directory, name), bytes)
        }
      }
      await damage()
      await follower.test.reopen()
      await t.throwsAsync(follower.test.idsFor(INDEX, 'lamp'), { code: 'index_damaged' })
      t.not(follower.engine.damage(INDEX), null)
      await follower.engine.adopt(INDEX)
      t.is(follower.engine.damage(INDEX), null)
      await t.throwsAsync(follower.test.idsFor(INDEX, 'lamp'), { code: 'index_damaged' })
      await follower.catchUp()
      await agree(t, follower, false, 'after intact files were adopted')
      // Condemn an open index, and damage its files.
      follower.engine.condemn(INDEX, 'a checksum does not match')
      await damage()
      await follower.catchUp()
      await agree(t, follower, false, 'after intact files were adopted again')
      t.deepEqual(await follower.engine.verify(INDEX), [])
    },
  )

  engineTest(`${tested.name}: a failed adoption keeps known damage`, async (t) => {
    const follower = await started(t, tested)
    await follower.test.idsFor(INDEX, 'lamp')
    follower.engine.condemn(INDEX, 'a checksum does not match')
    for (const name of (await namesBelow(follower.directory)).filter(isCommit))
      await replaceBy(join(follower.directory, name), Buffer.alloc(30))
    await t.throwsAsync(follower.engine.adopt(INDEX), { code: 'index_damaged' })
    t.is(follower.engine.damage(INDEX), 'a checksum does not match')
  })

  engineTest(`${tested.name}: cached data of a commit is read again after an adoption`, async (t) => {
    const follower = await started(t, tested)
    const answers = answersOf(follower.engine, 1024 * 1024)
    const request = completeRequest({ indexUid: INDEX, q: '"number60"' })
    const hits = async () =>
      (JSON.parse(Buffer.from((await answers.search(INDEX, request)).body).toString()).hits as Document[])
        .length
    t.is(await hits(), 0)
    t.is(await hits(), 0)
    t.is(answers.figures().hits, 1)
    const before = follower.engine.revision(INDEX)
    t.deepEqual(await follower.engine.foreignKeys(INDEX), [])
    const foreignKeys = [{ fieldName: 'other', foreignIndexUid: 'others' }]
    await follower.writer.configure(INDEX, { ...settings, foreignKeys })
    await follower.writer.put(INDEX, film(60))
    await follower.catchUp()
    t.true(follower.engine.revision(INDEX) > before)
    t.deepEqual(await follower.engine.foreignKeys(INDEX), foreignKeys)
    t.is(await hits(), 1)
    follower.engine.expect(INDEX, () => 'it is another commit')
    await follower.engine.adopt(INDEX)
    t.is(await hits(), 1, 'adopting removes the registered check')
  })

  engineTest(
    `${tested.name}: dropping an index answers running searches and refuses later ones`,
    async (t) => {
      const follower = await started(t, tested)
      await follower.test.idsFor(INDEX, 'lamp')
      const searches = range(0, 50).map(() => follower.test.search(INDEX, { q: 'lamp', limit: 100 }))
      const pin = await follower.engine.pin(INDEX)
      await follower.engine.drop(INDEX)
      const expected = JSON.stringify((await follower.writer.search(INDEX, { q: 'lamp', limit: 100 })).hits)
      for (const { hits } of await Promise.all(searches)) t.is(JSON.stringify(hits), expected)
      t.deepEqual(await follower.engine.list(), [])
      const request = {
        offset: 0,
        limit: 100,
        fields: null,
        retrieveVectors: false,
        ids: null,
        filter: null,
        sort: null,
      }
      const pinned = await follower.engine.pinnedDocuments(
        pin,
        encodeRequest({ indexUid: INDEX, ...request } as never),
      )
      t.is((JSON.parse(Buffer.from(pinned).toString()) as { results: unknown[] }).results.length, 60)
      await follower.engine.unpin(pin)
      await t.throwsAsync(follower.test.idsFor(INDEX, 'lamp'), { code: 'index_not_found' })
      await follower.engine.adopt(INDEX)
      t.deepEqual(await follower.engine.list(), [])
    },
  )
}

/** An incomplete copy of a later commit, and the outcome of adopting it. */
interface IncompleteCopy {
  readonly engine: TestedEngine['name']
  readonly name: string
  readonly rejects: boolean
  /** Changes by the writer before the copy. */
  readonly step: (writer: TestEngine) => Promise<unknown>
  /** @param before size of the file in the previous commit, 0 if it did not exist */
  readonly damage: (path: string, before: number, size: number) => Promise<void>
  /** Selects the file. */
  readonly of: (name: string) => boolean
}

const flip = async (path: string, at: number) => {
  const bytes = await readFile(path)
  bytes[at]! ^= 0xff
  await writeFile(path, bytes)
}

const incompleteCopies: readonly IncompleteCopy[] = [
  {
    engine: 'native',
    name: 'a truncated commit file',
    rejects: true,
    step: puts(film(70)),
    damage: (path, _, size) => truncate(path, size - 20),
    of: isCommit,
  },
  {
    engine: 'native',
    name: 'a commit without its vectors in the log',
    rejects: true,
    step: puts(...embedded(100, 104, 1)),
    damage: (path, before) => truncate(path, before),
    of: (name) => name.endsWith('.log'),
  },
  {
    engine: 'native',
    name: 'a vector log with a damaged end',
    rejects: true,
    step: puts(...embedded(100, 104, 1)),
    damage: (path, before) => flip(path, before + 24),
    of: (name) => name.endsWith('.log'),
  },
  {
    engine: 'fallback',
    name: 'a log truncated within its newest commit',
    rejects: false,
    step: puts(film(70)),
    damage: (path, before, size) => truncate(path, Math.floor((before + size) / 2)),
    of: isCommit,
  },
  {
    engine: 'fallback',
    name: 'a log with damage between two new commits',
    rejects: true,
    step: all(puts(film(70)), puts(film(71))),
    damage: (path, before) => flip(path, before + 20),
    of: isCommit,
  },
  {
    engine: 'fallback',
    name: 'a truncated rewritten log',
    rejects: true,
    step: all(puts(...films(0, 50, 1)), compacts),
    damage: (path, _, size) => truncate(path, size - 10),
    of: isCommit,
  },
]

for (const { engine, name, rejects, step, damage, of } of incompleteCopies) {
  const tested = testedEngines.find((candidate) => candidate.name === engine)!
  const engineTest = testNeeding(tested.needs)
  engineTest(`${engine}: with ${name}, the previous commit is still served`, async (t) => {
    const follower = await started(t, tested)
    await all(clears, configures(withVectors), puts(...embedded(100, 110)))(follower.writer)
    await follower.catchUp()
    const before = await agree(t, follower, true, 'at first')
    const old = await follower.saved()
    await step(follower.writer)
    const copy = await follower.copy()
    const complete = await follower.copy()
    const [damagedName] = (await namesBelow(copy)).filter(of).slice(-1)
    const path = join(copy, damagedName!)
    // The copy shares its files with the writer.
    const bytes = await readFile(path)
    await rm(path)
    await writeFile(path, bytes)
    const known = await readFile(join(old, damagedName!)).catch(() => Buffer.alloc(0))
    await damage(path, known.length, bytes.length)
    await follower.bring(copy)
    if (rejects) await t.throwsAsync(follower.engine.adopt(INDEX), { code: 'index_damaged' })
    else await follower.engine.adopt(INDEX)
    t.is(follower.engine.damage(INDEX), null)
    t.deepEqual(await everything(follower.test, true), before)
    await follower.bring(complete)
    await follower.engine.adopt(INDEX)
    await follower.tidy(complete)
    await agree(t, follower, true, 'after a complete copy')
  })
}

/** Replaces a file that may be memory-mapped. */
async function replaceBy(path: string, bytes: Uint8Array): Promise<void> {
  await writeFile(`${path}.other`, bytes)
  await rename(`${path}.other`, path)
}

/** Paths below a directory, each with a digest of its file. */
async function treeOf(directory: string): Promise<Record<string, string>> {
  const tree: Record<string, string> = {}
  for (const name of await namesBelow(directory))
    tree[name] = createHash('sha256')
      .update(await readFile(join(directory, name)))
      .digest('hex')
  return tree
}
