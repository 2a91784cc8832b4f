/** Effects of launch options on a server in this process. `effects.spec.ts` tests the other options on a daemon. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { httpOptions } from '../../ts/cli/serve.js'
import { storedTasksMax } from '../../ts/instance/index.js'
import { LaunchError, parseLaunchOptions, withoutEffect } from '../../ts/launch/index.js'
import { directoryOf, manifestOf } from '../support/index-files.js'
import { startProvider } from '../support/provider.js'
import { nativeEngine } from '../support/requirements.js'
import { testNeeding } from '../support/test-needing.js'
import { newDirectory, startServed } from './served.js'

const fallback = ['--engine', 'fallback']
const local = ['--experimental-allowed-ip-networks', '127.0.0.0/8']

/** The options of each kind of archive: for the import, for a missing archive, and for existing data. */
const imports = [
  ['--import-dump', '--ignore-missing-dump', '--ignore-dump-if-db-exists'],
  ['--import-snapshot', '--ignore-missing-snapshot', '--ignore-snapshot-if-db-exists'],
] as const

for (const [imported, ignoreMissing, ignoreIfData] of imports)
  test(`${imported} requires an archive and no data, unless options ignore that`, async (t) => {
    const directory = await newDirectory(t)
    const archive = [...fallback, imported, join(directory, 'absent')]
    const refused = async (args: readonly string[], message: RegExp): Promise<void> => {
      await t.throwsAsync(startServed(t, directory, args), { instanceOf: LaunchError, message })
    }
    await refused(archive, /absent/)
    await refused([...archive, ignoreIfData], /absent/)
    t.false(existsSync(join(directory, 'data.ms')))
    const first = await startServed(t, directory, [...archive, ignoreMissing])
    t.is((await first.settle('POST', '/indexes', { uid: 'kept' })).status, 'succeeded')
    await first.stop()
    await refused([...archive, ignoreMissing], /holds data already/)
    const second = await startServed(t, directory, [...archive, ignoreMissing, ignoreIfData])
    t.is((await second.call('GET', '/indexes/kept')).status, 200)
  })

test('--experimental-config-embedder-failure-modes accepts documents whose vectors cannot be made', async (t) => {
  const provider = await startProvider(t, () => ({ status: 400, text: 'no' }))
  const embedder = {
    source: 'rest',
    url: provider.url,
    request: { input: '{{text}}' },
    response: { data: '{{embedding}}' },
    dimensions: 2,
    documentTemplate: '{{doc.text}}',
  }
  const outcome = async (env: Readonly<Record<string, string>>) => {
    const server = await startServed(t, await newDirectory(t), [...fallback, ...local], { env })
    const set = await server.settle('PATCH', '/indexes/films/settings', { embedders: { e: embedder } })
    t.is(set.status, 'succeeded', JSON.stringify(set.error))
    const { status, error } = await server.settle('POST', '/indexes/films/documents', [{ id: 1, text: 'a' }])
    return [status, error?.code]
  }
  t.deepEqual(await outcome({}), ['failed', 'vector_embedding_error'])
  const ignoring = { SVC_EXPERIMENTAL_CONFIG_EMBEDDER_FAILURE_MODES: 'ignore_embedder_failures' }
  t.deepEqual(await outcome(ignoring), ['succeeded', undefined])
})

/** `http/search-queue.spec.ts` tests how these limits refuse searches. */
test('--experimental-nb-searches-per-core counts for each core, --experimental-drop-search-after in seconds', (t) => {
  const machine = { memoryBytes: 1e9, cores: 3 }
  const args = ['--experimental-nb-searches-per-core', '5', '--experimental-drop-search-after', '7']
  const launch = parseLaunchOptions({ args, env: {}, readFile: () => null, machine })
  if (launch.kind !== 'run') return t.fail('no arguments ask for help')
  t.like(httpOptions(launch, machine), { searchesRunningMax: 15, searchWaitMsMax: 7_000 })
})

test('requests to a bucket are signed for --bucket-region', async (t) => {
  const signatures: string[] = []
  const store = createServer((request, response) => {
    signatures.push(String(request.headers.authorization))
    response.writeHead(403).end()
  }).listen(0, '127.0.0.1')
  t.teardown(() => store.close())
  await once(store, 'listening')
  const endpoint = `http://127.0.0.1:${(store.address() as AddressInfo).port}`
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' })
  const bucket = ['--bucket', 's3://films', '--bucket-endpoint', endpoint, '--bucket-region', 'moon-1']
  await t.throwsAsync(startServed(t, await newDirectory(t), [...fallback, ...local, ...bucket]), {
    message: /403/,
  })
  t.regex(String(signatures[0]), /Credential=id\/\d{8}\/moon-1\/s3\/aws4_request/)
})

test('--experimental-replication-parameters keeps all tasks', (t) => {
  const stored = (...args: string[]): number | undefined => {
    const machine = { memoryBytes: 1e9, cores: 1 }
    const launch = parseLaunchOptions({ args, env: {}, readFile: () => null, machine })
    if (launch.kind !== 'run') throw new Error('no arguments ask for help')
    t.deepEqual(withoutEffect(launch.given, 'native'), [])
    return storedTasksMax(launch.options)
  }
  t.is(stored(), 1_000_000)
  t.is(stored('--experimental-replication-parameters'), Number.POSITIVE_INFINITY)
})

/** Documents without common words, so that a segment soon reaches its memory limit. */
const documents = Array.from({ length: 6_000 }, (_, id) => ({
  id,
  text: Array.from({ length: 30 }, (_, word) => `w${(id * 30 + word).toString(36)}`).join(' '),
}))

/** Returns the number of segments that the native engine creates for a batch of all documents. */
async function segments(t: ExecutionContext, ...args: readonly string[]): Promise<number> {
  const directory = await newDirectory(t)
  const server = await startServed(t, directory, ['--engine', 'native', ...args])
  const task = await server.settle('POST', '/indexes/words/documents', documents)
  t.like(task, { status: 'succeeded', details: { indexedDocuments: documents.length } })
  const index = await directoryOf(join(directory, 'data.ms'), 'words')
  return (await manifestOf(index)).segments.length
}

testNeeding([nativeEngine])('native: each of --max-indexing-threads writes a segment', async (t) => {
  t.is(await segments(t, '--max-indexing-threads', '1'), 1)
  t.is(await segments(t, '--max-indexing-threads', '3'), 3)
})

testNeeding([nativeEngine])(
  'native: --max-indexing-memory bounds a segment, --experimental-reduce-indexing-memory-usage to a quarter',
  async (t) => {
    const one = ['--max-indexing-threads', '1', '--max-indexing-memory']
    const reduced = '--experimental-reduce-indexing-memory-usage'
    const [large, small] = [await segments(t, ...one, '2GiB'), await segments(t, ...one, '64MiB')]
    t.is(large, 1)
    t.true(small > 1, `${small} segments`)
    t.is(await segments(t, ...one, '256MiB', reduced), small)
    t.not(await segments(t, ...one, '256MiB'), small)
  },
)
