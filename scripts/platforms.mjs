// The platforms that binaries are built for, which package.json names once, as Rust's targets.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { targets } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).napi

const cpus = { x86_64: 'x64', aarch64: 'arm64' }
const systems = {
  'unknown-linux-gnu': { os: 'linux', libc: 'glibc', suffix: '-gnu' },
  'unknown-linux-musl': { os: 'linux', libc: 'musl', suffix: '-musl' },
  'apple-darwin': { os: 'darwin', suffix: '' },
  'pc-windows-msvc': { os: 'win32', suffix: '-msvc' },
}

/**
 * Where the workflow builds and tries a platform. Binaries for Linux are built in a container, so that they ask for no
 * newer C library than it has, and tried in one with Node.js and nothing else. Images are named by tag: their digests
 * change with every security fix.
 */
const runners = {
  'linux-x64': 'ubuntu-24.04',
  'linux-arm64': 'ubuntu-24.04-arm',
  'darwin-x64': 'macos-15-intel',
  'darwin-arm64': 'macos-15',
  'win32-x64': 'windows-2025',
}
const images = {
  glibc: { build: 'rust:1-bullseye', try: 'node:20-bookworm-slim' },
  musl: { build: 'rust:1-alpine', try: 'node:20-alpine' },
}

/** Each with its name, target, what npm must match before it installs a binary package, and where it is built. */
export const platforms = targets.map((target) => {
  const [processor, ...system] = target.split('-')
  const { os, libc, suffix } = systems[system.join('-')]
  const cpu = cpus[processor]
  return {
    name: `${os}-${cpu}${suffix}`,
    target,
    matches: { os: [os], cpu: [cpu], ...(libc && { libc: [libc] }) },
    runner: runners[`${os}-${cpu}`],
    image: libc ? images[libc] : { build: '', try: '' },
  }
})

// `node scripts/platforms.mjs`: the matrix of the release workflow.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const include = platforms.map(({ name, runner, image }) => ({
    platform: name,
    os: runner,
    build_image: image.build,
    try_image: image.try,
  }))
  console.log(`matrix=${JSON.stringify({ include })}`)
}
