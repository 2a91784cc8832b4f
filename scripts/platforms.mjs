// Prints the matrix of platforms for the release workflow:  node scripts/platforms.mjs
//
// The platforms come from the targets in package.json.
import { readFileSync } from 'node:fs'
import { parseTriple } from '@napi-rs/cli'

const manifest = new URL('../package.json', import.meta.url)
const { targets } = JSON.parse(readFileSync(manifest, 'utf8')).napi

const runners = {
  'linux-x64': 'ubuntu-24.04',
  'linux-arm64': 'ubuntu-24.04-arm',
  'darwin-x64': 'macos-15-intel',
  'darwin-arm64': 'macos-15',
  'win32-x64': 'windows-2025',
}

/**
 * Linux binaries are built in an image with an old C library, so that they need no newer one, and tested in an image
 * with only Node.js. Images are named by tag, because digests change with every security fix.
 */
const images = {
  gnu: { build_image: 'rust:1-bullseye', try_image: 'node:20-bookworm-slim' },
  musl: { build_image: 'rust:1-alpine', try_image: 'node:20-alpine' },
}

const include = targets.map((target) => {
  const { platformArchABI, platform, arch, abi } = parseTriple(target)
  const inContainer = images[abi] ?? { build_image: '', try_image: '' }
  return { platform: platformArchABI, os: runners[`${platform}-${arch}`], ...inContainer }
})
console.log(`matrix=${JSON.stringify({ include })}`)
