// Builds binary packages, as they are published, where there is Rust; without it there is none, and that is said:
//
//   node scripts/build-addons.mjs [--required] engine|embed …
//
// `embed` runs embedding models (source `huggingFace`). With `--required` a machine without Rust is a failure.
import { parseArgs } from 'node:util'
import { buildAddon } from './setup.mjs'

const options = { required: { type: 'boolean', default: false } }
const { values, positionals } = parseArgs({ options, allowPositionals: true })
if (positionals.length === 0) throw new Error('usage: build-addons.mjs [--required] engine|embed …')
const outcomes = positionals.map((which) => buildAddon('release', which))
const lacksRust = outcomes.includes('no-rust')
if (lacksRust) console.error('nothing is built: Rust is missing, https://rustup.rs')
process.exit(outcomes.includes('failed') || (lacksRust && values.required) ? 1 : 0)
