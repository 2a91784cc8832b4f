/** Answers of chats: what the provider gets, and what the client gets. */
import { createHmac } from 'node:crypto'
import test from 'ava'
import { asks, byteByByte, chunkJson, DONE, eventOf, says, usageJson } from '../support/chat-provider.js'
import {
  ask,
  eventsIn,
  everyTool,
  messages,
  question,
  searchEvents,
  startChats,
  textOf,
} from './chat-world.js'

const search = { index_uid: 'films', q: 'batman', filter: 'series = batman' }

test('chunks of the provider reach the client unchanged, and the provider gets the request', async (t) => {
  const { server, provider } = await startChats(t, () => says('Hel', 'lo'))
  const more = { temperature: 0.2, unknown: { a: [1] }, stream_options: { include_usage: false }, n: 1 }
  const answer = await server.post('/chats/w/chat/completions', question(more))
  t.like(answer.headers, {
    'content-type': 'text/event-stream',
    'x-accel-buffering': 'no',
    'cache-control': 'no-store',
  })
  t.is(
    answer.bytes.toString(),
    [{ role: 'assistant', content: '' }, { content: 'Hel' }, { content: 'lo' }]
      .map((delta) => eventOf(chunkJson(delta)))
      .join('') +
      eventOf(chunkJson({}, 'stop')) +
      DONE,
  )
  const [call] = provider.calls
  t.is(call?.path, '/v1/chat/completions')
  t.is(call?.headers.authorization, 'Bearer sk-test-placeholder-api-key')
  t.is(call?.headers['content-type'], 'application/json')
  const { messages: sent, tools, ...rest } = call?.body ?? {}
  t.deepEqual(rest, { model: 'test-1', temperature: 0.2, unknown: { a: [1] }, stream: true })
  t.is(sent[0].role, 'system')
  t.regex(sent[0].content, /Search before you answer/)
  t.deepEqual(sent.slice(1), messages)
  t.is(tools.length, 1)
  const { strict, name, description, parameters } = tools[0].function
  t.deepEqual([strict, name], [true, '_meiliSearchInIndex'])
  t.regex(description, /- books\n- films: films of the last century/)
  t.deepEqual(parameters.required, ['index_uid', 'q', 'filter'])
  t.deepEqual(parameters.properties.index_uid.enum, ['books', 'films'])
  const { description: filters } = parameters.properties.filter
  t.regex(filters, /- books: no filterable attributes/)
  t.regex(filters, /series: "batman", "none", "superman"/)
  t.regex(filters, /year: numbers from 1972 to 1992/)
})

test('a long description reaches the provider cut between two characters', async (t) => {
  const { server, provider } = await startChats(t, () => says('Hello'))
  const description = `a${'😀'.repeat(2_500)}`
  await server.settle(t, server.patch('/indexes/films/settings', { chat: { description } }))
  await ask(server)
  const shown = provider.calls[0]?.body.tools[0].function.description as string
  t.true(shown.includes('films: a😀'))
  t.notRegex(shown, /\p{Surrogate}/u)
})

test('a search has its events in order, and its result goes to the provider', async (t) => {
  const { server, provider } = await startChats(t, (_, number) =>
    number === 0
      ? asks({
          id: 'call_1',
          arguments: ['{"index_uid":"films",', '"q":"batman",', '"filter":"series = batman"}'],
        })
      : says('It is [1].'),
  )
  const events = await ask(server, { tools: everyTool })
  const text = JSON.stringify(search)
  const called = [
    { id: 'call_1', type: 'function', function: { name: '_meiliSearchInIndex', arguments: text } },
  ]
  const documents = [{ id: 1, title: 'Batman Returns', series: 'batman', year: 1992 }]
  const assistant = { role: 'assistant', tool_calls: called }
  const result = { role: 'tool', tool_call_id: 'call_1', content: '[1] Batman Returns (1992)' }
  t.deepEqual(searchEvents(events), [
    {
      name: '_meiliSearchProgress',
      content: {
        ...{ call_id: 'call_1', function_name: '_meiliSearchInIndex' },
        ...{ function_parameters: text, function_arguments: text },
      },
    },
    { name: '_meiliAppendConversationMessage', content: assistant },
    {
      name: '_meiliSearchSources',
      content: {
        ...{ call_id: 'call_1', documents, sources: documents },
        citations: [{ number: 1, index_uid: 'films' }],
      },
    },
    { name: '_meiliAppendConversationMessage', content: result },
  ])
  t.deepEqual(provider.calls[1]?.body.messages.slice(-2), [assistant, result])
  t.is(textOf(events), 'It is [1].')
  // A frame of an event, byte by byte but for its random id.
  const [first = ''] = events
  const { id } = JSON.parse(first).choices[0].delta.tool_calls[0]
  const content = JSON.stringify(
    JSON.stringify({
      ...{ call_id: 'call_1', function_name: '_meiliSearchInIndex' },
      ...{ function_parameters: text, function_arguments: text },
    }),
  )
  t.is(
    first,
    `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"test-1","choices":[{"index":0,` +
      `"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"${id}","type":"function","function":{"name":` +
      `"_meiliSearchProgress","arguments":${content}}}]},"finish_reason":null}]}`,
  )
})

test('an answer that arrives byte by byte is the same', async (t) => {
  const script = (number: number) =>
    number % 2 === 0 ? asks({ id: 'c', arguments: search }) : says('Größe 😀 ', 'ok')
  const whole = await startChats(t, (_, number) => script(number))
  const split = await startChats(t, (_, number) => byteByByte(script(number)))
  const anonymous = (events: readonly string[]) =>
    events.map((json) => json.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'id'))
  const tools = { tools: everyTool }
  t.deepEqual(anonymous(await ask(split.server, tools)), anonymous(await ask(whole.server, tools)))
})

test('without tools of the client no call is seen, however the provider sends it', async (t) => {
  const call = {
    index: 0,
    id: 'c',
    function: { name: '_meiliSearchInIndex', arguments: JSON.stringify(search) },
  }
  const { index: _, ...bare } = call
  const usage = usageJson(1, 1)
  const turns = [
    asks({ id: 'c', arguments: search }),
    // In one chunk, together with text and the end.
    { pieces: [eventOf(chunkJson({ content: 'wait ', tool_calls: [call] }, 'tool_calls')), DONE] },
    // With the end of an answer, without an index, and with an object in place of JSON.
    {
      pieces: [
        eventOf(chunkJson({ role: 'assistant', content: null, tool_calls: [bare] })),
        eventOf(chunkJson({}, 'stop')),
        eventOf(usage),
        DONE,
      ],
    },
    {
      pieces: [
        eventOf(
          chunkJson({ tool_calls: [{ ...bare, function: { ...bare.function, arguments: search } }] }, 'stop'),
        ),
      ],
    },
    {
      type: 'application/json',
      pieces: [
        JSON.stringify({
          ...{ id: 'x', object: 'chat.completion', created: 1, model: 'test-1' },
          choices: [
            { index: 0, message: { role: 'assistant', tool_calls: [bare] }, finish_reason: 'tool_calls' },
          ],
        }),
      ],
    },
  ]
  const { server, provider } = await startChats(t, (_call, number) => turns[number] ?? says('done'))
  const events = await ask(server)
  t.false(events.join().includes('_meili'))
  t.false(events.join().includes('tool_calls'))
  t.is(textOf(events), 'wait done')
  t.is(provider.calls.length, turns.length + 1)
  t.is(provider.calls.at(-1)?.body.messages.length, 2 + 2 * turns.length)
  for (const { content, role } of provider.calls.at(-1)?.body.messages ?? [])
    if (role === 'tool') t.is(content, '[1] Batman Returns (1992)')
})

test('mistakes of the model are answered with what to change', async (t) => {
  const wrong: readonly (readonly [object | string, RegExp, string?])[] = [
    [{ ...search, filter: 'series ==' }, /^error: [\s\S]*series ==\nFilterable attributes of `films`/],
    [{ ...search, filter: 'secret = alpha' }, /error: .*`secret`[\s\S]*year: numbers from 1972/],
    [{ ...search, index_uid: 'ghost' }, /no index `ghost`; the indexes are `books`, `films`/],
    [{ q: 'x' }, /missing field `index_uid`/],
    ['{"index_uid": ', /the arguments are not valid/],
    ['', /the arguments are not valid/],
    [`{"q":"${'x'.repeat(70_000)}"}`, /short JSON/],
    [{}, /no tool `lookup`; the only tool is `_meiliSearchInIndex`/, 'lookup'],
    [{ ...search, q: 'nothing like it', filter: 'year > 3000' }, /no document matches/],
  ]
  const { server, provider } = await startChats(t, (_, number) =>
    number === 0
      ? asks(
          ...wrong.map(([given, _message, name], at) => ({
            id: `c${at}`,
            arguments: given,
            ...(name && { name }),
          })),
        )
      : says('sorry'),
  )
  const events = await ask(server, { tools: everyTool })
  t.is(textOf(events), 'sorry')
  const results = provider.calls[1]?.body.messages.filter(({ role }: { role: string }) => role === 'tool')
  t.is(results.length, wrong.length)
  for (const [at, [, expected]] of wrong.entries()) t.regex(results[at].content, expected)
  const names = searchEvents(events).map(({ name }) => name)
  // Only the last search succeeded, and an unknown tool makes no progress.
  t.is(names.filter((name) => name === '_meiliSearchSources').length, 1)
  t.is(names.filter((name) => name === '_meiliSearchProgress').length, wrong.length - 1)
  t.false(events.join().includes('"error":{'))
})

test('searches use the parameters of the index, and documents keep their numbers', async (t) => {
  const { server, provider } = await startChats(t, (_, number) =>
    number < 2 ? asks({ id: `c${number}`, arguments: { ...search, q: '', filter: '' } }) : says('ok'),
  )
  await server.settle(
    t,
    server.patch('/indexes/films/settings', {
      sortableAttributes: ['year'],
      chat: { searchParameters: { limit: 2, sort: ['year:desc'] } },
    }),
  )
  const earlier = [
    {
      role: 'assistant',
      tool_calls: [{ id: 'e', type: 'function', function: { name: '_meiliSearchInIndex', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'e', content: '[6] x\n[7] y' },
  ]
  await ask(server, { messages: [...messages, ...earlier, ...messages] })
  const contents = provider.calls[2]?.body.messages.map(({ content }: { content: string }) => content)
  const text = '[8] Batman Returns (1992)\n[9] Batman and Superman (1978)'
  t.deepEqual(
    contents.filter((one: string) => one?.startsWith('[8]')),
    [text, text],
  )
})

test('calls of the tools of the client are removed from the conversation', async (t) => {
  const { server, provider } = await startChats(t, () => says('ok'))
  const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{}' } })
  const kept = { role: 'assistant', content: 'yes', tool_calls: [call('b', '_meiliSearchInIndex')] }
  const answer = { role: 'tool', tool_call_id: 'b', content: '' }
  await ask(server, {
    messages: [
      { role: 'assistant', tool_calls: [call('a', '_meiliSearchProgress')] },
      { role: 'tool', tool_call_id: 'a', content: 'seen' },
      { ...kept, tool_calls: [call('a2', '_meiliSearchSources'), ...kept.tool_calls] },
      answer,
      { role: 'assistant', content: 'text', tool_calls: [call('d', '_meiliAppendConversationMessage')] },
      ...messages,
    ],
  })
  t.deepEqual(provider.calls[0]?.body.messages.slice(1), [
    kept,
    answer,
    { role: 'assistant', content: 'text' },
    ...messages,
  ])
})

const masterKey = 'a-master-key-of-20-b'

test('every search has the rights of the key and of its tenant token', async (t) => {
  const everything = { ...search, q: '', filter: '' }
  const { server, provider } = await startChats(
    t,
    (_, number) =>
      number % 2 === 0
        ? asks(
            { id: 'a', arguments: everything },
            { id: 'b', arguments: { ...everything, index_uid: 'books' } },
            { id: 'c', arguments: { ...everything, filter: 'series = superman OR series = none' } },
          )
        : says('ok'),
    { masterKey },
  )
  const key = async (actions: readonly string[]) =>
    (await server.post('/keys', { actions, indexes: ['films'], expiresAt: null })).body
  const results = () =>
    provider.calls
      .at(-1)
      ?.body.messages.filter(({ role }: { role: string }) => role === 'tool')
      .map(({ content }: { content: string }) => content.replace(/\[\d\] /g, ''))
  const tool = () => provider.calls.at(-2)?.body.tools[0].function.parameters.properties

  const films = await key(['chatCompletions', 'search'])
  await ask(server, {}, films.key)
  t.deepEqual(tool().index_uid.enum, ['films'])
  t.deepEqual(results(), [
    'Batman Returns (1992)\nBatman and Superman (1978)\nSolaris (1972)',
    'error: there is no index `books`; the indexes are `films`',
    'Batman and Superman (1978)\nSolaris (1972)',
  ])

  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const unsigned = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({
    apiKeyUid: films.uid,
    searchRules: { films: { filter: 'series != superman' } },
  })}`
  const signature = createHmac('sha256', films.key).update(unsigned).digest('base64url')
  await ask(server, {}, `${unsigned}.${signature}`)
  t.regex(tool().filter.description, /"batman", "none"$/m)
  t.false(tool().filter.description.includes('superman'))
  t.deepEqual(results(), [
    'Batman Returns (1992)\nSolaris (1972)',
    'error: there is no index `books`; the indexes are `films`',
    'Solaris (1972)',
  ])

  // Without the right to search there is no tool, and no choice of tools.
  await ask(server, { tool_choice: 'required' }, (await key(['chatCompletions'])).key)
  t.false('tools' in (provider.calls.at(-1)?.body ?? {}))
  t.false('tool_choice' in (provider.calls.at(-1)?.body ?? {}))
})

test('an answer without streaming is what a client would collect from the stream', async (t) => {
  const { server, provider } = await startChats(t, (_, number) =>
    number % 2 === 0 ? asks({ id: 'c', arguments: search }) : says('It ', 'is [1].'),
  )
  const { status, body } = await server.post('/chats/w/chat/completions', question({ stream: false }))
  t.is(status, 200)
  t.deepEqual(body, {
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1_700_000_000, model: 'test-1' },
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'It is [1].', refusal: null },
        ...{ logprobs: null, finish_reason: 'stop' },
      },
    ],
    usage: { prompt_tokens: 110, completion_tokens: 25, total_tokens: 135 },
  } as never)
  t.true(provider.calls[0]?.body.stream)
  const withTools = await server.post(
    '/chats/w/chat/completions',
    question({ stream: undefined, tools: everyTool }),
  )
  const [{ message }] = withTools.body.choices as [
    { message: { tool_calls: { function: { name: string } }[] } },
  ]
  t.deepEqual(
    message.tool_calls.map(({ function: called }) => called.name.slice(6)),
    ['SearchProgress', 'AppendConversationMessage', 'SearchSources', 'AppendConversationMessage'],
  )
})

test('a client that asks for usage gets the tokens of all rounds before the end', async (t) => {
  const { server, provider } = await startChats(t, (_, number) =>
    number === 0 ? asks({ id: 'c', arguments: search }) : says('ok'),
  )
  const events = await ask(server, { stream_options: { include_usage: true } })
  t.deepEqual(provider.calls[0]?.body.stream_options, { include_usage: true })
  t.like(JSON.parse(events.at(-2) ?? ''), {
    choices: [],
    usage: { prompt_tokens: 110, completion_tokens: 25, total_tokens: 135 },
  })
})

/** Settings of a source and a model → the URL, headers and role that the provider gets. */
const sources: readonly (readonly [object, string, string, object, string])[] = [
  [
    { source: 'openAi', orgId: 'o', projectId: 'p' },
    'gpt-4o-mini',
    '/v1/chat/completions',
    { authorization: 'Bearer k', 'openai-organization': 'o', 'openai-project': 'p' },
    'system',
  ],
  [{ source: 'openAi' }, 'gpt-4', '/v1/chat/completions', {}, 'system'],
  [{ source: 'openAi' }, 'gpt-5', '/v1/chat/completions', {}, 'developer'],
  [{ source: 'openAi' }, 'o3', '/v1/chat/completions', {}, 'developer'],
  [{ source: 'openAi' }, 'gpt-4.1x', '/v1/chat/completions', {}, 'developer'],
  [{ source: 'mistral' }, 'gpt-5', '/v1/chat/completions', { authorization: 'Bearer k' }, 'system'],
  [{ source: 'vLlm' }, 'any', '/v1/chat/completions', {}, 'system'],
  [
    { source: 'azureOpenAi', deploymentId: 'd/1', apiVersion: '2' },
    'gpt-5',
    '/v1/openai/deployments/d%2F1/chat/completions?api-version=2',
    { 'api-key': 'k', authorization: undefined },
    'developer',
  ],
]

test('each source has its URL, headers, role and options', async (t) => {
  const { server, provider } = await startChats(t, () => says('ok'))
  for (const [settings, model, path, headers, role] of sources) {
    const baseUrl = `${provider.url}/`
    t.is((await server.patch('/chats/w/settings', { apiKey: 'k', baseUrl, ...settings })).status, 200)
    await ask(server, { model })
    const call = provider.calls.at(-1)
    const what = JSON.stringify(settings)
    t.is(call?.path, path, what)
    for (const [name, value] of Object.entries(headers)) t.is(call?.headers[name], value, `${what} ${name}`)
    t.is(call?.body.messages[0].role, role, `${what} ${model}`)
    t.is('stream_options' in (call?.body ?? {}), /openAi/i.test(what), what)
  }
})

test('the key of the server goes to no URL that a client chose', async (t) => {
  const { server, provider } = await startChats(t, () => says('ok'), { openAiKey: 'sk-of-the-server' })
  await server.patch('/chats/w/settings', { source: 'openAi', apiKey: null })
  await ask(server)
  t.is(provider.calls[0]?.headers.authorization, undefined)
})

test('requests are refused in a fixed order', async (t) => {
  const { server, provider } = await startChats(t, () => says('ok'))
  const tool = (name: string) => ({ tools: [{ type: 'function', function: { name } }] })
  const external = 'unimplemented_external_function_calling'
  const cases: readonly (readonly [string, object, number, string, string])[] = [
    ['w', { n: 2, stream: false }, 501, 'unimplemented_multi_choice_chat_completions', '`2`'],
    ['ghost', { n: 2 }, 501, 'unimplemented_multi_choice_chat_completions', '`2`'],
    ['ghost', { stream: false }, 404, 'chat_not_found', '`ghost`'],
    ['ghost', tool('lookup'), 404, 'chat_not_found', '`ghost`'],
    ['w', tool('lookup'), 501, external, '`lookup`'],
    ['w', { functions: [{ name: 'f' }] }, 501, external, 'functions'],
    ['w', tool('_meiliSearchInIndex'), 400, 'bad_request', '_meiliSearchInIndex'],
    ['w', { model: 1 }, 400, 'bad_request', '.model'],
    ['w', { model: undefined }, 400, 'bad_request', '`model`'],
    ['w', { messages: 'x' }, 400, 'bad_request', '.messages'],
    ['w', { messages: ['x'] }, 400, 'bad_request', '.messages[0]'],
    ['w', { stream: 'x' }, 400, 'bad_request', '.stream'],
    ['a b', {}, 400, 'invalid_index_uid', 'a b'],
  ]
  for (const [workspace, more, status, code, names] of cases) {
    const path = `/chats/${encodeURIComponent(workspace)}/chat/completions`
    const { body, ...answer } = await server.post(path, question(more))
    t.deepEqual([answer.status, body.code], [status, code], `${workspace} ${JSON.stringify(more)}`)
    t.true(body.message.includes(names), body.message)
    // Clients of OpenAI read this member.
    t.like(body.error, { message: body.message, code })
  }
  const tooLong = await server.post('/chats/w/chat/completions', question({ x: 'x'.repeat(1_100_000) }))
  t.is(tooLong.body.code, 'payload_too_large')
  t.is(provider.calls.length, 0)
})

test('an answer of several lines of data, with comments and a foreign event, is read', async (t) => {
  const [a = '', b = ''] = chunkJson({ content: 'x' }).split(',"choices"')
  const pieces = [`: hello\r\nevent: m\r\ndata: ${a}\r\ndata: ,"choices"${b}\r\n\r\n`, 'data: [DONE]\r\n\r\n']
  const { server } = await startChats(t, () => ({ pieces }))
  const { bytes } = await server.post('/chats/w/chat/completions', question())
  const events = eventsIn(bytes)
  t.deepEqual(events.slice(0, 1), [chunkJson({ content: 'x' })])
  // The provider did not end its answer, so this server does.
  t.is(JSON.parse(events[1] ?? '').choices[0].finish_reason, 'stop')
  t.is(events[2], '[DONE]')
})

test('a key that is deleted during an answer ends it', async (t) => {
  let deleted: () => void = () => undefined
  const after = new Promise<void>((resolve) => {
    deleted = resolve
  })
  const { server, provider } = await startChats(
    t,
    () => ({ ...asks({ id: 'c', arguments: search }), after }),
    { masterKey },
  )
  const wanted = { actions: ['chatCompletions', 'search'], indexes: ['*'], expiresAt: null }
  const { key } = (await server.post('/keys', wanted)).body
  const headers = { authorization: `Bearer ${key}` }
  const answers = [true, false].map((stream) =>
    server.post('/chats/w/chat/completions', question({ stream }), { headers }),
  )
  await provider.nextCall()
  await provider.nextCall()
  await server.delete(`/keys/${key}`)
  deleted()
  const [streamed, single] = await Promise.all(answers)
  t.regex(streamed?.bytes.toString() ?? '', /"type":"response_error","code":"invalid_api_key"/)
  t.deepEqual([single?.status, single?.body.code], [403, 'invalid_api_key'])
  t.is(provider.calls.length, 2)
})

test('searches and tokens are counted while metrics are on', async (t) => {
  const { server } = await startChats(
    t,
    (_, number) => (number === 0 ? asks({ id: 'c', arguments: search }) : says('ok')),
    { features: ['chatCompletions', 'metrics'] },
  )
  await ask(server)
  const text = (await server.get('/metrics')).bytes.toString()
  const labels = '{workspace="w",model="test-1"}'
  for (const line of [
    'meilisearch_chat_searches_total{type="internal"} 1',
    `meilisearch_chat_prompt_tokens_total${labels} 110`,
    `meilisearch_chat_completion_tokens_total${labels} 25`,
    `meilisearch_chat_tokens_total${labels} 135`,
  ])
    t.true(text.includes(`${line}\n`), line)
})
