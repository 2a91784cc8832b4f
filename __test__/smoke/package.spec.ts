import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import test, { type ExecutionContext } from 'ava'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const execute = promisify(execFile)
const shell = process.platform === 'win32'
const npm = (args: readonly string[], cwd: string) => execute('npm', args, { cwd, shell, maxBuffer: 2 ** 26 })

/** Installs the tarballs into an empty folder, as a user does. */
async function installed(t: ExecutionContext): Promise<string> {
  const [tarballs, folder] = await Promise.all([tempDir(t), tempDir(t)])
  await execute(process.execPath, [join(root, 'scripts/pack.mjs'), '--out', tarballs])
  const packed = (await readdir(tarballs)).map((name) => join(tarballs, name))
  t.true(packed.length > 0)
  await npm(['init', '--yes'], folder)
  await npm(['install', '--prefer-offline', '--no-audit', '--no-fund', ...packed], folder)
  return folder
}

async function tempDir(t: ExecutionContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'siftd-package-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  return path
}

/** Starts `npx siftd`. @returns its address and the engine that it reports */
async function serve(
  t: ExecutionContext,
  folder: string,
  data: string,
): Promise<{ url: string; engine: string }> {
  const args = ['--no-install', 'siftd', '--http-addr', '127.0.0.1:0', '--db-path', data]
  const env = { PATH: process.env.PATH, HOME: folder, SystemRoot: process.env.SystemRoot }
  // A separate process group, because npx forwards signals only in the foreground.
  const child = spawn('npx', args, { cwd: folder, env, shell, detached: !shell })
  t.teardown(() => (shell || child.pid === undefined ? child.kill() : process.kill(-child.pid, 'SIGKILL')))
  return new Promise((resolve, reject) => {
    let text = ''
    child.stderr.on('data', (chunk) => {
      text += chunk
      const url = /^Server listening on: +"(.*)"$/m.exec(text)?.[1]
      const engine = /^Engine: +"(\w+) /m.exec(text)?.[1]
      if (url !== undefined && engine !== undefined && text.includes('Master key:')) resolve({ url, engine })
    })
    child.once('close', (code) => reject(new Error(`ended with ${code}: ${text}`)))
  })
}

/** Loads the sample as in the README and runs the README's search with a typo. */
async function searchesTheSample(t: ExecutionContext, url: string): Promise<void> {
  const body = await readFile(join(root, 'samples/films.ndjson'))
  const headers = { 'content-type': 'application/x-ndjson' }
  const sent = await fetch(`${url}/indexes/films/documents?primaryKey=id`, { method: 'POST', headers, body })
  t.is(sent.status, 202)
  const { taskUid } = (await sent.json()) as { taskUid: number }
  for (;;) {
    const task = (await (await fetch(`${url}/tasks/${taskUid}`)).json()) as { status: string; error: unknown }
    if (task.status === 'succeeded') break
    if (task.status === 'failed') return t.fail(JSON.stringify(task.error))
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const answer = await fetch(`${url}/indexes/films/search?q=lihgthouse`)
  const { hits } = (await answer.json()) as { hits: readonly { title: string }[] }
  t.is(hits[0]?.title, "The Lighthouse Keeper's Atlas")
}

test('the packages install into an empty folder, serve and search, with and without native parts', async (t) => {
  t.timeout(170_000)
  const folder = await installed(t)
  await isWithinBudget(t, folder)
  const binaries = await nativeFiles(folder)
  const engines = binaries.filter((path) => path.includes('siftd-engine'))
  const whole = await serve(t, folder, join(folder, 'whole'))
  t.is(whole.engine, engines.length > 0 ? 'native' : 'fallback')
  await searchesTheSample(t, whole.url)

  await isTypedInside(t, folder)

  await Promise.all(binaries.map((path) => rm(path)))
  const bare = await serve(t, folder, join(folder, 'bare'))
  t.is(bare.engine, 'fallback')
  await searchesTheSample(t, bare.url)
})

/** Maximum size of the installed server package. Detects libraries that are bundled by mistake. */
const PACKAGE_BYTES_MAX = 10.9e6

/** Required texts in the notices of a package, by the name of the package. */
const credited: Readonly<Record<string, readonly string[]>> = {
  siftd: ['fastify ', 'undici ', 'pino ', 'preact ', 'of pinyin-pro '],
  '@siftd/embed-linux-x64-gnu': ['candle-core ', 'tokenizers '],
  '@siftd/linux-x64-gnu': [
    'tantivy ',
    'usearch ',
    'charabia ',
    'irg-kvariants ',
    'German word list',
    'of pinyin-pro ',
    'c_src/mimalloc',
    'zstd/LICENSE',
  ],
}

/** Checks the size of the server's package, and the third-party notices of each package. */
async function isWithinBudget(t: ExecutionContext, folder: string): Promise<void> {
  const modules = join(folder, 'node_modules')
  const own = await readdir(join(modules, 'siftd'), { recursive: true, withFileTypes: true })
  const files = own.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const sizes = await Promise.all(files.map(async (path) => (await stat(path)).size))
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  t.true(bytes <= PACKAGE_BYTES_MAX, `${bytes} bytes`)
  // The package for PostgreSQL contains no third-party code: npm installs its library. Those of words have a licence file.
  const scoped = (await readdir(join(modules, '@siftd')).catch(() => [])).filter(
    (name) => name !== 'sync-postgres' && !name.startsWith('words-'),
  )
  const engines = scoped.map((name) => `@siftd/${name}`)
  for (const name of ['siftd', ...engines]) {
    const notices = await readFile(join(modules, name, 'THIRD-PARTY.txt'), 'utf8')
    const expected = credited[name] ?? []
    t.deepEqual(
      expected.filter((part) => !notices.includes(part)),
      [],
      name,
    )
  }
}

/** A user program. It does not compile if a type of the package is wrong. */
const program = `
import { ApiError, open, type FederatedAnswer, type Task } from 'siftd'

const siftd = await open({ directory: './inside', logLevel: 'OFF', dumpDir: './inside-dumps' })
const ended: number[] = []
siftd.onTaskChange(({ taskUids, hasEnded }) => void (hasEnded && ended.push(...taskUids)))
interface Film { id: number; title: string; genre: string }
const films = siftd.index<Film>('films')
const done = async (write: Promise<{ readonly taskUid: number }>): Promise<Task> =>
  siftd.waitForTask((await write).taskUid)
const solaris: Film = { id: 1, title: 'Solaris', genre: 'drama' }
await done(films.addDocuments([solaris], { primaryKey: 'id' }))
await done(films.updateSettings({ filterableAttributes: ['genre'] }))
const { facetHits } = await films.facetSearch({ facetName: 'genre' })
const merged: FederatedAnswer = await siftd.multiSearch({
  queries: [{ indexUid: 'films', q: 'solris', filter: 'genre = drama' }],
  federation: { limit: 1 },
})
const { results } = await films.documents({ ids: [1] })
const dump = await done(siftd.createDump())
const refused = await films.search('a', { limit: -1 }).catch((error: unknown) =>
  error instanceof ApiError ? error.code : null,
)
const title: string | undefined = (await films.search('solris')).hits[0]?.title
// @ts-expect-error no such attribute
await films.search('a', { filter: 'gnere = drama' }).catch(() => undefined)
// @ts-expect-error a filter is not a number
await films.search('a', { filter: 3 }).catch(() => undefined)
await siftd.close()
console.log(JSON.stringify([
  facetHits[0]?.value, merged.hits[0]?.title, merged.hits[0]?._federation.indexUid,
  results.length, dump.status, refused, ended.length, title,
]))
`

/** Compiles the program against the installed package in strict mode, and runs it. */
async function isTypedInside(t: ExecutionContext, folder: string): Promise<void> {
  await writeFile(join(folder, 'inside.mts'), program)
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--target', 'es2022', '--module', 'nodenext']
  const types = ['--typeRoots', join(root, 'node_modules/@types'), '--types', 'node']
  await execute(process.execPath, [compiler, ...strict, ...types, 'inside.mts'], { cwd: folder })
  const { stdout } = await execute(process.execPath, ['inside.mjs'], { cwd: folder })
  t.deepEqual(JSON.parse(stdout), [
    'drama',
    'Solaris',
    'films',
    1,
    'succeeded',
    'invalid_search_limit',
    3,
    'Solaris',
  ])
}

/** Returns every native module below node_modules. */
async function nativeFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(join(folder, 'node_modules'), { recursive: true })
  return entries.filter((path) => path.endsWith('.node')).map((path) => join(folder, 'node_modules', path))
}
