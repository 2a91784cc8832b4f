/**
 * Outcomes of tasks do not depend on batching: the same tasks one by one, and in batches of any cut, have the same
 * outcomes and leave the same index. Excluded are index deletions, because they end the tasks of their batch, and
 * counts of indexed documents of additions before a deletion of all documents in their batch: these are 0.
 *
 * `BATCH_CUTS=200 npx ava dist/__test__/http/batch-cuts.spec.js` tries random tasks.
 */
import type { ExecutionContext } from 'ava'
import test from 'ava'
import type { Engine } from '../../ts/engine/index.js'
import fc from '../support/property.js'
import { startServer, type TestAnswer, type TestServer } from '../support/server.js'

const { BATCH_CUTS } = process.env
const property = BATCH_CUTS === undefined ? test.skip : test

/** A write of the index `a`. */
interface Write {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: unknown
}

const documents = (method: 'POST' | 'PUT', body: readonly object[], query = ''): Write => ({
  method,
  path: `/indexes/a/documents${query}`,
  body,
})
const deletion = (path: string, body?: unknown): Write => ({
  method: 'POST',
  path: `/indexes/a${path}`,
  body,
})
const clear: Write = { method: 'DELETE', path: '/indexes/a/documents' }
const settings = (body: object): Write => ({ method: 'PATCH', path: '/indexes/a/settings', body })

const document = fc.record(
  {
    id: fc.constantFrom<unknown>(1, 2, 3, 'bad id'),
    n: fc.constantFrom<unknown>(1, 2, 'x', null, [1, 'y']),
    colour: fc.constantFrom('red', 'blue'),
    _geo: fc.constantFrom<unknown>({ lat: 1, lng: 1 }, { lat: 500, lng: 1 }),
    other_id: fc.constantFrom(7, 8),
  },
  { requiredKeys: [] },
)
const filter = fc.constantFrom(
  'n = 1',
  'n != 1',
  'colour = red',
  'colour EXISTS',
  'NOT colour = red',
  'n > 1 AND colour = red',
  'unknown = 1 OR n = 1',
  '_geoRadius(1, 1, 10)',
)
const write: fc.Arbitrary<Write> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.constantFrom<'POST' | 'PUT'>('POST', 'PUT'),
        fc.array(document, { minLength: 1, maxLength: 3 }),
      )
      .map(([method, body]) => documents(method, body)),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.array(document, { minLength: 1, maxLength: 2 }), fc.constantFrom('id', 'other_id'))
      .map(([body, key]) => documents('POST', body, `?primaryKey=${key}`)),
  },
  { weight: 1, arbitrary: fc.constant(deletion('/documents/delete-batch', ['1', '9'])) },
  { weight: 3, arbitrary: filter.map((value) => deletion('/documents/delete', { filter: value })) },
  { weight: 2, arbitrary: fc.constant(clear) },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom<object>(
        { filterableAttributes: ['n', 'colour'] },
        { filterableAttributes: ['_geo', 'n'] },
        { filterableAttributes: [] },
        { sortableAttributes: ['_geo'] },
        { searchableAttributes: ['colour'] },
      )
      .map(settings),
  },
)

/**
 * Sends the writes group by group. Each group waits until all its tasks are enqueued, so that they may share batches.
 */
async function outcomesOf(t: ExecutionContext, world: World, groups: readonly (readonly Write[])[]) {
  const { server, hold } = world
  const tasks: { type: unknown; status: unknown; error: unknown; details: object }[] = []
  for (const group of groups) {
    const release = group.length === 1 ? () => undefined : await hold()
    const accepted: TestAnswer[] = []
    for (const { method, path, body } of group) accepted.push(await server.request(method, path, { body }))
    release()
    for (const answer of accepted) {
      const { status, error, details, type } = await server.settle(t, Promise.resolve(answer))
      tasks.push({ type, status, error, details })
    }
  }
  const lastClear = groups.flat().lastIndexOf(clear)
  for (const [position, task] of tasks.entries())
    if (position < lastClear) task.details = { ...task.details, indexedDocuments: undefined }
  const index = await server.get('/indexes/a')
  const state = {
    primaryKey: index.body.primaryKey,
    documents: (await server.get('/indexes/a/documents?limit=100')).body.results,
    settings: (await server.get('/indexes/a/settings')).body,
    fields: (await server.get('/indexes/a/stats')).body.fieldDistribution,
  }
  await server.settle(t, server.delete('/indexes/a'))
  return { tasks, state }
}

interface World {
  readonly server: TestServer
  /** Makes further tasks wait. @returns a function that releases them */
  hold(): Promise<() => void>
}

/** A server that runs one batch at a time. */
async function worldOf(t: ExecutionContext): Promise<World> {
  let passed: Promise<void> = Promise.resolve()
  let begun: () => void = () => undefined
  const queueEngine = (engine: Engine): Engine => ({
    ...engine,
    async prepare(index, batch, stop) {
      if (batch.indexUid === 'gate') {
        begun()
        await passed
      }
      return engine.prepare(index, batch, stop)
    },
  })
  const server = await startServer(t, { queueEngine, limits: { batchesMax: 1 } })
  return {
    server,
    async hold() {
      let open: () => void = () => undefined
      passed = new Promise((resolve) => {
        open = resolve
      })
      const isBegun = new Promise<void>((resolve) => {
        begun = resolve
      })
      await server.post('/indexes/gate/documents', [{ id: 1 }])
      await isBegun
      return open
    },
  }
}

/** Splits the writes into groups after the positions marked in `cuts`. */
function groupsOf(writes: readonly Write[], cuts: readonly boolean[]): readonly (readonly Write[])[] {
  const groups: Write[][] = [[]]
  for (const [position, each] of writes.entries()) {
    groups.at(-1)!.push(each)
    if (cuts[position] === true && position + 1 < writes.length) groups.push([])
  }
  return groups
}

const alone = (writes: readonly Write[]) => writes.map((each) => [each])

property('tasks in batches of any cut end as they do one by one', async (t) => {
  t.timeout(600_000)
  const world = await worldOf(t)
  const cases = fc.tuple(
    fc.array(write, { minLength: 2, maxLength: 6 }),
    fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
  )
  await fc.assert(
    fc.asyncProperty(cases, async ([writes, cuts]) => {
      const expected = await outcomesOf(t, world, alone(writes))
      t.deepEqual(await outcomesOf(t, world, groupsOf(writes, cuts)), expected, JSON.stringify(writes))
    }),
    { numRuns: Number(BATCH_CUTS) },
  )
})

/** Found by the property above, or manually. */
const found: Readonly<Record<string, readonly Write[]>> = {
  'a filter that the settings do not allow, after a deletion of all documents': [
    documents('POST', [{ id: 1 }]),
    clear,
    deletion('/documents/delete', { filter: 'colour = red' }),
  ],
  'additions that fail, before a deletion of all documents': [
    documents('POST', [{ id: 1 }]),
    documents('POST', [{ id: 'bad id' }]),
    clear,
  ],
  'a primary key from an addition before a deletion of all documents': [
    settings({ filterableAttributes: ['n'] }),
    documents('POST', [{ id: 1 }]),
    clear,
    documents('POST', [{ other_id: 1 }]),
  ],
}

test('tasks with former differences have the same outcomes in a batch and one by one', async (t) => {
  const world = await worldOf(t)
  for (const [what, writes] of Object.entries(found)) {
    const expected = await outcomesOf(t, world, alone(writes))
    t.deepEqual(await outcomesOf(t, world, [writes]), expected, what)
  }
})
