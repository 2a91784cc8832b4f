// Builds binary packages, as they are published, where there is Rust; without it there is none, and that is said:
//
//   node scripts/build-addons.mjs [--required] [--target TRIPLE [--profile dev]] engine|embed …
//
// `embed` runs embedding models (source `huggingFace`). With `--required` a machine without Rust is a failure. For another
// target than this machine's, zig and cargo-zigbuild compile; the profile `dev` takes half the time then.
import { parseArgs } from 'node:util'
import { parseTriple } from '@napi-rs/cli'
import { buildAddon } from './setup.mjs'

const options = {
  required: { type: 'boolean', default: false },
  target: { type: 'string' },
  profile: { type: 'string', default: 'release' },
}
const { values, positionals } = parseArgs({ options, allowPositionals: true })
if (positionals.length === 0) throw new Error('usage: build-addons.mjs [--required] engine|embed …')
const { target, profile } = values
const other = target === undefined ? null : { on: parseTriple(target).platformArchABI, target }
const outcomes = positionals.map((which) => buildAddon(profile, which, other))
const lacksRust = outcomes.includes('no-rust')
if (lacksRust) console.error('nothing is built: Rust is missing, https://rustup.rs')
process.exit(outcomes.includes('failed') || (lacksRust && values.required) ? 1 : 0)
