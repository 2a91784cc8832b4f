// npm start: prepares a clone and runs the server. Arguments after `--` are the server's.
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
} from './setup.mjs'

const parent = process.ppid
const args = process.argv.slice(2)

// A message that cannot be written must not end the server.
process.stderr.on('error', () => {})
const say = (text) => process.stderr.write(`${text}\n`)

/** Whether the server would load the native engine. */
const needsEngine =
  !args.some((arg) => ['--help', '-h', '--version', '-V', '--engine=fallback'].includes(arg)) &&
  args[args.indexOf('--engine') + 1] !== 'fallback' &&
  process.env.SVC_ENGINE !== 'fallback'

if (!(await installDependencies())) {
  say('the dependencies could not be installed, see above')
  process.exit(1)
}
if (needsEngine && addonState('engine') === 'outdated') {
  say('The native engine is compiled first, which takes about four minutes on two cores, once.')
  say('`npm start -- --engine fallback` serves without it, in less than a minute.')
}
// Cargo and TypeScript compile at the same time.
const building = needsEngine ? buildAddon('engine') : 'unused'
if (!(await compileTypeScript('program'))) {
  say('the TypeScript sources do not compile, see above')
  process.exit(1)
}
if (!(await buildPage()))
  say('the page at / could not be built, see above: its address answers with JSON only')
const engine = await building
if (engine === 'no-rust') {
  say('no Rust toolchain and no prebuilt native engine here: serving on the fallback engine, which gives the')
  say('same answers more slowly. Install Rust (https://rustup.rs) and start again for the native one.')
}
if (engine === 'failed') {
  say('the native engine could not be built, see above: serving on the fallback engine, which gives the same')
  say('answers more slowly.')
}
if (engine === 'ready' && addonState('script') === 'outdated') buildScriptsInBackground()
endWithParent()
await import(isBundled() ? '../dist/bundle/siftd.js' : '../dist/ts/cli/siftd.js')

/** Few servers edit documents by function, so the interpreter of their scripts is compiled while this one serves. */
function buildScriptsInBackground() {
  say('editing documents by function works in about a minute: its interpreter is compiled in the background')
  const script = fileURLToPath(new URL('./build-addons.mjs', import.meta.url))
  const child = spawn(process.execPath, [script, '--profile', 'dev', 'engine'], { stdio: 'ignore' })
  child.on('error', () => {})
  if (child.pid !== undefined) setPriority(child.pid, 15)
  process.on('exit', () => child.kill())
  child.unref()
}

/**
 * npm starts scripts by a shell and passes signals to that alone. A shell that ends without passing them on leaves
 * this process with another parent, which is then asked to stop like any server.
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
