import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import test, { type ExecutionContext } from 'ava'
import { open } from '../../../ts/index.js'
import { callTool, filmSettings, films, keyFor, masterKey, startFilms } from '../../mcp/world.js'
import { runCommand } from '../../support/command.js'
import { program } from '../../support/program.js'
import { startServer, testEngine } from '../../support/server.js'

interface Started {
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly era?: 'legacy' | 'modern'
}

async function connect(t: ExecutionContext, { args, env = {}, era = 'modern' }: Started): Promise<Client> {
  const mode = era === 'legacy' ? ('legacy' as const) : { pin: '2026-07-28' }
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [program, 'mcp', ...args],
      env: { ...(process.env as Record<string, string>), ...env },
    }),
  )
  t.teardown(() => client.close())
  return client
}

const search = { queries: [{ indexUid: 'films', q: 'atlas' }] }

test('siftd mcp serves a running server with the rights of its key, in both eras', async (t) => {
  const server = await startFilms(t, { masterKey, features: [] })
  const { key } = await keyFor(server, ['search'])
  for (const era of ['legacy', 'modern'] as const) {
    const client = await connect(t, { args: ['--url', server.url], env: { SVC_KEY: key }, era })
    t.deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      ['listIndexes', 'describeIndex', 'searchInIndexes', 'facetSearch', 'getDocuments', 'explainHit'],
    )
    t.is((await callTool(client, 'searchInIndexes', search)).value.results[0].hits[0].id, 1)
    t.is((await callTool(client, 'describeIndex', { indexUid: 'films' })).value.numberOfDocuments, 30)
    const refused = await callTool(client, 'getDocuments', { indexUid: 'films', ids: [1] })
    t.deepEqual([refused.isError, refused.value.code], [true, 'invalid_api_key'])
  }
})

test('siftd mcp opens a data directory, and writes only with --writes', async (t) => {
  const parent = await mkdtemp(join(tmpdir(), 'siftd-mcp-'))
  t.teardown(() => rm(parent, { recursive: true, force: true }))
  const directory = join(parent, 'data.ms')
  const siftd = await open({ directory, engine: testEngine })
  await siftd.index('films').updateSettings(filmSettings)
  const { taskUid } = await siftd.index('films').addDocuments(await films())
  t.is((await siftd.waitForTask(taskUid)).status, 'succeeded')
  await siftd.close()
  const documents = [{ id: 100, title: 'Atlas of Zebras' }]
  const reader = await connect(t, { args: ['--db-path', directory] })
  t.is((await callTool(reader, 'searchInIndexes', search)).value.results[0].hits[0].id, 1)
  t.true((await callTool(reader, 'addDocuments', { indexUid: 'films', documents })).isError)
  await reader.close()
  const writer = await connect(t, { args: ['--db-path', directory, '--writes'] })
  const added = await callTool(writer, 'addDocuments', { indexUid: 'films', documents })
  t.is(added.value.status, 'succeeded', added.text)
  t.is((await callTool(writer, 'getDocuments', { indexUid: 'films', ids: [100] })).value.results.length, 1)
})

test('the standard output holds messages alone, and the end of the input ends the program with 0', async (t) => {
  const server = await startServer(t)
  const messages = [
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/list' },
  ]
  const child = spawn(process.execPath, [program, 'mcp', '--url', server.url], { stdio: 'pipe' })
  let [out, errors] = ['', '']
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  for (const message of messages) child.stdin.write(`${JSON.stringify(message)}\n`)
  child.stdin.write('not json\n')
  child.stdout.on('data', (chunk) => {
    out += chunk
    if (out.includes('"id":2')) child.stdin.end()
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  t.is(code, 0, errors)
  const answers = out.trim().split('\n')
  for (const line of answers) t.is((JSON.parse(line) as { jsonrpc: string }).jsonrpc, '2.0')
  t.true(answers.length >= 2)
})

test('a server that does not run is named in the answer of a tool, without its key', async (t) => {
  const env = { SVC_KEY: 'a-secret-key' }
  const client = await connect(t, { args: ['--url', 'http://127.0.0.1:9'], env })
  const { isError, text } = await callTool(client, 'searchInIndexes', search)
  t.true(isError)
  t.regex(text, /127\.0\.0\.1:9.*running/)
  t.false(text.includes('a-secret-key'))
})

test('--db-path excludes a server and a key', async (t) => {
  const { code, errors } = await runCommand(['mcp', '--db-path', 'x', '--url', 'http://localhost:1'])
  t.is(code, 2)
  t.regex(errors.join(), /--db-path excludes --url/)
})

test('--mcp-allowed-origins lets pages of that origin call', async (t) => {
  const wrong = await runCommand(['--mcp-allowed-origins', 'not an origin'])
  t.is(wrong.code, 2)
  t.regex(wrong.errors.join(), /https:\/\/example\.com/)
  const server = await startFilms(t, { mcpAllowedOrigins: ['https://a.example'] })
  await server.patch('/indexes/films/settings', filmSettings)
  const { status } = await server.post(
    '/mcp',
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { headers: { origin: 'https://a.example' } },
  )
  t.is(status, 200)
})
