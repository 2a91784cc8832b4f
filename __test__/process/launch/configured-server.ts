/** A server with nearly every option set, through every source, to test the effect of each. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { program, sharedCode } from '../../support/program.js'
import { type Call, startProvider } from '../../support/provider.js'
import { type Receiver, startReceiver } from '../../support/receiver.js'
import type { TestBody } from '../../support/server.js'
import { askToStop, stopChannel } from '../../support/stopping.js'

export interface Configured {
  readonly engine: string
  readonly directory: string
  readonly url: string
  /** URL of an embedding provider: `/silent` never answers, `/broken` answers with 500. */
  readonly provider: string
  readonly receiver: Receiver
  calls(): readonly Call[]
  /** Its log and start screen so far. */
  log(): string
  call(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly body: TestBody }>
  text(path: string): Promise<string>
  /** Waits for the task of an answer. @returns the finished task */
  finished(answer: { readonly body: TestBody }): Promise<TestBody>
  stop(): Promise<number | null>
}

export const KEY = 'a master key of enough bytes'

export async function startConfigured(t: ExecutionContext, engine: string): Promise<Configured> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const receiver = await startReceiver(t, () => 204)
  const provider = await startProvider(t, async ({ path, body }) => {
    if (path === '/silent' || path === '/multi-search') return null
    if (path === '/broken') return { status: 500, text: 'broken' }
    if (path === '/rank') return { results: [] }
    if (path === '/otlp/v1/traces') return {}
    const { input } = body as { readonly input: readonly unknown[] }
    if (path === '/openai') return { data: input.map(() => ({ embedding: [1, 2] })) }
    return { embeddings: input.map(() => [1, 2]) }
  })
  await writeFile(join(directory, 'master.key'), `${KEY}\n`)
  await writeFile(
    join(directory, 'settings.toml'),
    ['snapshots_kept = 2', 'schedule_snapshot = 1', 'snapshot_dir = "my-snapshots"'].join('\n'),
  )
  const common = [
    '--db-path',
    'store.ms',
    '--http-addr',
    '127.0.0.1:0',
    '--engine',
    engine,
    '--master-key-file',
    'master.key',
  ]
  const args = [
    ...['--config-file-path', 'settings.toml', '--env', 'production', '--dump-dir', 'my-dumps'],
    ...['--http-payload-size-limit', '10KiB', '--cache-size', '48MiB', '--answer-cache-size', '0'],
    ...[
      '--experimental-max-number-of-batched-tasks',
      '2',
      '--experimental-limit-batched-tasks-total-size',
      '2000',
    ],
    ...['--experimental-no-edition-2024-for-settings', '--experimental-no-edition-2024-for-dumps'],
    ...['--experimental-no-snapshot-compaction', '--experimental-search-queue-size', '37'],
    ...['--experimental-embedding-cache-entries', '10'],
    ...[
      '--experimental-personalization-api-key',
      'key-of-ranking',
      '--task-webhook-url',
      `${receiver.url}/hook`,
    ],
    ...['--experimental-personalization-url', `${provider.url}/rank`],
    ...['--experimental-personalization-model', 'ranker'],
    ...['--otlp-endpoint', `${provider.url}/otlp`, '--otlp-headers', 'x-key=of-the-collector'],
    ...['--otlp-sample-ratio', '0', '--otlp-query-text'],
    ...['--task-webhook-authorization-header', 'Bearer of-the-hook', '--no-analytics'],
    ...['--experimental-allowed-ip-networks', '127.0.0.0/8', '--log-level', 'WARN', '--log-format', 'JSON'],
    ...[
      '--experimental-enable-metrics',
      '--experimental-enable-logs-route',
      '--experimental-contains-filter',
    ],
    ...['--mcp', '--mcp-writes'],
    ...['--experimental-legacy-search-default', '--slow-query-ms', '0', '--query-stats', '--hash-query-text'],
  ]
  const env = {
    MEILI_TASK_STORE_DRIVER: 'node-sqlite3-wasm',
    MEILI_EXPERIMENTAL_REMOTE_SEARCH_TIMEOUT_SECONDS: '1',
    SVC_OPENAI_API_KEY: 'key-of-openai',
    SVC_OLLAMA_URL: `${provider.url}/mine/api/embed`,
    SVC_EXPERIMENTAL_REST_EMBEDDER_TIMEOUT_SECONDS: '1',
    SVC_EXPERIMENTAL_REST_EMBEDDER_MAX_RETRY_DURATION_SECONDS: '1',
  }
  await mkdir(join(directory, 'config'))
  const server = await start(t, directory, [...common, ...args], env)

  const call: Configured['call'] = async (method, path, body) => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const answer = await fetch(server.url + path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as TestBody }
  }
  const finished: Configured['finished'] = async ({ body }) => {
    for (;;) {
      const task = (await call('GET', `/tasks/${body.taskUid}`)).body
      if (task.finishedAt !== null) return task
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const embedders = {
    ollama: { source: 'ollama', model: 'any', dimensions: 2, documentTemplate: '{{doc.text}}' },
    openai: {
      source: 'openAi',
      url: `${provider.url}/openai`,
      dimensions: 2,
      documentTemplate: '{{doc.text}}',
    },
  }
  await finished(await call('PATCH', '/indexes/meanings/settings', { embedders, searchCutoffMs: 30_000 }))
  const added = await finished(await call('POST', '/indexes/meanings/documents', [{ id: 1, text: 'a film' }]))
  t.is(added.status, 'succeeded', JSON.stringify(added.error))
  await finished(await call('POST', '/indexes/films/documents', [{ id: 1, text: 'solaris' }]))
  await call('PATCH', '/experimental-features', { network: true })
  await call('PATCH', '/network', { self: 'here', remotes: { silent: { url: provider.url } } })
  return {
    ...server,
    engine,
    directory,
    provider: provider.url,
    receiver,
    calls: () => provider.calls,
    call,
    text: async (path) =>
      (await fetch(server.url + path, { headers: { authorization: `Bearer ${KEY}` } })).text(),
    finished,
  }
}

/** Starts a server in a directory without outside configuration, and waits until it listens. */
async function start(
  t: ExecutionContext,
  cwd: string,
  args: readonly string[],
  more: NodeJS.ProcessEnv,
): Promise<Pick<Configured, 'url' | 'log' | 'stop'>> {
  const env = {
    PATH: process.env.PATH,
    HOME: cwd,
    XDG_CONFIG_HOME: join(cwd, 'config'),
    ...sharedCode,
    ...more,
  }
  const child: ChildProcess = spawn(process.execPath, [program, ...args], {
    cwd,
    env,
    stdio: ['ignore', 'ignore', 'pipe', ...stopChannel],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let log = ''
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr?.on('data', (chunk: Buffer) => {
      log += chunk.toString()
      const listening = /Server listening on: +"([^"]+)"[\s\S]*Master key:/.exec(log)
      if (listening !== null) resolve(listening[1]!)
    })
    void ended.then((code) => reject(new Error(`ended with ${code}: ${log}`)))
  })
  return {
    url,
    log: () => log,
    stop() {
      askToStop(child)
      return ended
    },
  }
}
