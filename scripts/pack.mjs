// Makes the packages to publish, as tarballs:
//
//   node scripts/pack.mjs --out DIR [--platforms none|built|all] [--version X.Y.Z]
//
// `built` (the default) packs the binaries that lie in npm/<platform>/, `all` fails unless every platform has
// one, `none` packs the server alone. The server's package names exactly the binary packages of the same run
// as optional dependencies: the manifest in the repository names none, so that `npm ci` works before anything
// was published. `--version` stands in for that of the manifest.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { unbundled } from './bundle.mjs'
import { bundledParts, crateParts, noticesOf, undecided } from './notices.mjs'
import { platforms } from './platforms.mjs'
import { buildPage, compileTypeScript, isBundled, root } from './setup.mjs'

/** The file of a package with the licences of what is inside. */
const NOTICES = 'THIRD-PARTY.txt'

/** Bundled libraries whose types are part of ours. */
const typed = ['pino', 'liquidjs']

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    platforms: { type: 'string', default: 'built' },
    version: { type: 'string' },
  },
})
if (values.out === undefined || !['none', 'built', 'all'].includes(values.platforms)) {
  throw new Error('usage: pack.mjs --out DIR [--platforms none|built|all] [--version X.Y.Z]')
}
const out = resolve(values.out)
mkdirSync(out, { recursive: true })
if (!compileTypeScript() || !isBundled() || !buildPage()) process.exit(1)

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const { license, engines } = manifest
const version = values.version ?? manifest.version
// npm compares it with the repository of the run that signs the provenance.
const { GITHUB_REPOSITORY } = process.env
const repository = GITHUB_REPOSITORY
  ? { type: 'git', url: `git+https://github.com/${GITHUB_REPOSITORY}.git` }
  : manifest.repository
/** A package with the engine and the interpreter of scripts, and one with what runs embedding models. */
const binaryPackages = [
  {
    name: 'engine',
    addons: ['engine', 'script'],
    crates: ['siftd-node', 'script-node'],
    // The word list of docs/decisions/0023-the-german-word-list.md is inside.
    license: `${license} AND LGPL-3.0-or-later`,
    what: 'The native engine of siftd',
  },
  {
    name: 'embed',
    addons: ['embed'],
    crates: ['embed-node'],
    license,
    what: 'What runs embedding models inside siftd',
  },
]
const filesOf = (platform, { addons }) => addons.map((which) => `siftd-${which}.${platform}.node`)
const binary = (platform, file) => join(root, 'npm', platform, file)
const platformsWith = (binaries) =>
  platforms.filter(
    ({ name }) =>
      values.platforms !== 'none' && filesOf(name, binaries).every((file) => existsSync(binary(name, file))),
  )
for (const binaries of binaryPackages) {
  const packed = platformsWith(binaries)
  const missing = platforms.filter((platform) => !packed.includes(platform)).map(({ name }) => name)
  if (values.platforms === 'all' && missing.length > 0)
    throw new Error(`no binary of ${binaries.name} for ${missing.join(', ')}`)
  for (const platform of packed) packBinaries(platform, binaries)
}

function packBinaries({ name: platform, target, matches }, binaries) {
  const files = filesOf(platform, binaries)
  pack((folder) => {
    for (const file of files) cpSync(binary(platform, file), join(folder, file))
    cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
    writeNotices(folder, crateParts(target, binaries.crates))
    const hint = binaries.name === 'engine' ? 'Install `siftd` instead.' : 'Install it beside `siftd`.'
    writeFileSync(join(folder, 'README.md'), `${binaries.what} for ${platform}. ${hint}\n`)
    return {
      name: `@siftd/${binaries.name}-${platform}`,
      version,
      description: `${binaries.what} for ${platform}`,
      license: binaries.license,
      repository,
      engines,
      ...matches,
      main: files[0],
      files: [...files, NOTICES],
    }
  })
}

pack((folder) => {
  for (const file of ['README.md', 'CHANGELOG.md', 'LICENSE']) cpSync(join(root, file), join(folder, file))
  writeNotices(folder, bundledParts())
  cpSync(join(root, 'dist', 'bundle'), join(folder, 'dist', 'bundle'), { recursive: true })
  cpSync(join(root, 'dist', 'page'), join(folder, 'dist', 'page'), { recursive: true })
  cpSync(join(root, 'dist', 'build-info.json'), join(folder, 'dist', 'build-info.json'))
  // The bundle is the code; of the modules that it was made of, users need the types.
  cpSync(join(root, 'dist', 'ts'), join(folder, 'dist', 'ts'), {
    recursive: true,
    filter: (path) => !/\.(js|map)$/.test(path),
  })
  const { scripts: _scripts, ava: _ava, devDependencies: _dev, dependencies, ...rest } = manifest
  // Other libraries are in the bundle.
  const apart = [...unbundled, ...typed].filter((name) => name in dependencies)
  const published = {
    ...rest,
    files: [...rest.files, NOTICES],
    version,
    ...(repository && { repository }),
    dependencies: Object.fromEntries(apart.map((name) => [name, dependencies[name]])),
  }
  // Models are rarely run here, so their package is not installed unasked.
  const packed = platformsWith(binaryPackages[0])
  const engines = packed.map(({ name }) => [`@siftd/engine-${name}`, version])
  return {
    ...published,
    optionalDependencies: { ...manifest.optionalDependencies, ...Object.fromEntries(engines) },
  }
})

/** @throws Error for a licence that this project has not decided about */
function writeNotices(folder, parts) {
  const open = undecided(parts).map(({ name, license }) => `${name} (${license})`)
  if (open.length > 0) throw new Error(`no decision about the licences of ${open.join(', ')}`)
  writeFileSync(join(folder, NOTICES), noticesOf(parts))
}

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
