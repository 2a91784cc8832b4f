// Builds binary packages if Rust is installed:
//
//   node scripts/build-addons.mjs [--required] [--profile dev] [--target TRIPLE] engine|embed …
//
// `engine` is the engine and the script interpreter, `embed` runs local embedding models. With `--required` missing
// Rust is an error. Other targets than this machine's are compiled with zig and cargo-zigbuild. The profile `dev` takes
// half the time of the default `release`.
import { parseArgs } from 'node:util'
import { parseTriple } from '@napi-rs/cli'
import { binaryPackages, buildAddon } from './setup.mjs'

const options = {
  required: { type: 'boolean', default: false },
  target: { type: 'string' },
  profile: { type: 'string', default: 'release' },
}
const { values, positionals } = parseArgs({ options, allowPositionals: true })
if (positionals.length === 0 || !positionals.every((name) => Object.hasOwn(binaryPackages, name)))
  throw new Error('usage: build-addons.mjs [--required] engine|embed …')
const { target, profile } = values
const other = target === undefined ? null : { on: parseTriple(target).platformArchABI, target }
const outcomes = []
for (const addon of positionals.flatMap((name) => binaryPackages[name]))
  outcomes.push(await buildAddon(addon, { profile, other }))
const lacksRust = outcomes.includes('no-rust')
if (lacksRust) console.error('nothing was built: Rust is missing, see https://rustup.rs')
process.exit(outcomes.includes('failed') || (lacksRust && values.required) ? 1 : 0)
