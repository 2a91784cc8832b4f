// Checks that binaries can be loaded on their platform:  node scripts/check-binary.mjs NAME.PLATFORM.node …
//
// A glibc binary must need at most version 2.31, that of Debian 11. A musl binary must not need a library of glibc.
// Binaries for other systems are not checked.
import { spawnSync } from 'node:child_process'
import { basename } from 'node:path'

/** glibc version of the build image. */
const GLIBC_MAX = [2, 31]

const faults = process.argv.slice(2).flatMap((path) => {
  const [, platform = ''] = /\.((?:linux|darwin|win32)-[\w-]+)\.node$/.exec(basename(path)) ?? []
  if (platform === '') return [`${path}: its name contains no platform`]
  if (!platform.startsWith('linux-')) return []
  const read = (...options) => {
    const { status, stdout, stderr, error } = spawnSync('readelf', ['--wide', ...options, path], {
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    })
    if (status !== 0) throw new Error(error?.message ?? stderr)
    return stdout
  }
  const needed = [...read('--dynamic').matchAll(/\(NEEDED\).*\[(.*)\]/g)].map(([, name]) => name)
  const machine = platform.includes('arm64') ? 'AArch64' : 'X86-64'
  const found = read('--file-header').includes(machine) ? [] : [`${path}: it is not for ${machine}`]
  const versions = [...read('--version-info').matchAll(/\bGLIBC_(\d+)\.(\d+)/g)].map(([, ...parts]) =>
    parts.map(Number),
  )
  if (platform.endsWith('-musl')) {
    const foreign = needed.filter((name) =>
      /^(?:libc\.so\.6|libm\.so\.6|libpthread\.so\.0|ld-linux.*)$/.test(name),
    )
    if (foreign.length + versions.length > 0)
      found.push(`${path}: a binary for musl needs glibc: ${foreign.join(', ')}`)
    return found
  }
  const newest = versions.sort(([a, b], [c, d]) => a - c || b - d).at(-1) ?? [0, 0]
  if (newest[0] > GLIBC_MAX[0] || newest[1] > GLIBC_MAX[1])
    found.push(`${path}: it needs glibc ${newest.join('.')}, and may need ${GLIBC_MAX.join('.')} at most`)
  if (needed.some((name) => name.includes('musl'))) found.push(`${path}: a binary for glibc needs musl`)
  return found
})
for (const fault of faults) console.error(fault)
if (process.argv.length < 3) throw new Error('usage: check-binary.mjs FILE …')
process.exit(faults.length === 0 ? 0 : 1)
