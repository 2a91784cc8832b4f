/** Documents of a batch share embedding requests, and a failed batch does not repeat its requests. */
import test from 'ava'
import { type Answer, bare, batched, many, single, template, world } from './embedding-world.js'

const texts = (body: unknown): readonly string[] => (body as { input: string[] }).input
const numbered = (count: number) => Array.from({ length: count }, (_, id) => ({ id, t: `text ${id}` }))

test.serial('requests continue while the first is unanswered', async (t) => {
  let answer: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    answer = resolve
  })
  const asked = new Set<string>()
  const slow: Answer = async (call, number) => {
    for (const text of texts(call.body)) asked.add(text)
    if (number === 0) await held
    return many(call, number)
  }
  const { server, add } = await world(t, slow, { ...batched, ...template })
  const added = add(...numbered(900))
  while (asked.size < 900) await new Promise((resolve) => setTimeout(resolve, 5))
  answer()
  t.is((await added).status, 'succeeded')
  t.is((await server.get('/indexes/i/stats')).body.numberOfEmbeddings, 900)
})

test.serial('no more than forty requests run at a time', async (t) => {
  let answer: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    answer = resolve
  })
  const holding: Answer = async (call, number) => {
    await held
    return bare(call, number)
  }
  const { add, provider } = await world(t, holding, { ...single, ...template })
  const added = add(...numbered(100))
  while (provider.calls.length < 40) await new Promise((resolve) => setTimeout(resolve, 5))
  await new Promise((resolve) => setTimeout(resolve, 100))
  t.is(provider.calls.length, 40)
  answer()
  t.is((await added).status, 'succeeded')
  t.is(provider.calls.length, 100)
})

test.serial('a request that fails reports its documents', async (t) => {
  const choosy: Answer = (call, number) =>
    texts(call.body).includes('bad') ? { status: 400, text: 'not this' } : many(call, number)
  const { add } = await world(t, choosy, { ...batched, ...template })
  const one = await add({ id: 'only', t: 'bad' })
  t.regex(one.error.message, /^document `only` cannot be embedded: .*answered 400: not this/)
  const several = await add(
    ...numbered(20),
    { id: 'x', t: 'bad' },
    { id: 'y', t: 'bad' },
    { id: 'z', t: 'w' },
  )
  t.regex(several.error.message, /^documents `x`, `y`, `z` cannot be embedded: /)
  const others = numbered(9).map(({ id }) => ({ id, t: `other ${id}` }))
  const batch = await add(...others, { id: 'x', t: 'bad' }, { id: 'y', t: 'bad' })
  t.regex(batch.error.message, /`0`, `1`, .*`8`, `x` and 1 more cannot be embedded/)
})

test.serial('texts of a batch that failed are not requested again', async (t) => {
  const asked: string[] = []
  let isWell = false
  const failing: Answer = (call, number) => {
    if (!isWell && texts(call.body).includes('bad')) return { status: 400, text: 'not this' }
    asked.push(...texts(call.body))
    return many(call, number)
  }
  const { server, add, settings, provider } = await world(t, failing, { ...batched, ...template })
  const documents = [...numbered(1000), { id: 'x', t: 'bad' }]
  t.is((await add(...documents)).error.code, 'vector_embedding_error')
  t.is((await server.get('/indexes/i/stats')).body.numberOfDocuments, 0)
  isWell = true
  // Another key keeps the vectors.
  t.is((await settings({ g: { apiKey: 'another-key' } })).status, 'succeeded')
  t.is((await add({ id: 'between', t: 'another batch' })).status, 'succeeded')
  t.is((await add(...documents)).status, 'succeeded')
  t.is(new Set(asked).size, 1002)
  // The failure ended running requests. The provider may have read their texts.
  t.true(asked.length - 1002 <= 400, `${asked.length - 1002} texts were requested again`)
  t.is((await server.get('/indexes/i/stats')).body.numberOfEmbeddings, 1002)
  // Committed texts are embedded again for a new embedder, because they are no longer on disk.
  const calls = provider.calls.length
  await settings({ g: null })
  t.is((await settings({ g: { ...batched, ...template, url: provider.url } })).status, 'succeeded')
  t.true(provider.calls.length - calls >= 100)
})

test.serial('texts of a batch that was canceled are not requested again', async (t) => {
  const asked: string[] = []
  let isHeld = true
  const holding: Answer = (call, number) => {
    if (isHeld && texts(call.body).includes('text 995')) return null
    asked.push(...texts(call.body))
    return many(call, number)
  }
  const { server, add } = await world(t, holding, { ...batched, ...template })
  const { body } = await server.post('/indexes/i/documents', numbered(1000))
  while (asked.length < 990) await new Promise((resolve) => setTimeout(resolve, 5))
  await server.settle(t, server.post(`/tasks/cancel?uids=${body.taskUid}`))
  isHeld = false
  const before = asked.length
  t.is((await add(...numbered(1000))).status, 'succeeded')
  // The last answers may have arrived together with the cancelation.
  t.true(asked.length - before < 400, `${asked.length - before} were requested again`)
})

test.serial('a provider that answers 429 gets fewer requests, and none is lost', async (t) => {
  let underWay = 0
  const busy: Answer = async (call, number) => {
    underWay++
    await new Promise((resolve) => setTimeout(resolve, 2))
    const answer = underWay > 6 ? { status: 429, text: 'slower' } : await bare(call, number)
    underWay--
    return answer
  }
  const { add, provider } = await world(t, busy, { ...single, ...template })
  t.is((await add(...numbered(400))).status, 'succeeded')
  t.true(provider.calls.length < 1200, `${provider.calls.length} calls`)
})

test.serial('a provider that is out of quota is not called for the time that it gives', async (t) => {
  const exhausted: Answer = (call, number) =>
    number === 0
      ? {
          status: 200,
          text: JSON.stringify(bare(call, number)),
          headers: { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1m2.5s' },
        }
      : bare(call, number)
  const { add, waits } = await world(t, exhausted, { ...single, ...template })
  t.is((await add(...numbered(41))).status, 'succeeded')
  t.true(waits.length >= 1)
  t.true(
    waits.every((ms) => ms > 50_000 && ms <= 60_000),
    `${waits}`,
  )
})
