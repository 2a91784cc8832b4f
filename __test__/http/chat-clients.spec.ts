/** Chats with the OpenAI library and the JavaScript SDK, both unchanged. */

import test from 'ava'
import { Meilisearch } from 'meilisearch'
import OpenAI, { APIError } from 'openai'
import { asks, says } from '../support/chat-provider.js'
import { type ChatWorld, everyTool, startChats } from './chat-world.js'

const search = { index_uid: 'films', q: 'batman', filter: 'year < 1980' }
const answering: Parameters<typeof startChats>[1] = ({ body }) =>
  body.model === 'ghost'
    ? {
        ...{ status: 404, type: 'application/json' },
        pieces: [
          '{"error":{"message":"no model ghost","type":"invalid_request_error","code":"model_not_found"}}',
        ],
      }
    : body.messages.at(-1).role === 'tool'
      ? says('It is ', body.messages.at(-1).content)
      : asks({ id: 'c', arguments: search })

const openAi = ({ server }: ChatWorld): OpenAI =>
  new OpenAI({ apiKey: 'unused', baseURL: `${server.url}/chats/w`, maxRetries: 0 })
const user = [{ role: 'user' as const, content: 'which film?' }]
const expected = 'It is [1] Batman and Superman (1978)'

test('the OpenAI library streams an answer, with usage', async (t) => {
  const client = openAi(await startChats(t, answering))
  const stream = await client.chat.completions.create({
    ...{ model: 'm', messages: user, stream: true },
    stream_options: { include_usage: true },
  })
  let text = ''
  let tokens = 0
  for await (const { choices, usage } of stream) {
    text += choices[0]?.delta.content ?? ''
    tokens += usage?.total_tokens ?? 0
  }
  t.is(text, expected)
  t.is(tokens, 135)
  const runner = client.chat.completions.stream({ model: 'm', messages: user })
  t.is(await runner.finalContent(), expected)
})

test('the OpenAI library gets one answer', async (t) => {
  const client = openAi(await startChats(t, answering))
  const { choices, usage } = await client.chat.completions.create({ model: 'm', messages: user })
  t.is(choices[0]?.message.content, expected)
  t.is(choices[0]?.finish_reason, 'stop')
  t.is(usage?.total_tokens, 135)
})

test('the OpenAI library throws errors with their message', async (t) => {
  const world = await startChats(t, answering)
  const client = openAi(world)
  const once = { model: 'ghost', messages: user }
  const single = await t.throwsAsync(client.chat.completions.create(once), { instanceOf: APIError })
  t.deepEqual([single.status, single.code], [502, 'model_not_found'])
  t.regex(single.message, /no model ghost/)
  const streamed = await t.throwsAsync(
    async () => {
      for await (const _ of await client.chat.completions.create({ ...once, stream: true }));
    },
    { instanceOf: APIError },
  )
  t.regex(streamed.message, /no model ghost/)
  await world.server.delete('/chats/w')
  const missing = await t.throwsAsync(client.chat.completions.create(once), { instanceOf: APIError })
  t.deepEqual([missing.status, missing.code], [404, 'chat_not_found'])
  t.regex(missing.message, /no chat workspace `w`/)
})

test('the JavaScript SDK sets up a workspace and streams an answer', async (t) => {
  const { server, provider } = await startChats(t, answering)
  const client = new Meilisearch({ host: server.url })
  const settings = {
    ...{ source: 'openAi' as const, orgId: 'o', projectId: 'p', apiVersion: 'v', deploymentId: 'd' },
    ...{ baseUrl: provider.url, apiKey: 'sk-abc...', prompts: { system: 'You answer.' } },
  } as const
  const shown = await client.chat('mine').update(settings)
  t.like(shown, { ...settings, apiKey: 'XXX...', prompts: { system: 'You answer.' } })
  t.deepEqual(await client.chat('mine').get(), shown)
  t.deepEqual((await client.getChatWorkspaces()).results, [{ uid: 'mine' }, { uid: 'w' }])
  const asked = { model: 'gpt-4o-mini', stream: true, messages: user, tools: everyTool } as const
  const stream = await client.chat('mine').streamCompletion(asked)
  t.true(stream instanceof ReadableStream)
  const text = await new Response(stream).text()
  t.regex(text, /_meiliSearchSources/)
  t.true(text.endsWith('data: [DONE]\n\n'))
  t.is(provider.calls[0]?.body.messages[0].content, 'You answer.')
  await client.chat('mine').reset()
  t.is((await client.chat('mine').get()).apiKey, null as never)
})
