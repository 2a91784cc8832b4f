import test from 'ava'
import { heldServer } from '../support/held-server.js'
import type { TestBody } from '../support/server.js'

const at = '/dynamic-search-rules'

test('the target of a rule is its state after the pending tasks, which are counted in lists', async (t) => {
  const server = await heldServer(t, { features: ['dynamicSearchRules'] })
  const actions = { pin: [{ id: 'a', position: 0 }] }
  const target = async (uid: string): Promise<TestBody> => (await server.get(`${at}/${uid}/target`)).body
  const list = async (): Promise<TestBody> => (await server.post(at, { showTarget: true })).body
  const sent = async (method: string, path: string, body?: unknown): Promise<number> =>
    (await server.request(method, path, { body })).body.taskUid

  t.is((await target('old')).code, 'dynamic_search_rule_not_found')
  const made = await sent('PATCH', `${at}/old`, { actions, precedence: 4 })
  const { target: coming, ...rest } = await target('old')
  t.deepEqual(rest as object, { current: null, needsProcessing: true, taskUids: [made] })
  const { enqueuedAt } = (await server.get(`/tasks/${made}`)).body
  t.deepEqual(coming, { uid: 'old', precedence: 4, actions, lastUpdatedAt: enqueuedAt })
  t.like(await list(), {
    results: [],
    total: 0,
    taskUids: [made],
    totalRuleCount: 0,
    targetTotalRuleCount: 1,
  })

  // A canceled task does not count.
  const dropped = await sent('PATCH', `${at}/dropped`, { actions })
  await server.post(`/tasks/cancel?uids=${dropped}`)
  server.release()
  await server.ended(made)
  await server.ended(dropped)
  const old = (await server.get(`${at}/old`)).body
  t.deepEqual(await target('old'), {
    current: old,
    target: { uid: 'old' },
    needsProcessing: false,
    taskUids: [],
  } as never)
  t.is((await target('dropped')).code, 'dynamic_search_rule_not_found')
  const listed = await server.post(at, {})
  t.deepEqual(Object.keys(listed.body), ['results', 'offset', 'limit', 'total'])
  t.deepEqual((await list()).results, [{ ...old, needsProcessing: false }])
})

test('pending deletions of rules are part of their targets', async (t) => {
  const server = await heldServer(t, { features: ['dynamicSearchRules'] })
  const target = async (uid: string): Promise<TestBody> => (await server.get(`${at}/${uid}/target`)).body
  const sent = async (method: string, path: string, body?: unknown): Promise<number> =>
    (await server.request(method, path, { body })).body.taskUid
  const first = await sent('PATCH', `${at}/r`, { description: 'x', precedence: 3 })
  const second = await sent('PATCH', `${at}/r`, { description: null })
  t.like(await target('r'), {
    target: { uid: 'r', description: null, precedence: 3 },
    taskUids: [first, second],
  })
  const third = await sent('DELETE', `${at}/r`)
  t.like(await target('r'), { current: null, target: null, taskUids: [first, second, third] })
  const all = await sent('DELETE', at)
  t.like(await target('other'), { current: null, target: null, needsProcessing: true, taskUids: [all] })
  const { body } = await server.post(at, { showTarget: true })
  t.like(body, { needsProcessing: true, totalRuleCount: 0, targetTotalRuleCount: 0 })
})
