/** Chats that fail, end early, or would not end. */
import test from 'ava'
import { asks, chunkJson, DONE, eventOf, type Script, says } from '../support/chat-provider.js'
import { ask, everyTool, opened, question, searchEvents, startChats, textOf } from './chat-world.js'

const search = { index_uid: 'films', q: '', filter: '' }
const text = eventOf(chunkJson({ content: 'Hel' }))
const key = 'sk-test-placeholder-api-key'
const answered = (status: number, body: unknown): Script => ({
  ...{ status, type: 'application/json' },
  pieces: [typeof body === 'string' ? body : JSON.stringify(body)],
})
const fault = (type: string, message: string, more: object = {}) => ({
  error: { type, code: null, message, param: null, ...more },
})

/** An answer of the provider → the error that the client gets, and its status and code without streaming. */
const failures: Readonly<
  Record<string, readonly [Script, { readonly error: object } | RegExp, number, string]>
> = {
  'a refused key': [
    answered(401, {
      error: {
        message: `wrong key ${key}`,
        type: 'invalid_request_error',
        code: 'invalid_api_key',
        param: null,
      },
    }),
    fault('invalid_request_error', 'wrong key sk-XXXXX...', { code: 'invalid_api_key' }),
    ...([403, 'remote_invalid_api_key'] as const),
  ],
  'too many requests': [
    answered(429, {
      error: { message: 'slow down', type: 'tokens', code: 'rate_limit_exceeded', param: 'p' },
    }),
    fault('tokens', 'slow down', { code: 'rate_limit_exceeded', param: 'p' }),
    ...([503, 'too_many_requests'] as const),
  ],
  'an error without type': [
    answered(500, { error: { message: 'broken', code: 7 } }),
    fault('provider_error', 'broken', { code: '7' }),
    ...([502, 'remote_remote_error'] as const),
  ],
  'an error as text': [
    answered(400, { error: 'no such model' }),
    fault('provider_error', 'no such model'),
    ...([502, 'remote_remote_error'] as const),
  ],
  'an error at the root': [
    answered(422, { object: 'error', message: 'bad', type: 'invalid' }),
    fault('invalid', 'bad'),
    ...([502, 'remote_remote_error'] as const),
  ],
  'an error page': [
    { status: 502, type: 'text/html', pieces: ['<h1>', 'x'.repeat(300)] },
    fault('provider_error', `the provider answered with status 502: <h1>${'x'.repeat(196)}`),
    ...([502, 'remote_remote_error'] as const),
  ],
  'a redirect': [
    { status: 307, pieces: [] },
    fault('provider_error', 'the provider answered with status 307: '),
    ...([502, 'remote_remote_error'] as const),
  ],
  'an error in the stream': [
    { pieces: [text, eventOf('{"error":{"message":"overloaded","type":"server_error"}}'), DONE] },
    fault('server_error', 'overloaded'),
    ...([502, 'remote_remote_error'] as const),
  ],
  'bytes that are not UTF-8': [
    { pieces: [text, Buffer.from([100, 97, 116, 97, 58, 32, 0xff, 10, 10])] },
    fault('invalid_utf8_error', 'the provider sent bytes that are not UTF-8'),
    ...([502, 'remote_bad_response'] as const),
  ],
  'a character that is cut off': [
    { pieces: [text, Buffer.from([0xf0, 0x9f])] },
    fault('invalid_utf8_error', 'the provider sent bytes that are not UTF-8'),
    ...([502, 'remote_bad_response'] as const),
  ],
  'a page in place of events': [
    { pieces: ['<html>\n<body>\n\n'] },
    /"type":"parser_error".*<html>/,
    ...([502, 'remote_bad_response'] as const),
  ],
  'an event that never ends': [
    { pieces: Array.from({ length: 12 }, () => `data: ${'x'.repeat(100_000)}`) },
    /"type":"parser_error"/,
    ...([502, 'remote_bad_response'] as const),
  ],
  'an event that is not JSON': [
    { pieces: [text, 'data: {"a":\n\n', DONE] },
    /"type":"json_deserialize_error".*not JSON/,
    ...([502, 'remote_bad_response'] as const),
  ],
  'an event that is no object': [
    { pieces: [eventOf('[1]')] },
    /"type":"json_deserialize_error".*no object/,
    ...([502, 'remote_bad_response'] as const),
  ],
  'JSON that is no completion': [
    answered(200, { models: [] }),
    /"type":"json_deserialize_error"/,
    ...([502, 'remote_bad_response'] as const),
  ],
  'a completion without a message': [
    answered(200, { choices: [{ message: null }] }),
    fault('json_deserialize_error', 'the provider sent JSON that is not a chat completion'),
    ...([502, 'remote_bad_response'] as const),
  ],
  'calls that are no list': [
    { pieces: [text, eventOf(chunkJson({ tool_calls: {} })), DONE] },
    fault('json_deserialize_error', 'the provider sent `tool_calls` that are no calls: {}'),
    ...([502, 'remote_bad_response'] as const),
  ],
  'a call that is null': [
    { pieces: [text, eventOf(chunkJson({ tool_calls: [null] })), DONE] },
    fault('json_deserialize_error', 'the provider sent `tool_calls` that are no calls: [null]'),
    ...([502, 'remote_bad_response'] as const),
  ],
  'a completion with a call that is null': [
    answered(200, { choices: [{ message: { content: 'a', tool_calls: [null] } }] }),
    fault('json_deserialize_error', 'the provider sent `tool_calls` that are no calls: [null]'),
    ...([502, 'remote_bad_response'] as const),
  ],
  'a stream that ends at once': [
    { pieces: [] },
    fault('stream_ended', 'the provider ended its stream before the answer'),
    ...([502, 'remote_bad_response'] as const),
  ],
  'a stream that ends within the answer': [
    { pieces: [text] },
    fault('stream_ended', 'the provider ended its stream before the answer'),
    ...([502, 'remote_bad_response'] as const),
  ],
  'a connection that is cut': [
    { pieces: [text], cuts: true },
    /"type":"transport_error"/,
    ...([502, 'remote_could_not_send_request'] as const),
  ],
  'a text without end': [
    { pieces: Array.from({ length: 11 }, () => eventOf(chunkJson({ content: 'x'.repeat(100_000) }))) },
    /"type":"answer_too_large"/,
    ...([502, 'remote_bad_response'] as const),
  ],
}

const chatTimes = { beginMs: 20_000, idleMs: 20_000, totalMs: 60_000, heartbeatMs: 20_000 }

test('each failure of the provider is one error event, or an error without streaming', async (t) => {
  const cases = Object.entries(failures)
  let script: Script = says()
  const { server, provider } = await startChats(t, () => script)
  for (const [name, [failing, expected, status, code]] of cases) {
    script = failing
    const events = await ask(server)
    t.is(events.at(-1), '[DONE]', name)
    const [event = '', ...others] = events.filter((json) => json.startsWith('{"event_id"'))
    t.is(others.length, 0, name)
    t.false(events.join().includes(key), name)
    if (expected instanceof RegExp) t.regex(event, expected, name)
    else {
      const { event_id: id, ...shown } = JSON.parse(event)
      t.regex(id, /^[0-9a-f-]{36}$/)
      t.deepEqual(shown, { type: 'error', error: { ...expected.error, event_id: null } }, name)
    }
    const { body, ...answer } = await server.post('/chats/w/chat/completions', question({ stream: false }))
    t.deepEqual([answer.status, body.code], [status, code], name)
    t.is(typeof body.error.message, 'string', name)
    t.false(JSON.stringify(body).includes(key), name)
  }
  t.is(provider.calls.length, 2 * cases.length, 'nothing is retried')
})

test('a chunk whose `delta` is null adds nothing to the answer', async (t) => {
  const end = JSON.stringify({ choices: [{ index: 0, delta: null, finish_reason: 'stop' }] })
  const { server } = await startChats(t, () => ({ pieces: [text, eventOf(end), DONE] }))
  t.is(textOf(await ask(server)), 'Hel')
  const { status, body } = await server.post('/chats/w/chat/completions', question({ stream: false }))
  t.is(status, 200)
  t.like(body.choices, [{ message: { content: 'Hel' }, finish_reason: 'stop' }])
})

test('a provider that cannot be called is named', async (t) => {
  const { server } = await startChats(t, () => says())
  const fails = async (baseUrl: string): Promise<string> => {
    await server.patch('/chats/w/settings', { baseUrl })
    return (await ask(server)).join()
  }
  t.regex(await fails('http://127.0.0.1:9'), /"type":"transport_error".*`127\.0\.0\.1:9` cannot be reached/)
  t.regex(await fails('http://10.1.2.3/v1'), /"type":"transport_error".*--experimental-allowed-ip-networks/)
})

test('a model that searches for ever stops after the limit of rounds', async (t) => {
  const { server, provider } = await startChats(t, () => asks({ id: 'c', arguments: search }))
  const events = await ask(server, { tool_choice: 'required' })
  t.is(provider.calls.length, 20)
  t.deepEqual(
    events.slice(-2).map((json) => (json === '[DONE]' ? json : JSON.parse(json).choices[0].finish_reason)),
    ['length', '[DONE]'],
  )
  // The choice of the client holds for the first request alone, and the last one must answer.
  t.deepEqual(
    [0, 1, 18, 19].map((at) => provider.calls[at]?.body.tool_choice),
    ['required', undefined, undefined, 'none'],
  )
  await server.patch('/chats/w/settings', { limits: { rounds: 2 } })
  await ask(server)
  t.is(provider.calls.length, 22)
})

test('a limit of tokens bounds all rounds together', async (t) => {
  const { server, provider } = await startChats(t, () => asks({ id: 'c', arguments: search }))
  await server.patch('/chats/w/settings', { limits: { tokens: 250 } })
  const { body } = await server.post(
    '/chats/w/chat/completions',
    question({ stream: false, max_tokens: 200 }),
  )
  // Each round takes 120.
  t.is(provider.calls.length, 3)
  t.deepEqual(
    provider.calls.map((call) => call.body.max_tokens),
    [200, 130, 10],
  )
  t.like(body, { usage: { total_tokens: 360 } })
  t.is((body.choices as [{ finish_reason: string }])[0].finish_reason, 'length')
})

test('at most 16 calls of a round run, and results together are bounded', async (t) => {
  const { server, provider } = await startChats(t, (_, number) =>
    number < 2
      ? asks(
          ...Array.from({ length: 20 }, (_one, at) => ({
            id: `c${at}`,
            arguments: { ...search, index_uid: 'long' },
          })),
        )
      : says('ok'),
  )
  const chat = { documentTemplate: '{{ doc.text }}', documentTemplateMaxBytes: 60_000 }
  await server.settle(t, server.patch('/indexes/long/settings', { chat }))
  await server.settle(t, server.post('/indexes/long/documents', [{ id: 1, text: 'x'.repeat(60_000) }]))
  t.is(textOf(await ask(server)), 'ok')
  const results = provider.calls[2]?.body.messages.filter(({ role }: { role: string }) => role === 'tool')
  t.is(results.length, 32)
  t.true(results.at(-1).content.startsWith('error: the results of all searches'))
  t.true(JSON.stringify(results).length < 1_100_000)
})

test('a search that fails without fault of the model is an error event, and the answer goes on', async (t) => {
  const { server, provider } = await startChats(
    t,
    (_, number) => (number === 0 ? asks({ id: 'c', arguments: { ...search, q: 'fault' } }) : says('sorry')),
    {
      wrapEngine: (engine) =>
        new Proxy(engine, {
          get(target, name) {
            const value: unknown = Reflect.get(target, name)
            if (typeof value !== 'function') return value
            if (name !== 'search') return value.bind(target)
            return (...given: Parameters<typeof engine.search>) =>
              Buffer.from(given[1]).includes('fault')
                ? Promise.reject(new Error('/secret/path is broken'))
                : target.search(...given)
          },
        }),
    },
  )
  const events = await ask(server, { tools: everyTool })
  t.is(textOf(events), 'sorry')
  const [event = ''] = events.filter((json) => json.startsWith('{"event_id"'))
  t.like(JSON.parse(event), { error: { type: 'response_error', code: 'internal' } })
  t.false(events.join().includes('/secret'))
  t.false(searchEvents(events).some(({ name }) => name === '_meiliSearchSources'))
  t.regex(provider.calls[1]?.body.messages.at(-1).content, /^error: the search failed/)
})

/** Resolves when `met` is true. */
async function until(met: () => boolean): Promise<void> {
  while (!met()) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('a client that leaves ends the call to the provider', async (t) => {
  const { server, provider } = await startChats(t, () => ({ pieces: [text], stalls: true }))
  const stream = await opened(server)
  t.is(stream.first, text)
  stream.close()
  await until(() => provider.aborted() === 1)
  t.is((await server.get('/health')).status, 200)
})

test('comments bridge the silence of a provider, until it has been silent for too long', async (t) => {
  const times = { ...chatTimes, idleMs: 100, heartbeatMs: 10 }
  const { server } = await startChats(t, () => ({ pieces: [text], stalls: true }), { chatTimes: times })
  const { bytes } = await server.post('/chats/w/chat/completions', question())
  t.regex(bytes.toString(), /(: still here\n\n)+data: .*answer within 100 ms.*\n\ndata: \[DONE\]\n\n$/)
  const { body, status } = await server.post('/chats/w/chat/completions', question({ stream: false }))
  t.deepEqual([status, body.code], [504, 'remote_timeout'])
})

test('an answer that takes too long ends, even while the provider speaks', async (t) => {
  const pieces = Array.from({ length: 100_000 }, () => ': slow\n\n')
  const times = { ...chatTimes, totalMs: 400 }
  const { server } = await startChats(t, () => ({ pieces }), { chatTimes: times })
  const { body, status } = await server.post('/chats/w/chat/completions', question({ stream: false }))
  t.deepEqual([status, body.code], [504, 'remote_timeout'])
  t.regex(body.message, /longer than 0\.4 seconds/)
})

test('a hundred streams run at once, one more is refused, and a stop ends all of them', async (t) => {
  const { server, provider } = await startChats(t, () => ({ pieces: [text], stalls: true }))
  const streams = await Promise.all(Array.from({ length: 100 }, () => opened(server)))
  t.is(provider.calls.length, 100)
  const refused = await server.post('/chats/w/chat/completions', question())
  t.deepEqual([refused.status, refused.body.code], [503, 'too_many_requests'])
  await server.drain()
  for (const { rest } of streams)
    t.regex(
      await rest(),
      /"Hel"[^\n]*\n\n(: still here\n\n)*data: .*"type":"server_stopping".*\n\ndata: \[DONE\]\n\n$/,
    )
  await until(() => provider.aborted() === 100)
})
