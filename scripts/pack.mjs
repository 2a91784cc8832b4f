// Packs the packages to publish as tarballs:
//
//   node scripts/pack.mjs --out DIR [--all] [--version X.Y.Z]
//
// Takes the binaries in npm/<platform>/. With `--all` every platform must have them. The server's package gets the
// binary packages of this run as optional dependencies. The manifest in the repository has none, so that `npm ci` works
// before they are published. `--version` replaces the version of the manifest.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { NapiCli, parseTriple } from '@napi-rs/cli'
import { unbundled } from './bundle.mjs'
import { bundledParts, crateParts, noticesOf, undecided } from './notices.mjs'
import { addons, binaryPackages, buildPage, compileTypeScript, isBundled, root } from './setup.mjs'

/** File with the licences of third-party code in a package. */
const NOTICES = 'THIRD-PARTY.txt'

/** Bundled libraries whose types our types use. */
const typed = ['pino', 'liquidjs']

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    all: { type: 'boolean', default: false },
    version: { type: 'string' },
  },
})
if (values.out === undefined) throw new Error('usage: pack.mjs --out DIR [--all] [--version X.Y.Z]')
const out = resolve(values.out)
mkdirSync(out, { recursive: true })
if (!(await compileTypeScript()) || !isBundled() || !(await buildPage())) process.exit(1)

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const { license, napi } = manifest
const version = values.version ?? manifest.version
// npm compares it with the repository of the workflow run that signs the provenance.
const { GITHUB_REPOSITORY } = process.env
const repository = GITHUB_REPOSITORY
  ? { type: 'git', url: `git+https://github.com/${GITHUB_REPOSITORY}.git` }
  : manifest.repository

/** Manifest fields of binary packages that `napi` does not know. */
const details = {
  // Contains the word list of docs/decisions/0023-the-german-word-list.md.
  engine: { license: `${license} AND LGPL-3.0-or-later`, what: 'The native engine of siftd' },
  embed: { license, what: 'The embedding model runtime of siftd' },
}
const binary = (platform, addon) => join(root, 'npm', platform, `siftd-${addon}.${platform}.node`)
/** Returns the targets with all addons of a package built, and their names. */
const platformsWith = (which) =>
  napi.targets
    .map((target) => ({ target, name: parseTriple(target).platformArchABI }))
    .filter(({ name }) => binaryPackages[which].every((addon) => existsSync(binary(name, addon))))

const staging = mkdtempSync(join(tmpdir(), 'siftd-pack-'))
try {
  writeFileSync(join(staging, 'package.json'), JSON.stringify({ ...manifest, version, repository }))
  for (const which of Object.keys(binaryPackages)) await packBinaries(which)
  packServer(join(staging, 'server'))
  packSource(join(staging, 'sync-postgres'), 'sync-postgres')
  for (const name of ['words-ja', 'words-ko']) packWords(join(staging, name), name)
} finally {
  rmSync(staging, { recursive: true, force: true })
}

/** Packs the binaries of all platforms, each with the manifest from `napi create-npm-dirs`. */
async function packBinaries(which) {
  const packed = platformsWith(which)
  const missing = napi.targets.length - packed.length
  if (values.all && missing > 0) throw new Error(`${missing} platforms have no binaries of ${which}`)
  const { config } = addons[which]
  const npmDir = `npm-${which}`
  await new NapiCli().createNpmDirs({
    cwd: staging,
    npmDir,
    ...(config && { configPath: join(root, config) }),
  })
  for (const platform of packed) packBinary(join(staging, npmDir, platform.name), which, platform)
}

function packBinary(folder, which, { name, target }) {
  const { what, license } = details[which]
  const paths = binaryPackages[which].map((addon) => binary(name, addon))
  for (const path of [...paths, join(root, 'LICENSE')]) cpSync(path, join(folder, basename(path)))
  const crates = binaryPackages[which].map((addon) => addons[addon].crate)
  writeNotices(folder, crateParts(target, crates))
  const hint = which === 'engine' ? 'Install `siftd` instead.' : 'Install it together with `siftd`.'
  const description = `${what} for ${name}`
  writeFileSync(join(folder, 'README.md'), `${description}. ${hint}\n`)
  const made = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const files = [...paths.map((path) => basename(path)), NOTICES]
  pack(folder, { ...made, description, license, files })
}

function packServer(folder) {
  mkdirSync(folder)
  for (const file of ['README.md', 'CHANGELOG.md', 'LICENSE']) cpSync(join(root, file), join(folder, file))
  writeNotices(folder, bundledParts())
  cpSync(join(root, 'dist', 'bundle'), join(folder, 'dist', 'bundle'), { recursive: true })
  cpSync(join(root, 'dist', 'page'), join(folder, 'dist', 'page'), { recursive: true })
  cpSync(join(root, 'dist', 'build-info.json'), join(folder, 'dist', 'build-info.json'))
  // The bundle contains the code, so only the types of the modules are packed.
  cpSync(join(root, 'dist', 'ts'), join(folder, 'dist', 'ts'), {
    recursive: true,
    filter: (path) => !/\.(js|map)$/.test(path),
  })
  const { scripts: _scripts, ava: _ava, devDependencies: _dev, dependencies, ...rest } = manifest
  // All other libraries are in the bundle.
  const apart = [...unbundled, ...typed].filter((name) => name in dependencies)
  // Few users run local models, so that package is not an optional dependency.
  const engines = platformsWith('engine').map(({ name }) => [`@siftd/engine-${name}`, version])
  pack(folder, {
    ...rest,
    files: [...rest.files, NOTICES],
    version,
    repository,
    dependencies: Object.fromEntries(apart.map((name) => [name, dependencies[name]])),
    optionalDependencies: { ...manifest.optionalDependencies, ...Object.fromEntries(engines) },
  })
}

/** Packs a package of `packages/`. Its code imports only its dependencies: imports of the server are types. */
function packSource(folder, name) {
  const source = join(root, 'packages', name)
  cpSync(join(root, 'dist', 'packages', name, 'src'), join(folder, 'dist'), {
    recursive: true,
    filter: (path) => !/\.(d\.ts|map)$/.test(path),
  })
  cpSync(join(source, 'README.md'), join(folder, 'README.md'))
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  pack(folder, { ...JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')), version, repository })
}

/** Packs a dictionary that `scripts/build-words.mjs` has built. */
function packWords(folder, name) {
  const source = join(root, 'packages', name)
  const manifest = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
  const missing = manifest.files.find((file) => !existsSync(join(source, file)))
  if (missing !== undefined) {
    if (values.all) throw new Error(`packages/${name}/${missing} is not built: node scripts/build-words.mjs`)
    return
  }
  mkdirSync(folder)
  for (const file of manifest.files) cpSync(join(source, file), join(folder, file))
  pack(folder, { ...manifest, version, repository })
}

/** @throws Error for a licence without a decision */
function writeNotices(folder, parts) {
  const open = undecided(parts).map(({ name, license }) => `${name} (${license})`)
  if (open.length > 0) throw new Error(`undecided licences: ${open.join(', ')}`)
  writeFileSync(join(folder, NOTICES), noticesOf(parts))
}

/** Packs a folder with a manifest. Prints the name of the tarball. */
function pack(folder, published) {
  writeFileSync(join(folder, 'package.json'), JSON.stringify(published, null, 2))
  const shell = process.platform === 'win32'
  const { status } = spawnSync('npm', ['pack', '--silent', '--pack-destination', out], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell,
  })
  if (status !== 0) throw new Error('npm pack failed')
}
