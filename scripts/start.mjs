// npm start: prepares a clone and runs the server, or the command after `--`.
import { spawn } from 'node:child_process'
import { setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import {
  addonState,
  buildAddon,
  buildPage,
  compileTypeScript,
  installDependencies,
  isBundled,
  isServer,
  loadsEngine,
} from './setup.mjs'

const parent = process.ppid
const args = process.argv.slice(2)

// A failed write to stderr must not end the server.
process.stderr.on('error', () => {})
const say = (text) => process.stderr.write(`${text}\n`)

const needsEngine = loadsEngine(args, process.env)

if (!(await installDependencies())) {
  say('cannot install the dependencies, see above')
  process.exit(1)
}
if (needsEngine && addonState('engine') === 'outdated') {
  say('compiling the native engine, which takes four to twelve minutes on two cores, only the first time.')
  say('`npm start -- --engine fallback` serves without it, in less than a minute.')
}
// Cargo and TypeScript compile at the same time.
const building = needsEngine ? buildAddon('engine') : 'unused'
if (!(await compileTypeScript('program'))) {
  say('the TypeScript sources do not compile, see above')
  process.exit(1)
}
if (!(await buildPage())) say('cannot build the page at /, see above: / answers with JSON')
const engine = await building
if (engine === 'no-rust') {
  say('no Rust toolchain and no prebuilt native engine: using the fallback engine, which gives the same')
  say('answers more slowly. For the native engine install Rust (https://rustup.rs) and start again.')
}
if (engine === 'failed') {
  say('cannot build the native engine, see above: using the fallback engine, which gives the same answers')
  say('more slowly.')
}
if (isServer(args) && engine === 'ready' && addonState('script') === 'outdated') buildScriptsInBackground()
endWithParent()
await import(isBundled() ? '../dist/bundle/siftd.js' : '../dist/ts/cli/siftd.js')

/** Few servers edit documents by function, so the script interpreter is compiled while the server runs. */
function buildScriptsInBackground() {
  say(
    'compiling the script interpreter in the background: editing documents by function works in about a minute',
  )
  const script = fileURLToPath(new URL('./build-addons.mjs', import.meta.url))
  const child = spawn(process.execPath, [script, '--profile', 'dev', 'engine'], { stdio: 'ignore' })
  child.on('error', () => {})
  if (child.pid !== undefined) setPriority(child.pid, 15)
  process.on('exit', () => child.kill())
  child.unref()
}

/**
 * Shuts down when the parent process ends. npm starts scripts in a shell and sends signals only to it, and some shells
 * end without forwarding them. This process then gets another parent.
 */
function endWithParent() {
  if (process.env.npm_lifecycle_event === undefined || process.platform === 'win32') return
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, 250)
  watch.unref()
}
