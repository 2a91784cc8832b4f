/** Dumps and snapshots carry workspaces of chats with their keys. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { LaunchError } from '../../ts/launch/index.js'
import { says, startChatProvider } from '../support/chat-provider.js'
import { startServer } from '../support/server.js'
import { archiveOf, metadata, tempDir } from './archives.js'
import { place, sourceOf } from './import.js'

const features = ['chatCompletions'] as const
const apiKey = 'sk-test-placeholder-api-key'
const allowedNetworks = ['127.0.0.0/8']

for (const kind of ['dump', 'snapshot'] as const)
  test(`a ${kind} carries workspaces with their keys`, async (t) => {
    const provider = await startChatProvider(t, () => says('ok'))
    const source = await sourceOf(t, { features })
    const settings = { source: 'vLlm', baseUrl: provider.url, apiKey, limits: { rounds: 2 } }
    const prompts = { system: 'You answer.' }
    const { body: shown } = await source.server.patch('/chats/w/settings', { ...settings, prompts })
    await source.server.patch('/chats/other/settings', {})
    await source.server.patch('/chats/gone/settings', {})
    await source.server.delete('/chats/gone')
    const archive = await source[kind]()
    const { directory, start } = await place(t)
    await start(archive, { kind })
    const server = await startServer(t, { directory, features, allowedNetworks })
    await server.patch('/experimental-features', { chatCompletions: true })
    t.deepEqual((await server.get('/chats')).body.results, [{ uid: 'other' }, { uid: 'w' }] as never)
    t.deepEqual((await server.get('/chats/w/settings')).body, shown)
    await server.post('/chats/w/chat/completions', { model: 'm', messages: [], stream: true })
    t.is(provider.calls[0]?.headers.authorization, `Bearer ${apiKey}`)
  })

const entry = (content: object) => ({
  path: 'chat-completions-settings/w.json',
  content: JSON.stringify(content),
})

test('a dump of another service may omit prompts, and an unknown source is named', async (t) => {
  const archive = join(await tempDir(t), 'theirs.dump')
  const { directory, start } = await place(t)
  await writeFile(archive, archiveOf([metadata, entry({ source: 'gemini' })]))
  const error = await t.throwsAsync(start(archive), { instanceOf: LaunchError })
  t.regex(error.message, /chat-completions-settings\/w\.json.*gemini/)
  const theirs = {
    source: 'mistral',
    orgId: null,
    baseUrl: 'https://m.example',
    apiKey,
    more: 1,
    prompts: { system: 's' },
  }
  await writeFile(archive, archiveOf([metadata, entry(theirs)]))
  await start(archive)
  const server = await startServer(t, { directory, features })
  await server.patch('/experimental-features', { chatCompletions: true })
  const { body } = await server.get('/chats/w/settings')
  t.like(body, { source: 'mistral', orgId: null, baseUrl: 'https://m.example', apiKey: 'sk-XXXXX...' })
  const prompts = body.prompts as Readonly<Record<string, string>>
  t.is(prompts.system, 's')
  t.regex(prompts.searchQParam ?? '', /Words/)
})
