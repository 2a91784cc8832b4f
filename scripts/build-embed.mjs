// Builds what runs embedding models (source `huggingFace`), as binaries are published:
//
//   npm run build:embed
import { buildAddon } from './setup.mjs'

const outcome = buildAddon('release', 'embed')
if (outcome === 'no-rust') console.error('Rust is needed for this: https://rustup.rs')
process.exit(outcome === 'ready' || outcome === 'prebuilt' ? 0 : 1)
