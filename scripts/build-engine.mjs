// Builds the native engine, as binaries are published, where there is Rust; without it there is none, and that is said:
//
//   node scripts/build-engine.mjs [--required]
//
// With `--required` a machine without Rust is a failure.
import { buildAddon } from './setup.mjs'

const outcome = buildAddon('release')
if (outcome === 'no-rust') console.error('no Rust here: what is packed serves on the fallback engine')
const isWell = outcome !== 'failed' && (outcome !== 'no-rust' || !process.argv.includes('--required'))
process.exit(isWell ? 0 : 1)
