import test from 'ava'
import { readJson } from '../../ts/parse/index.js'
import { checkRefusals } from '../support/refusals.js'
import { startServer } from '../support/server.js'

const json = { 'content-type': 'application/json' }

test('a body without a type, of a wrong type, empty or not JSON is refused with a specific code', async (t) => {
  const server = await startServer(t)
  const path = '/indexes'
  const body = '{"uid":"a"}'
  await checkRefusals(t, server, [
    { path, body, headers: { 'content-type': undefined }, status: 415, code: 'missing_content_type' },
    { path, body, headers: { 'content-type': 'text/plain' }, status: 415, code: 'invalid_content_type' },
    {
      path,
      body,
      headers: { 'content-type': 'doggo' },
      status: 415,
      code: 'invalid_content_type',
      names: 'doggo',
    },
    { path, headers: json, code: 'missing_payload', names: 'json' },
    { path, body: '{', code: 'malformed_payload' },
    { path, body: '{"uid":"a"}}', code: 'malformed_payload' },
    { path, body: "{'uid':'a'}", code: 'malformed_payload' },
    { path, body: Buffer.from('{"uid":"\xff"}', 'latin1'), code: 'malformed_payload', names: 'UTF-8' },
    { path, body: '{"uid":"\\ud800"}', code: 'malformed_payload' },
    { path, body: `${'['.repeat(5000)}${']'.repeat(5000)}`, code: 'malformed_payload', names: 'deep' },
    { path, body: '{"uid":1e999}', code: 'malformed_payload', names: '1e999' },
    { path, body: '[]', code: 'bad_request', names: 'array' },
    { path, body: 'null', code: 'bad_request', names: 'null' },
  ])
  const { body: list } = await server.get('/tasks')
  t.is(list.total, 0, 'nothing was queued')
  for (const type of ['Application/JSON; charset=utf-8', 'application/vnd.api+json']) {
    const answer = await server.post(path, body, { headers: { 'content-type': type } })
    t.is(answer.status, 202, type)
  }
})

test('unknown keys are refused with the nearest known key', async (t) => {
  const server = await startServer(t)
  await checkRefusals(t, server, [
    {
      path: '/indexes',
      body: { uid: 'a', primary_key: 'id' },
      code: 'bad_request',
      names: 'did you mean `primaryKey`',
    },
    {
      path: '/indexes',
      body: '{"uid":"a","__proto__":{"primaryKey":"x"}}',
      code: 'bad_request',
      names: '__proto__',
    },
    { path: '/indexes', body: { uid: 'a', constructor: 1 }, code: 'bad_request', names: 'constructor' },
    { method: 'GET', path: '/indexes?limitt=3', code: 'bad_request', names: 'did you mean `limit`' },
    { method: 'GET', path: '/tasks?toString=3', code: 'bad_request', names: 'toString' },
  ])
})

test('the first mistake of a body in payload order is reported', async (t) => {
  const server = await startServer(t)
  const path = '/indexes/a/search'
  await checkRefusals(t, server, [
    { path, body: '{"limit":-1,"offset":-1}', code: 'invalid_search_limit' },
    { path, body: '{"offset":-1,"limit":-1}', code: 'invalid_search_offset' },
    { path, body: '{"ghost":1,"limit":-1}', code: 'bad_request' },
    { path, body: '{"limit":-1,"ghost":1}', code: 'invalid_search_limit' },
    { path: '/keys', body: {}, code: 'missing_master_key', status: 401 },
    { path: '/indexes', body: { primaryKey: 3 }, code: 'invalid_index_primary_key' },
    { path: '/indexes', body: {}, code: 'missing_index_uid', names: 'uid' },
  ])
})

test('an integer that is negative, fractional or quoted is refused', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.post('/indexes', { uid: 'a' }))
  const path = '/indexes/a/search'
  const refused: readonly (readonly [string, string])[] = [
    ['-1', 'a negative integer: `-1`'],
    ['1.0', 'a number: `1.0`'],
    ['1e2', 'a number: `1e2`'],
    ['"1"', 'a string: `"1"`'],
    ['true', 'a boolean: `true`'],
    ['null', 'found null'],
    ['18446744073709551616', 'a number'],
    ['[1]', 'an array: `[1]`'],
  ]
  await checkRefusals(
    t,
    server,
    refused.map(([text, names]) => ({
      path,
      body: `{"limit":${text}}`,
      code: 'invalid_search_limit',
      names,
    })),
  )
  for (const text of ['0', '18446744073709551615']) {
    t.is((await server.post(path, `{"limit":${text}}`)).status, 200, text)
  }
  const inQueries = ['', '-1', '1.5', 'ten', '+1', '18446744073709551616']
  await checkRefusals(
    t,
    server,
    inQueries.map((text) => ({ method: 'GET', path: `${path}?limit=${text}`, code: 'invalid_search_limit' })),
  )
  t.is((await server.get(`${path}?limit=%2B7`)).status, 200, 'a plus sign is fine once encoded')
})

test('a repeated parameter or key takes its last value', async (t) => {
  const server = await startServer(t)
  t.is((await server.get('/indexes?limit=1&limit=2')).body.limit, 2)
  const { body } = await server.post('/indexes', '{"uid":"first","uid":"second"}')
  t.is(body.indexUid, 'second')
})

test('null omits an optional value, and is refused for a value with a default', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.post('/indexes', { uid: 'a', primaryKey: null }))
  const path = '/indexes/a/search'
  t.is((await server.post(path, { q: null, filter: null, facets: null, page: null })).status, 200)
  await checkRefusals(t, server, [
    { path, body: { cropMarker: null }, code: 'invalid_search_crop_marker' },
    { path, body: { matchingStrategy: null }, code: 'invalid_search_matching_strategy' },
    { path, body: { showRankingScore: null }, code: 'invalid_search_show_ranking_score' },
    { path: '/indexes', body: { uid: null }, code: 'invalid_index_uid' },
  ])
})

test('an answer that quotes the beginning of a text never ends inside a character', async (t) => {
  const server = await startServer(t)
  const long = '😀'.repeat(1_000)
  // A character has two UTF-16 units here. One of the two lengths would cut it in half.
  for (const text of [long, `a${long}`]) {
    const documents = await server.post('/indexes/films/documents?waitMs=60000', [{ id: 1, title: text }])
    const invalid = await server.post('/indexes/films/documents?waitMs=60000', [{ id: text }])
    const description = await server.get('/indexes/films/description')
    t.deepEqual(
      [documents.body.status, invalid.body.status, description.status],
      ['succeeded', 'failed', 200],
    )
    const wrongType = await server.post('/indexes/films/search', { limit: text })
    t.is(wrongType.status, 400)
    for (const { bytes } of [invalid, description, wrongType]) {
      t.true(bytes.includes('😀…'))
      t.notThrows(() => readJson(bytes))
    }
  }
})
