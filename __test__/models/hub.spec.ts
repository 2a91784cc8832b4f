/**
 * Downloads of models.
 *
 * 1. A model has the files of the hub, in a folder of its revision. The hub is not called again.
 * 2. A cut download continues where it ended, also after a restart. A file with a wrong checksum is discarded.
 * 3. If several processes need a model, one downloads it and the others wait. If it dies, another one continues.
 * 4. A refusal names the model, the file and the remedy, and leaves no model behind.
 */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { hubFolder } from '../../ts/embedding/models/hub.js'
import { type AllowedNetworks, openOutbound } from '../../ts/outbound/index.js'
import { COMMIT, type HubOptions, startHub } from './hub-server.js'

const weights = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7) % 251))
const files: ReadonlyMap<string, Buffer> = new Map([
  ['config.json', Buffer.from('{"model_type":"bert"}')],
  ['1_Pooling/config.json', Buffer.from('{"pooling_mode_cls_token":true}')],
  ['tokenizer.json', Buffer.from('{}')],
  ['model.safetensors', weights],
])

interface WorldOptions extends HubOptions {
  readonly files?: ReadonlyMap<string, Buffer>
  readonly allowedNetworks?: AllowedNetworks
  readonly token?: string
  readonly staleMs?: number
}

async function world(
  t: ExecutionContext,
  { allowedNetworks, token, staleMs, ...options }: WorldOptions = {},
) {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-models-'))
  const stored = async (end: number): Promise<void> => {
    for (;;) {
      const [part] = await parts(directory)
      if (part !== undefined && (await stat(join(directory, part))).size === end) return
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  const hub = await startHub(t, options.files ?? files, { stored, ...options })
  const outbound = openOutbound({ allowedNetworks: allowedNetworks ?? ['127.0.0.0/8'] })
  t.teardown(async () => {
    await outbound.close()
    await rm(directory, { recursive: true, force: true })
  })
  const lines: string[] = []
  const setup = {
    outbound,
    directory,
    hubUrl: hub.url,
    hubToken: token ?? null,
    report: (line: string) => void lines.push(line),
    wait: async () => undefined,
    ...(staleMs !== undefined && { lockStaleMs: staleMs }),
  }
  const get = (model = 'org/tiny', revision: string | null = null, signal = new AbortController().signal) =>
    hubFolder(setup, { model, revision }, signal)
  return { hub, directory, lines, get }
}

/** The lock of a process that downloads `org/tiny`. */
const lockIn = (directory: string): string => join(directory, 'hub/org--tiny/main%lock')

const parts = async (directory: string): Promise<readonly string[]> =>
  (await readdir(directory, { recursive: true })).filter((path) => path.endsWith('.part'))

test('a model is downloaded once, with all files of the same commit', async (t) => {
  const { hub, directory, lines, get } = await world(t)
  const folder = await get()
  t.is(folder, join(directory, 'hub', 'org--tiny', 'main'))
  for (const [name, content] of files) t.deepEqual(await readFile(join(folder, name)), content, name)
  t.is(hub.asked('config.json')[0]?.path, '/org/tiny/resolve/main/config.json')
  t.is(hub.asked('model.safetensors')[0]?.path, `/org/tiny/resolve/${COMMIT}/model.safetensors`)
  const { length } = hub.requests
  t.is(await get(), folder)
  t.is(hub.requests.length, length)
  t.true(lines.some((line) => line.startsWith('downloading model.safetensors of org/tiny: ')))
  t.is(lines.at(-1), 'the model org/tiny is downloaded')
})

test('revisions have separate folders, and a model needs no pooling file', async (t) => {
  const { get } = await world(t, { files: new Map([...files].filter(([name]) => !name.includes('Pooling'))) })
  const [main, other] = [await get(), await get('org/tiny', 'v2')]
  t.not(main, other)
  t.false(existsSync(join(other, '1_Pooling', 'config.json')))
  t.true(existsSync(join(other, 'model.safetensors')))
})

test('a cut download continues where it ended, until the file is complete', async (t) => {
  const { hub, directory, get } = await world(t, { cuts: [100_000, 50_000] })
  const folder = await get()
  t.deepEqual(await readFile(join(folder, 'model.safetensors')), weights)
  const ranges = hub.asked('/storage').map(({ range }) => range)
  t.deepEqual(ranges, [undefined, 'bytes=100000-', 'bytes=150000-'])
  t.deepEqual(await parts(directory), [])
})

test('a partial file is kept after too many cuts, and a later start continues it', async (t) => {
  const { hub, get } = await world(t, { cuts: [10_000, 10, 10, 10, 10, 10] })
  const { message } = await t.throwsAsync(get())
  t.regex(message, /`model.safetensors` cannot be downloaded: .*cannot be reached/)
  await get()
  t.is(hub.asked('/storage').at(-1)?.range, 'bytes=10050-')
})

test('a partial file is discarded if the hub has replaced the file', async (t) => {
  const other = Buffer.alloc(weights.length, 1)
  const replaced = new Map(files)
  const { hub, get, directory } = await world(t, { cuts: [20_000, 1, 1, 1, 1, 1], files: replaced })
  await t.throwsAsync(get())
  replaced.set('model.safetensors', other)
  t.deepEqual(await readFile(join(await get(), 'model.safetensors')), other)
  t.deepEqual(await parts(directory), [])
  t.deepEqual(
    hub
      .asked('/storage')
      .slice(-2)
      .map(({ range }) => range),
    ['bytes=20005-', undefined],
  )
})

test('a file with a wrong checksum is refused and removed', async (t) => {
  const { directory, get } = await world(t, { checksum: 'ab'.repeat(32) })
  const { message } = await t.throwsAsync(get())
  t.regex(message, /`model.safetensors` arrived with another checksum than the hub names, `abab/)
  t.deepEqual(await parts(directory), [])
  t.false(existsSync(join(directory, 'hub', 'org--tiny', 'main')))
})

test('a small file is checked against its git hash', async (t) => {
  const { get } = await world(t, {
    answer({ path }, response) {
      if (!path.endsWith('/tokenizer.json')) return false
      response.writeHead(200, { etag: `"${'12'.repeat(20)}"` }).end('{}')
      return true
    },
  })
  t.regex((await t.throwsAsync(get())).message, /`tokenizer.json` arrived with another checksum/)
})

const without = (name: string) => new Map([...files].filter(([other]) => other !== name))

for (const [what, options, model, revision, message] of [
  ['an unknown model', {}, 'org/other', null, /^the hub has no model `org\/other` at the revision `main`$/],
  ['an unknown revision', {}, 'org/tiny', 'v9', /^the hub has no model `org\/tiny` at the revision `v9`$/],
  [
    'a model without safetensors',
    { files: without('model.safetensors') },
    'org/tiny',
    null,
    /^the hub has no `model.safetensors` for `org\/tiny` .*weights in other formats are not supported$/,
  ],
  ['a path as a model', {}, '../secret', null, /^`\.\.\/secret` is no model: expected a repository/],
  ['a URL as a model', {}, 'http://a/b', null, /is no model/],
  ['a path as a revision', {}, 'org/tiny', 'a/../../b', /^`a\/\.\.\/\.\.\/b` is no revision/],
  [
    'a hub at an address that is not public',
    { allowedNetworks: [] },
    'org/tiny',
    null,
    /`config.json` cannot be downloaded: .*--experimental-allowed-ip-networks/,
  ],
  [
    'a redirect to an address that is not public',
    { storage: 'http://10.1.2.3/weights' },
    'org/tiny',
    null,
    /`model.safetensors` cannot be downloaded: `10.1.2.3` leads to an address that is not public/,
  ],
] as const satisfies readonly (readonly [string, WorldOptions, string, string | null, RegExp])[]) {
  test(`${what} is refused`, async (t) => {
    const { get } = await world(t, options)
    const error = await t.throwsAsync(get(model, revision))
    t.is(error.name, 'ModelError')
    t.regex(error.message, message)
  })
}

test('a file above the size limit is refused before it is downloaded', async (t) => {
  const { directory, get } = await world(t, {
    answer({ path }, response) {
      if (!path.endsWith('/config.json')) return false
      response.writeHead(200, { 'content-length': 2 ** 40 }).write('{}')
      return true
    },
  })
  t.regex((await t.throwsAsync(get())).message, /`config.json` is larger than the limit of 1048576 bytes/)
  t.deepEqual(await parts(directory), [])
})

test('a token is sent to the hub but not to redirect targets, and an error names a missing token', async (t) => {
  const storage = await startHub(t, files)
  const isClosed: HubOptions['answer'] = ({ authorization }, response) => {
    if (authorization === 'Bearer hf_x') return false
    response.writeHead(401).end()
    return true
  }
  const open = await world(t, { token: 'hf_x', answer: isClosed, storage: `${storage.url}/storage` })
  await open.get()
  t.deepEqual(
    storage.requests.map(({ authorization }) => authorization),
    [undefined],
  )
  const closed = await world(t, { answer: isClosed })
  t.regex((await t.throwsAsync(closed.get())).message, /does not give out `org\/tiny` .*SVC_MODEL_HUB_TOKEN/)
})

test('an aborted download ends at once', async (t) => {
  const giving = new AbortController()
  const { get } = await world(t, {
    answer({ path }, response) {
      if (path !== '/storage') return false
      response.writeHead(200, { 'content-length': weights.length }).write(weights.subarray(0, 1000))
      giving.abort()
      return true
    },
  })
  const error = await t.throwsAsync(get('org/tiny', null, giving.signal))
  t.is((error as { fault?: string }).fault, 'aborted')
})

test('concurrent calls for a model download it once', async (t) => {
  const { hub, directory, lines, get } = await world(t)
  const folders = await Promise.all([get(), get(), get()])
  t.deepEqual([...new Set(folders)], [join(directory, 'hub/org--tiny/main')])
  t.is(hub.asked('model.safetensors').length, 1)
  t.is(
    lines.filter((line) => line === 'another process downloads the model org/tiny: waiting for it').length,
    2,
  )
  t.deepEqual(await readdir(join(directory, 'hub/org--tiny')), ['main'])
})

test('a download of a dead process is taken over, and that of a living process is waited for', async (t) => {
  const { directory, get } = await world(t, { staleMs: 2_000 })
  await mkdir(lockIn(directory), { recursive: true })
  const stop = new AbortController()
  // The heartbeat of the other process.
  const beat = setInterval(() => void utimes(lockIn(directory), new Date(), new Date()), 20)
  const waiting = get('org/tiny', null, stop.signal)
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  t.false(existsSync(join(directory, 'hub/org--tiny/main')))
  stop.abort()
  await t.throwsAsync(waiting)
  clearInterval(beat)
  t.deepEqual(await readFile(join(await get(), 'model.safetensors')), weights)
  t.false(existsSync(lockIn(directory)))
})
