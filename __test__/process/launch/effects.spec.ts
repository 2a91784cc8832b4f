/** Tests the effect of each launch option. Every row of the option table needs an entry here. */
import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { ruleBudgets } from '../../../ts/instance/launch-features.js'
import { type OptionName, parseLaunchOptions } from '../../../ts/launch/index.js'
import { flagsOf, snake, variablesOf } from '../../../ts/launch/names.js'
import { rowOf, rows } from '../../../ts/launch/table.js'
import { defaultRuleBudgets } from '../../../ts/tasks/index.js'
import { nativeEngine } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'
import { type Configured, KEY, startConfigured } from './configured-server.js'

type Check = (t: ExecutionContext, server: Configured) => unknown

/** A check of the server with all options set, or the spec file that sets the option and tests its effect. */
type Effect = Check | { readonly seenIn: string }

const served: Effect = { seenIn: 'launch/served-effects.spec.ts' }
const budget: Effect = { seenIn: 'launch/effects.spec.ts' }
const handshake: Effect = { seenIn: 'tls/handshake.spec.ts' }

/** Waits until the log has this line: an answer can arrive before the line about it. */
async function logged({ log }: Configured, line: RegExp): Promise<void> {
  for (let round = 0; round < 600; round++) {
    if (line.test(log())) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`the log lacks ${line}`)
}

const has =
  (line: RegExp): Check =>
  (_, server) =>
    logged(server, line)

const succeeds =
  (method: string, path: string, body?: unknown): Check =>
  async (t, { call }) =>
    t.true((await call(method, path, body)).status < 300)

const feature =
  (name: string): Check =>
  async (t, { call }) =>
    t.true((await call('GET', '/experimental-features')).body[name])

const metric =
  (name: string, value: number): Check =>
  async (t, { text }) =>
    t.regex(await text('/metrics'), new RegExp(`^${name} ${value}$`, 'm'))

/** The service is called at its address, with its key and its model. */
const personalized: Check = async (t, { call, calls }) => {
  const search = { q: 'film', personalize: { userContext: 'likes long films' } }
  t.is((await call('POST', '/indexes/meanings/search', search)).status, 200)
  const asked = calls().find(({ path }) => path === '/rank')
  t.is(asked?.headers.authorization, 'Bearer key-of-ranking')
  t.like(asked?.body, { model: 'ranker' })
}

/** Only the traces of callers are recorded, with the texts of queries, and sent with a header. */
const traced: Check = async (t, { url, call, calls }) => {
  await call('GET', '/health')
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const headers = { authorization: `Bearer ${KEY}`, traceparent: `00-${trace}-00f067aa0ba902b7-01` }
  t.is((await fetch(`${url}/indexes/films/search?q=traced`, { headers })).status, 200)
  const sent = () => calls().filter(({ path }) => path === '/otlp/v1/traces')
  while (!JSON.stringify(sent().map(({ body }) => body)).includes('"stringValue":"traced"'))
    await new Promise((resolve) => setTimeout(resolve, 20))
  t.is(sent()[0]?.headers['x-key'], 'of-the-collector')
  const ids = JSON.stringify(sent().map(({ body }) => body)).matchAll(/"traceId":"(\w+)"/g)
  t.deepEqual([...new Set([...ids].map(([, id]) => id))], [trace])
}

const effects: Readonly<Record<OptionName, Effect>> = {
  placement: { seenIn: 'e2e/cells.spec.ts' },
  cell: { seenIn: 'e2e/cells.spec.ts' },
  dbPath: async (t, { directory }) =>
    t.true((await readdir(join(directory, 'store.ms'))).includes('VERSION')),
  engine: (_, server) => logged(server, new RegExp(`Engine: +"${server.engine} \\(`)),
  upgradeDb: { seenIn: 'e2e/upgrade.spec.ts' },
  upgradeWithoutSnapshot: { seenIn: 'e2e/upgrade.spec.ts' },
  reindexOnUpgrade: { seenIn: 'e2e/reindex.spec.ts' },
  rebuildTaskStore: { seenIn: 'tasks/rebuild.spec.ts' },
  taskStoreDriver: has(/Task store: +"node-sqlite3-wasm"/),
  masterKey: async (t, { url, call }) => {
    t.is((await fetch(`${url}/indexes`)).status, 401)
    t.is((await call('GET', '/indexes')).status, 200)
  },
  env: async (t, { url }) =>
    t.deepEqual(Object.keys((await (await fetch(url)).json()) as object), ['status']),
  page: { seenIn: 'page/serving.spec.ts' },
  httpAddr: has(/Server listening on: +"http:\/\/127\.0\.0\.1:\d+"/),
  httpThreads: { seenIn: 'launch/http-threads.spec.ts' },
  httpPayloadSizeLimit: async (t, { call }) => {
    const { status, body } = await call('POST', '/indexes/films/documents', [
      { id: 1, text: 'x'.repeat(20_000) },
    ])
    t.deepEqual([status, body.code], [413, 'payload_too_large'])
  },
  sslCertPath: handshake,
  sslKeyPath: handshake,
  sslAuthPath: handshake,
  sslOcspPath: handshake,
  sslRequireAuth: handshake,
  sslResumption: handshake,
  sslTickets: handshake,
  maxIndexingMemory: served,
  maxIndexingThreads: served,
  experimentalReduceIndexingMemoryUsage: served,
  cacheSize: metric('siftd_cache_max_bytes', 48 * 2 ** 20),
  answerCacheSize: async (t, { call, text }) => {
    for (const _ of [1, 2, 3]) await call('POST', '/indexes/films/search', { q: 'solaris' })
    t.regex(await text('/metrics'), /^siftd_cache_hits_total\{kind="answers"\} 0$/m)
  },
  experimentalMaxNumberOfBatchedTasks: (t, server) => stopReason(t, server, 10, /limit of 2 tasks/),
  experimentalLimitBatchedTasksTotalSize: (t, server) => stopReason(t, server, 1500, /limit of 2000 bytes/),
  experimentalReplicationParameters: served,
  experimentalNoEdition2024ForSettings: has(/--experimental-no-edition-2024-for-settings has no effect/),
  experimentalNoEdition2024ForDumps: has(/--experimental-no-edition-2024-for-dumps has no effect/),
  experimentalNoSnapshotCompaction: has(/--experimental-no-snapshot-compaction has no effect/),
  experimentalSearchQueueSize: metric('meilisearch_search_queue_size', 37),
  experimentalDropSearchAfter: served,
  experimentalNbSearchesPerCore: served,
  experimentalRemoteSearchTimeoutSeconds: async (t, { call }) => {
    const queries = [{ indexUid: 'films', q: 'a', federationOptions: { remote: 'silent' } }]
    const { body } = await call('POST', '/multi-search', { federation: {}, queries })
    t.like(body.remoteErrors, { silent: { code: 'remote_timeout' } })
  },
  experimentalDsrFuelMaxCountedWords: budget,
  experimentalDsrFuelMaxActiveRules: budget,
  experimentalDsrFuelMaxPinActions: budget,
  experimentalDsrFuelMaxScaleActions: budget,
  experimentalDsrFuelWordFuel: budget,
  experimentalDsrFuelFilterFuel: budget,
  experimentalDsrFuelFilterOrFuel: budget,
  experimentalDsrFuelFilterAndFuel: budget,
  experimentalDsrFuelFilterDepthFuel: budget,
  experimentalEmbeddingCacheEntries: async (t, { call, calls }) => {
    const search = { q: 'asked twice', hybrid: { embedder: 'ollama', semanticRatio: 1 } }
    for (const _ of [1, 2]) t.is((await call('POST', '/indexes/meanings/search', search)).status, 200)
    t.is(calls().filter(({ body }) => JSON.stringify(body).includes('asked twice')).length, 1)
  },
  openaiApiKey: (t, { calls }) => {
    const keys = calls()
      .filter(({ path }) => path === '/openai')
      .map(({ headers }) => headers.authorization)
    t.is(keys[0], 'Bearer key-of-openai')
  },
  ollamaUrl: (t, { calls }) => t.true(calls().some(({ path }) => path === '/mine/api/embed')),
  modelsDir: { seenIn: 'models/options.spec.ts' },
  maxEmbeddingThreads: { seenIn: 'models/options.spec.ts' },
  modelHubUrl: { seenIn: 'models/options.spec.ts' },
  modelHubToken: { seenIn: 'models/options.spec.ts' },
  experimentalRestEmbedderTimeoutSeconds: async (t, server) => {
    const error = await failedEmbedder(server, 'silent')
    t.regex(error, /did not answer within 1000 ms/)
  },
  // With the default retry duration the eleven attempts would take minutes.
  experimentalRestEmbedderMaxRetryDurationSeconds: async (t, server) => {
    await failedEmbedder(server, 'broken')
    t.is(server.calls().filter(({ path }) => path === '/broken').length, 11)
  },
  embedderRequestsPerMinute: { seenIn: 'e2e/request-rate.spec.ts' },
  experimentalConfigEmbedderFailureModes: served,
  experimentalPersonalizationApiKey: personalized,
  experimentalPersonalizationUrl: personalized,
  experimentalPersonalizationModel: personalized,
  dumpDir: async (t, { call, finished, directory }) => {
    await finished(await call('POST', '/dumps'))
    t.regex((await readdir(join(directory, 'my-dumps'))).join(), /\.dump$/)
  },
  importDump: { seenIn: 'compat/instances.spec.ts' },
  ignoreMissingDump: served,
  ignoreDumpIfDbExists: served,
  snapshotDir: snapshots,
  snapshotsKept: snapshots,
  scheduleSnapshot: snapshots,
  importSnapshot: { seenIn: 'compat/instances.spec.ts' },
  bucket: { seenIn: 'e2e/bucket.spec.ts' },
  bucketEndpoint: { seenIn: 'e2e/bucket.spec.ts' },
  bucketRegion: served,
  bucketAck: { seenIn: 'e2e/bucket.spec.ts' },
  bucketInterval: { seenIn: 'e2e/bucket.spec.ts' },
  bucketTakeOver: { seenIn: 'e2e/bucket.spec.ts' },
  bucketSoleWriter: { seenIn: 'e2e/bucket.spec.ts' },
  bucketUntil: { seenIn: 'e2e/bucket.spec.ts' },
  bucketKeyFile: { seenIn: 'e2e/bucket.spec.ts' },
  follow: { seenIn: 'e2e/followers.spec.ts' },
  candidate: { seenIn: 'e2e/failover.spec.ts' },
  followStaleAfter: { seenIn: 'e2e/followers.spec.ts' },
  readConsistency: { seenIn: 'e2e/failover.spec.ts' },
  advertisedUrl: { seenIn: 'e2e/bucket.spec.ts' },
  ignoreMissingSnapshot: served,
  ignoreSnapshotIfDbExists: served,
  taskWebhookUrl: webhook,
  taskWebhookAuthorizationHeader: webhook,
  experimentalAllowedIpNetworks: webhook,
  logLevel: (t, { log }) => t.notRegex(log(), /"level":"INFO"/),
  experimentalLogsMode: has(/^\{"level":"WARN",/m),
  slowQueryMs: async (_, server) => {
    await server.call('POST', '/indexes/films/search', { q: 'solaris' })
    await logged(server, /"route":"[^"]*search".*"stages":\{"wait for turn":/)
  },
  queryStats: succeeds('GET', '/stats/queries'),
  hashQueryText: async (t, server) => {
    const { call, log, text } = server
    await call('POST', '/indexes/films/search', { q: 'confidential' })
    // The first 16 digits of `printf confidential | sha256sum`.
    await logged(server, /"q":"3151084286f59511"/)
    t.regex(await text('/stats/queries'), /3151084286f59511/)
    t.notRegex(log(), /confidential/)
    t.notRegex(await text('/stats/queries'), /confidential/)
  },
  experimentalEnableLogsRoute: succeeds('POST', '/logs/stderr', { target: 'warn' }),
  experimentalEnableMetrics: feature('metrics'),
  otlpEndpoint: traced,
  otlpHeaders: traced,
  otlpSampleRatio: traced,
  otlpQueryText: traced,
  noAnalytics: has(/Telemetry: +"Disabled \(--no-analytics\)"/),
  telemetryUrl: { seenIn: 'e2e/telemetry.spec.ts' },
  telemetryPreview: { seenIn: 'e2e/telemetry.spec.ts' },
  serverProvider: { seenIn: 'reports/world.ts' },
  mcp: feature('mcpRoute'),
  mcpWrites: async (t, { call }) => {
    const { body } = await call('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' })
    t.regex(JSON.stringify(body), /"addDocuments"/)
  },
  mcpAllowedOrigins: { seenIn: 'cli/mcp.spec.ts' },
  experimentalContainsFilter: feature('containsFilter'),
  experimentalLegacySearchDefault: feature('legacySearch'),
  configFilePath: has(/Config file path: +"settings\.toml"/),
}

/** Enqueues tasks until a batch of several tasks has this stop reason. */
async function stopReason(
  t: ExecutionContext,
  { call }: Configured,
  bytes: number,
  reason: RegExp,
): Promise<void> {
  for (let round = 0; round < 50; round++) {
    const documents = [{ id: 1, text: 'x'.repeat(bytes) }]
    await Promise.all(Array.from({ length: 6 }, () => call('POST', '/indexes/films/documents', documents)))
    const { body } = await call('GET', '/batches?limit=50')
    if (body.results.some((batch) => reason.test(String(batch.batchStrategy)))) return
  }
  t.fail(`no batch stopped for ${reason}`)
}

/** Sets an embedder with the faulty provider at `path`. @returns the error message of the task */
async function failedEmbedder({ call, finished, provider }: Configured, path: string): Promise<string> {
  const shape = { request: { input: '{{text}}' }, response: { data: '{{embedding}}' } }
  const embedders = { [path]: { source: 'rest', url: `${provider}/${path}`, ...shape } }
  const task = await finished(await call('PATCH', '/indexes/failing/settings', { embedders }))
  return task.error.message
}

async function snapshots(t: ExecutionContext, { directory }: Configured): Promise<void> {
  for (;;) {
    const names = await readdir(join(directory, 'my-snapshots')).catch(() => [])
    const kept = names.filter((name) => name.endsWith('.snapshot'))
    if (kept.length === 2) {
      t.true(kept.includes('store.ms.snapshot'))
      return
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function webhook(t: ExecutionContext, { receiver }: Configured): Promise<void> {
  await receiver.until(() => receiver.receipts.length > 0)
  t.is(receiver.receipts[0]?.headers.authorization, 'Bearer of-the-hook')
}

for (const engine of ['fallback', 'native']) {
  testNeeding(engine === 'native' ? [nativeEngine] : [])(
    `${engine}: every option takes effect`,
    async (t) => {
      t.timeout(600_000)
      const server = await startConfigured(t, engine)
      const failures: string[] = []
      for (const [name, effect] of Object.entries(effects)) {
        if (typeof effect !== 'function') continue
        // Collects failures, so that all checks run.
        await (async () => effect(t, server))().catch((error: unknown) =>
          failures.push(`${name}: ${String(error)}`),
        )
      }
      t.deepEqual(failures, [])
      t.is(await server.stop(), 0)
    },
  )
}

test('the spec file of each option sets that option', async (t) => {
  const specs = new Map<string, string>()
  const root = fileURLToPath(new URL('../../../../__test__/', import.meta.url))
  for (const path of await readdir(root, { recursive: true }))
    if (path.endsWith('.ts')) specs.set(path.split(sep).join('/'), await readFile(join(root, path), 'utf8'))
  t.deepEqual(Object.keys(effects).sort(), rows.map(([name]) => name as string).sort())
  for (const [name, effect] of Object.entries(effects) as [OptionName, Effect][]) {
    const row = rowOf(name)
    const where = typeof effect === 'function' ? 'launch/configured-server.ts' : effect.seenIn
    const [path, ...others] = [...specs.keys()].filter((one) => `/${one}`.endsWith(`/${where}`))
    t.deepEqual(others, [], where)
    const text = specs.get(path ?? '')
    if (text === undefined) {
      t.fail(`${where} does not exist`)
      continue
    }
    // Matches an argument, variable, configuration line or parsed option, but no comment or message.
    const given = [
      ...flagsOf(name, row).flatMap((flag) => [`'--${flag}'`, `'--${flag}-file'`]),
      ...variablesOf(name, row).flatMap((variable) => [`'${variable}'`, `${variable}: `]),
      `'${snake(name)} = `,
      ...(effect === handshake ? [`${name}: `] : []),
    ]
    t.true(
      given.some((words) => text.includes(words)),
      `${where} gives ${given.join(' or ')}`,
    )
  }
})

/** Variables of the search rule budgets, and the budgets that they set. Effects: `rules/match.spec.ts`. */
const budgets = [
  ['SVC_EXPERIMENTAL_DSR_FUEL_MAX_COUNTED_WORDS', 'countedWordsMax'],
  ['SVC_EXPERIMENTAL_DSR_FUEL_MAX_ACTIVE_RULES', 'activeRulesMax'],
  ['SVC_EXPERIMENTAL_DSR_FUEL_MAX_PIN_ACTIONS', 'pinsMax'],
  ['SVC_EXPERIMENTAL_DSR_FUEL_MAX_SCALE_ACTIONS', 'scalesMax'],
  ['SVC_EXPERIMENTAL_DSR_FUEL_WORD_FUEL', 'wordsMax'],
  ['SVC_EXPERIMENTAL_DSR_FUEL_FILTER_FUEL', 'valuesMax'],
  ['SVC_EXPERIMENTAL_DSR_FUEL_FILTER_OR_FUEL', 'branchesMax'],
  ['SVC_EXPERIMENTAL_DSR_FUEL_FILTER_AND_FUEL', 'equalitiesMax'],
  ['SVC_EXPERIMENTAL_DSR_FUEL_FILTER_DEPTH_FUEL', 'levelsMax'],
] as const

test('each budget of search rules is set by its variable', (t) => {
  const budgetsOf = (env: Readonly<Record<string, string>>) => {
    const machine = { memoryBytes: 1e9, cores: 1 }
    const launch = parseLaunchOptions({ args: [], env, readFile: () => null, machine })
    if (launch.kind !== 'run') throw new Error('unexpected help')
    return ruleBudgets(launch.options)
  }
  t.deepEqual(budgetsOf({}), defaultRuleBudgets)
  for (const [variable, name] of budgets)
    t.deepEqual(budgetsOf({ [variable]: '7' }), { ...defaultRuleBudgets, [name]: 7 })
})
