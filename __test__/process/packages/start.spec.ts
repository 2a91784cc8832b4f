/** Limits the modules that a start loads. They determine its duration, and tests cannot measure time reliably. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ExecutionContext } from 'ava'
import { testedEngines } from '../../support/engines.js'
import { bundle } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'

/** Maximum number of modules that all threads load before a server listens. Each library counts once. */
const modulesMax = { native: 685, fallback: 830 }

/** Libraries that many servers never use: HTTP client, JWT, archives, commands, Chinese words, OpenAI tokens. */
const loadedWhenUsed = [
  'undici',
  'jose',
  'tar',
  'cli-progress',
  'commander',
  'jieba-wasm',
  'gpt-tokenizer',
  'sax',
]

const main = fileURLToPath(new URL('../../../ts/cli/siftd.js', import.meta.url))
const hooks = new URL('./note-loaded.js', import.meta.url).href
const registering = `data:text/javascript,import{register}from'node:module';register('${hooks}')`

/** Starts a new server. @returns the URLs of the modules loaded until it listens */
async function loadedBy(t: ExecutionContext, engine: string): Promise<readonly string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-start-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const noted = join(directory, 'loaded')
  const options = ['--engine', engine, '--http-addr', '127.0.0.1:0', '--db-path', join(directory, 'data')]
  const child = spawn(process.execPath, ['--import', registering, main, ...options, '--no-analytics'], {
    env: { ...process.env, SIFTD_TEST_LOADED: noted },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(child, 'exit')
  let text = ''
  for await (const chunk of child.stderr) {
    text += chunk
    if (text.includes('Server listening on:')) break
  }
  child.kill()
  await ended
  return [...new Set((await readFile(noted, 'utf8')).trim().split('\n'))]
}

for (const { name: kind, needs } of testedEngines) {
  testNeeding(needs)(
    `a start with the ${kind} engine loads no library that only some servers use`,
    async (t) => {
      const loaded = await loadedBy(t, kind)
      const used = loaded.filter((url) =>
        loadedWhenUsed.some((library) => url.includes(`/node_modules/${library}/`)),
      )
      t.deepEqual(used, [])
      const others = loaded.filter((url) => !url.startsWith('node:'))
      t.true(others.length <= modulesMax[kind], `${others.length} modules`)
      const other = kind === 'native' ? 'fallback' : 'native'
      t.false(loaded.some((url) => url.endsWith(`/ts/engine/${other}/index.js`)))
    },
  )
}

/** Returns the text of a bundle file and of all files that it imports statically. */
async function bundledWith(name: string, known = new Set<string>()): Promise<string> {
  if (known.has(name)) return ''
  known.add(name)
  const text = await readFile(new URL(`../../../bundle/${name}`, import.meta.url), 'utf8')
  const imported = [...text.matchAll(/^(?:const \w+ = )?require\("\.\/([^"]+)"\)/gm)]
  const texts = await Promise.all(imported.map(([, file = '']) => bundledWith(file, known)))
  return [text, ...texts].join('\n')
}

testNeeding([bundle])('the thread of the task store loads no engine', async (t) => {
  const files = (text: string): readonly string[] =>
    [...text.matchAll(/^\/\/ dist\/ts\/(.*)$/gm)].map(([, file = '']) => file)
  const ofEngines = (file: string): boolean => /^engine\/(?:native|fallback)\//.test(file)
  t.deepEqual(files(await bundledWith('store-worker.js')).filter(ofEngines), [])
  // Proves that the search finds engines: the engine thread contains them.
  t.true(files(await bundledWith('thread.js')).some(ofEngines))
})
