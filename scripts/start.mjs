// npm start: prepares a clone and runs the server. Arguments after `--` are the server's.
import {
  buildAddon,
  buildPage,
  compileTypeScript,
  installDependencies,
  isBundled,
  servingProfile,
} from './setup.mjs'

const parent = process.ppid

// A message that cannot be written must not end the server.
process.stderr.on('error', () => {})
const say = (text) => process.stderr.write(`${text}\n`)

if (!installDependencies()) {
  say('the dependencies could not be installed, see above')
  process.exit(1)
}
if (!compileTypeScript()) {
  say('the TypeScript sources do not compile, see above')
  process.exit(1)
}
if (!buildPage()) say('the page at / could not be built, see above: its address answers with JSON only')
const addon = buildAddon(servingProfile())
if (addon === 'no-rust') {
  say('no Rust toolchain and no prebuilt native engine here: serving on the fallback engine, which gives the')
  say('same answers more slowly. Install Rust (https://rustup.rs) and start again for the native one.')
}
if (addon === 'failed') {
  say('the native engine could not be built, see above: serving on the fallback engine, which gives the same')
  say('answers more slowly.')
}
endWithParent()
await import(isBundled() ? '../dist/bundle/siftd.js' : '../dist/ts/cli/siftd.js')

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
