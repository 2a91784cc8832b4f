import { setImmediate } from 'node:timers/promises'
import test from 'ava'
import type { BareEngine, Damage } from '../../ts/engine/engine.js'
import { EngineError } from '../../ts/engine/engine-error.js'
import { guarding } from '../../ts/engine/guarded.js'

const silent = { error: () => undefined }
const request = Buffer.from('{}')

/** An engine with failing searches, whose `verify` returns `damages`. */
function failing(fault: string, damages: readonly Damage[]) {
  let verified = 0
  const engine = {
    kind: 'fallback',
    search: () => Promise.reject(new Error(fault)),
    newestCommitFile: async () => null,
    verify: async () => {
      verified++
      return damages
    },
    drop: async () => undefined,
  } as unknown as BareEngine
  return { guarded: guarding(engine, silent), verified: () => verified }
}

test('an unexplained fault with undecodable files returns index_damaged', async (t) => {
  const { guarded, verified } = failing('it panicked', [{ path: '/data/x/segment', reason: 'bad checksum' }])
  t.is(guarded.damage('x'), null)
  for (let tries = 0; tries < 3; tries++)
    await t.throwsAsync(guarded.search('x', request), {
      code: 'index_damaged',
      message: /\/data\/x\/segment/,
    })
  t.is(verified(), 1)
  t.regex(guarded.damage('x') ?? '', /segment is damaged: bad checksum/)
  await guarded.drop('x')
  t.is(guarded.damage('x'), null)
})

test('an unexplained fault with intact files stays internal, and the files are checked once', async (t) => {
  const harmless = { path: '/data/x/snapshot', reason: 'cut', isHarmless: true }
  const { guarded, verified } = failing('a bug', [harmless])
  for (let tries = 0; tries < 3; tries++)
    await t.throwsAsync(guarded.search('x', request), { message: 'a bug' })
  t.is(verified(), 1)
  t.is(guarded.damage('x'), null)
})

test('an operating system error is not treated as damage', async (t) => {
  const { guarded, verified } = failing('EMFILE: too many open files', [{ path: '/x', reason: 'unread' }])
  await t.throwsAsync(guarded.search('x', request), { message: /EMFILE/ })
  t.is(verified(), 0)
})

test('a condemned index is refused without calling the engine, other indexes are not', async (t) => {
  const { guarded } = failing('a bug', [])
  guarded.condemn('x', 'its newest commit is gone')
  await t.throwsAsync(guarded.search('x', request), {
    code: 'index_damaged',
    message: /newest commit is gone/,
  })
  await t.throwsAsync(guarded.search('y', request), { message: 'a bug' })
})

test('a damaged foreign index is condemned, the searched index is not', async (t) => {
  const engine = {
    kind: 'fallback',
    search: () => Promise.reject(new EngineError('index_damaged', '/data/other/segment is damaged')),
    settings: (index: string) =>
      index === 'other'
        ? Promise.reject(new EngineError('index_damaged', '/data/other/segment is damaged'))
        : Promise.resolve('{}'),
  } as unknown as BareEngine
  const guarded = guarding(engine, silent)
  await t.throwsAsync(guarded.search('x', request, undefined, ['other']), {
    code: 'index_damaged',
    message: /\/data\/other/,
  })
  t.is(guarded.damage('x'), null)
  t.not(guarded.damage('other'), null)
})

test('foreign keys are read once per revision', async (t) => {
  let reads = 0
  const engine = {
    kind: 'fallback',
    settings: async () =>
      JSON.stringify({ foreignKeys: [{ foreignIndexUid: 'a', fieldName: `f${++reads}` }] }),
    commit: async () => ({}),
  } as unknown as BareEngine
  const guarded = guarding(engine, silent)
  const names = async () => (await guarded.foreignKeys('x')).map(({ fieldName }) => fieldName)
  t.deepEqual([await names(), await names()], [['f1'], ['f1']])
  await guarded.commit({ index: 'x', ticket: 1, work: 0 }, [])
  t.deepEqual(await names(), ['f2'])
})

test('an index is dropped after its searches have ended, and a later search is refused', async (t) => {
  const steps: string[] = []
  let answer: (hits: Buffer) => void = () => undefined
  const engine = {
    kind: 'fallback',
    search: () => new Promise((resolve) => (answer = resolve)),
    drop: async () => void steps.push('removed'),
  } as unknown as BareEngine
  const guarded = guarding(engine, silent)
  const search = guarded.search('x', request).then(() => steps.push('answered'))
  const removal = guarded.drop('x')
  await setImmediate()
  t.deepEqual(steps, [])
  answer(request)
  await Promise.all([search, removal])
  t.deepEqual(steps, ['answered', 'removed'])
  await t.throwsAsync(guarded.search('x', request), { code: 'index_not_found' })
})
