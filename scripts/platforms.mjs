// Where the release workflow builds and tries each platform; prints its matrix:  node scripts/platforms.mjs
//
// The platforms are those of the targets that package.json names once.
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
 * Binaries for Linux are built in a container, so that they ask for no newer C library than it has, and tried in one with
 * Node.js and nothing else. Images are named by tag: their digests change with every security fix.
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
