// Makes the packages to publish, as tarballs:
//
//   node scripts/pack.mjs --out DIR [--platforms none|built|all]
//
// `built` (the default) packs the binaries that lie in npm/<platform>/, `all` fails unless every platform has
// one, `none` packs the server alone. The server's package names exactly the binary packages of the same run
// as optional dependencies: the manifest in the repository names none, so that `npm ci` works before anything
// was published.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { unbundled } from './bundle.mjs'
import { buildPage, compileTypeScript, isBundled, root } from './setup.mjs'

/** Bundled libraries whose types are part of ours. */
const typed = ['pino', 'liquidjs']

/** What npm must match before it installs a binary package. */
const platforms = {
  'linux-x64-gnu': { os: ['linux'], cpu: ['x64'], libc: ['glibc'] },
  'linux-x64-musl': { os: ['linux'], cpu: ['x64'], libc: ['musl'] },
  'linux-arm64-gnu': { os: ['linux'], cpu: ['arm64'], libc: ['glibc'] },
  'linux-arm64-musl': { os: ['linux'], cpu: ['arm64'], libc: ['musl'] },
  'darwin-x64': { os: ['darwin'], cpu: ['x64'] },
  'darwin-arm64': { os: ['darwin'], cpu: ['arm64'] },
  'win32-x64-msvc': { os: ['win32'], cpu: ['x64'] },
}

const { values } = parseArgs({
  options: { out: { type: 'string' }, platforms: { type: 'string', default: 'built' } },
})
if (values.out === undefined || !['none', 'built', 'all'].includes(values.platforms)) {
  throw new Error('usage: pack.mjs --out DIR [--platforms none|built|all]')
}
const out = resolve(values.out)
mkdirSync(out, { recursive: true })
if (!compileTypeScript() || !isBundled() || !buildPage()) process.exit(1)

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const { version, license, engines, repository } = manifest
/** A package with the engine and the interpreter of scripts, and one with what runs embedding models. */
const binaryPackages = [
  { name: 'engine', addons: ['engine', 'script'], what: 'The native engine of siftd' },
  { name: 'embed', addons: ['embed'], what: 'What runs embedding models inside siftd' },
]
const filesOf = (platform, { addons }) => addons.map((which) => `siftd-${which}.${platform}.node`)
const binary = (platform, file) => join(root, 'npm', platform, file)
const platformsWith = (binaries) =>
  Object.keys(platforms).filter(
    (platform) =>
      values.platforms !== 'none' &&
      filesOf(platform, binaries).every((file) => existsSync(binary(platform, file))),
  )
for (const binaries of binaryPackages) {
  const packed = platformsWith(binaries)
  const missing = Object.keys(platforms).filter((platform) => !packed.includes(platform))
  if (values.platforms === 'all' && missing.length > 0)
    throw new Error(`no binary of ${binaries.name} for ${missing.join(', ')}`)
  for (const platform of packed) packBinaries(platform, binaries)
}

function packBinaries(platform, binaries) {
  const files = filesOf(platform, binaries)
  pack((folder) => {
    for (const file of files) cpSync(binary(platform, file), join(folder, file))
    cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
    const hint = binaries.name === 'engine' ? 'Install `siftd` instead.' : 'Install it beside `siftd`.'
    writeFileSync(join(folder, 'README.md'), `${binaries.what} for ${platform}. ${hint}\n`)
    return {
      name: `@siftd/${binaries.name}-${platform}`,
      version,
      description: `${binaries.what} for ${platform}`,
      license,
      repository,
      engines,
      ...platforms[platform],
      main: files[0],
      files,
    }
  })
}

pack((folder) => {
  for (const file of ['README.md', 'CHANGELOG.md', 'LICENSE']) cpSync(join(root, file), join(folder, file))
  cpSync(join(root, 'dist', 'bundle'), join(folder, 'dist', 'bundle'), { recursive: true })
  cpSync(join(root, 'dist', 'page'), join(folder, 'dist', 'page'), { recursive: true })
  cpSync(join(root, 'dist', 'build-info.json'), join(folder, 'dist', 'build-info.json'))
  // The bundle is the code; of the modules that it was made of, users need the types.
  cpSync(join(root, 'dist', 'ts'), join(folder, 'dist', 'ts'), {
    recursive: true,
    filter: (path) => !/\.(js|map)$/.test(path),
  })
  const { scripts: _scripts, ava: _ava, devDependencies: _dev, dependencies, ...published } = manifest
  // Other libraries are in the bundle.
  const apart = [...unbundled, ...typed]
  published.dependencies = Object.fromEntries(apart.map((name) => [name, dependencies[name]]))
  // Models are rarely run here, so their package is not installed unasked.
  const packed = platformsWith(binaryPackages[0])
  if (packed.length === 0) return published
  const optional = packed.map((platform) => [`@siftd/engine-${platform}`, version])
  return { ...published, optionalDependencies: Object.fromEntries(optional) }
})

/** Packs a folder that `fill` fills and describes; prints the tarball's name. */
function pack(fill) {
  const folder = mkdtempSync(join(tmpdir(), 'siftd-pack-'))
  try {
    writeFileSync(join(folder, 'package.json'), JSON.stringify(fill(folder), null, 2))
    const shell = process.platform === 'win32'
    const { status } = spawnSync('npm', ['pack', '--silent', '--pack-destination', out], {
      cwd: folder,
      stdio: ['ignore', 'inherit', 'inherit'],
      shell,
    })
    if (status !== 0) throw new Error('npm pack failed')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
