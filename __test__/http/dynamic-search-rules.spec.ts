import test, { type ExecutionContext } from 'ava'
import { startServer, type TestServer } from '../support/server.js'

const start = (t: ExecutionContext): Promise<TestServer> =>
  startServer(t, { features: ['dynamicSearchRules', 'network'] })

test('rules are made, changed, listed newest first and removed by tasks', async (t) => {
  const server = await start(t)
  const pin = { selector: { id: 7 }, action: { type: 'pin', position: 1 } }
  const made = await server.settle(t, server.patch('/dynamic-search-rules/noir', { actions: [pin] }))
  t.like(made, { type: 'dsrUpdate', indexUid: '.meili_dsr' })
  t.deepEqual(made.details, {
    rule: { actions: [{ selector: { id: '7' }, action: { type: 'pin', position: 1 } }] },
    updatedRules: 1,
  } as object as typeof made.details)
  await server.settle(
    t,
    server.patch('/dynamic-search-rules/summer', { description: 'Summer sale', active: false }),
  )
  const changed = { conditions: { query: { words: 'film' } }, precedence: 3 }
  await server.settle(t, server.patch('/dynamic-search-rules/noir?customMetadata=m', changed))
  t.like((await server.get('/dynamic-search-rules/noir')).body, { uid: 'noir', active: true, ...changed })

  const listed = async (body: object): Promise<unknown> =>
    (await server.post('/dynamic-search-rules', body)).body.results.map(({ uid }) => uid)
  t.deepEqual(await listed({}), ['noir', 'summer'])
  t.deepEqual(await listed({ filter: { active: false } }), ['summer'])
  t.deepEqual(await listed({ filter: { query: 'sal' } }), ['summer'])
  t.deepEqual(await listed({ filter: { query: 'film' } }), ['noir'])
  t.deepEqual(await listed({ offset: 1 }), ['summer'])

  t.like((await server.settle(t, server.delete('/dynamic-search-rules/ghost'))).details, { updatedRules: 1 })
  await server.settle(t, server.delete('/dynamic-search-rules/noir'))
  t.is((await server.get('/dynamic-search-rules/noir')).body.code, 'dynamic_search_rule_not_found')
  t.like(await server.settle(t, server.delete('/dynamic-search-rules')), {
    type: 'dsrClear',
    details: { deletedDocuments: 1 },
  })
  t.deepEqual(await listed({}), [])
})

test('nothing of rules can be had while their feature is off', async (t) => {
  const server = await startServer(t)
  for (const [method, path, body] of [
    ['POST', '/dynamic-search-rules', {}],
    ['DELETE', '/dynamic-search-rules', undefined],
    ['GET', '/dynamic-search-rules/a', undefined],
    ['PATCH', '/dynamic-search-rules/a', {}],
    ['DELETE', '/dynamic-search-rules/a', undefined],
  ] as const)
    t.is((await server.request(method, path, { body })).body.code, 'feature_not_enabled', `${method} ${path}`)
})
