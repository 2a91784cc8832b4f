// npm start: prepares a clone and runs the server. Arguments after `--` are the server's.
import { buildAddon, compileTypeScript, installDependencies, servingProfile } from './setup.mjs'

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
const addon = buildAddon(servingProfile())
if (addon === 'no-rust') {
  say('no Rust toolchain and no prebuilt native engine here: serving on the fallback engine, which gives the')
  say('same answers more slowly. Install Rust (https://rustup.rs) and start again for the native one.')
}
if (addon === 'failed') {
  say('the native engine could not be built, see above: serving on the fallback engine, which gives the same')
  say('answers more slowly.')
}
await import('../dist/ts/cli/main.js')
