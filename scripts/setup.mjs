// Makes a fresh clone runnable with only Node: installs dependencies, compiles TypeScript, builds the native engine.
// Skips a step if its inputs have not changed since it last succeeded.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeBuildInfo } from './build-info.mjs'
import { crateProgress } from './crate-progress.mjs'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const inRoot = (...parts) => join(root, ...parts)

const say = (text) => process.stderr.write(`${text}\n`)

/**
 * Returns true if only a shell can start a command: on Windows npm is a batch file. A shell would split other commands and
 * arguments at blanks, such as `C:\\Program Files\\nodejs\\node.exe`.
 */
export const needsShell = (command, system = process.platform) =>
  system === 'win32' && ['npm', 'npx'].includes(command)

/**
 * Runs a command in the project and shows its output. @returns true if it succeeded
 * @param onStderr receives the text of stderr instead
 */
export function run(command, args, { env = {}, onStderr } = {}) {
  const shell = needsShell(command)
  const stdio = ['ignore', 'inherit', onStderr ? 'pipe' : 'inherit']
  const child = spawn(command, args, { cwd: root, stdio, env: { ...process.env, ...env }, shell })
  child.stderr?.setEncoding('utf8').on('data', onStderr)
  return new Promise((resolve) => {
    child.on('close', (code) => resolve(code === 0))
    child.on('error', (error) => {
      say(`cannot start ${command}: ${error.message}`)
      resolve(false)
    })
  })
}

/** Returns true if a command exists and succeeds. */
export function answers(command, args) {
  return spawnSync(command, args, { cwd: root, stdio: 'ignore', shell: needsShell(command) }).status === 0
}

/** Returns all files below `directory` in a stable order; empty if it does not exist. */
function filesBelow(directory) {
  if (!existsSync(directory)) return []
  return readdirSync(directory, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(directory, entry.name)
      if (entry.isDirectory()) return entry.name === 'target' ? [] : filesBelow(path)
      return [path]
    })
}

function hashOf(paths, ...words) {
  const hash = createHash('sha256')
  for (const word of words) hash.update(word).update('\0')
  for (const path of paths)
    hash.update(relative(root, path)).update('\0').update(readFileSync(path)).update('\0')
  return hash.digest('hex')
}

const textOf = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : '')

/** Returns the target of a link, or the link if its target does not exist. */
const pathBehind = (link) => (existsSync(link) ? realpathSync(link) : link)

/** Installs the packages of package-lock.json, unless they are installed. */
export async function installDependencies() {
  const lock = inRoot('package-lock.json')
  const installed = inRoot('node_modules', '.package-lock.json')
  const stamp = inRoot('node_modules', '.siftd-installed')
  const wanted = hashOf([lock])
  if (textOf(stamp) === wanted) return true
  // npm writes its own copy of the lock last, so a newer copy means a complete installation.
  const isFresh = existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs
  if (!isFresh) {
    // npm would empty the folder of another checkout.
    const folder = inRoot('node_modules')
    if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink()) {
      say(`node_modules is a link to a folder with other packages, ${pathBehind(folder)}: remove the link`)
      return false
    }
    say('installing dependencies (npm ci) …')
    const quietly = ['--include=dev', '--no-audit', '--no-fund']
    // If the registry lacks a locked version, newer versions are better than none. CI requires the lock.
    const isInstalled =
      (await run('npm', ['ci', ...quietly])) ||
      (!process.env.CI && (await run('npm', ['install', '--no-save', ...quietly])))
    if (!isInstalled) return false
  }
  writeFileSync(stamp, wanted)
  return true
}

/** Returns true for arguments without a command: then siftd serves. */
export const isServer = ([first = '-']) => first.startsWith('-')

/** Options that print something instead of serving. */
const printing = ['--help', '-h', '--version', '-v', '-V', '--print-config']

/** Returns true if the program would load the native engine. Most commands call a server. */
export function loadsEngine(args, env) {
  const opensDirectory =
    isServer(args) ||
    ['verify', 'repair'].includes(args[0]) ||
    args.some((arg) => /^--db-path(=|$)/.test(arg))
  return (
    opensDirectory &&
    !args.some((arg) => [...printing, '--engine=fallback'].includes(arg)) &&
    args[args.indexOf('--engine') + 1] !== 'fallback' &&
    env.SVC_ENGINE !== 'fallback'
  )
}

/** Returns true if the program was bundled. */
export const isBundled = () => existsSync(inRoot('dist', 'bundle', 'siftd.js'))

/** Compilation targets: only the program, enough for a start, or everything. */
const compilations = {
  program: { folders: ['ts', 'packages'], config: 'tsconfig.program.json', stamp: '.compiled-program' },
  everything: {
    folders: ['ts', 'packages', '__test__', 'trials', 'benchmark'],
    config: 'tsconfig.json',
    stamp: '.compiled',
  },
}

/** Compiles TypeScript into dist/ and bundles it if anything changed, and removes outputs without a source. */
export async function compileTypeScript(what = 'everything') {
  const { config, stamp } = compilations[what]
  const stampFile = inRoot('dist', stamp)
  const wanted = hashOfCompilation(what)
  // The commit may have changed although no source has.
  writeBuildInfo()
  if (textOf(stampFile) === wanted) return true
  say('compiling TypeScript …')
  for (const path of filesBelow(inRoot('dist'))) if (isOrphan(path)) rmSync(path)
  if (!existsSync(inRoot('dist', 'ts', 'cli', 'main.js')))
    for (const file of ['.tsbuildinfo', '.tsbuildinfo-program']) rmSync(inRoot('dist', file), { force: true })
  for (const each of Object.values(compilations)) rmSync(inRoot('dist', each.stamp), { force: true })
  if (!(await run(process.execPath, [inRoot('node_modules', 'typescript', 'bin', 'tsc'), '-p', config])))
    return false
  // The bundler supports fewer systems and Node.js versions than the program, which also starts unbundled.
  if (!(await run(process.execPath, [inRoot('scripts', 'bundle.mjs')]))) {
    rmSync(inRoot('dist', 'bundle'), { recursive: true, force: true })
    say('bundling failed, see above: the program runs unbundled and starts a little slower')
  }
  writeFileSync(stampFile, wanted)
  if (what === 'everything')
    writeFileSync(inRoot('dist', compilations.program.stamp), hashOfCompilation('program'))
  return true
}

function hashOfCompilation(what) {
  const { folders, config } = compilations[what]
  const sources = folders.flatMap((folder) => filesBelow(inRoot(folder)))
  return hashOf([
    ...sources.filter((path) => path.endsWith('.ts')),
    ...['tsconfig.json', config, 'package.json', 'package-lock.json'].map((file) => inRoot(file)),
    inRoot('scripts', 'bundle.mjs'),
  ])
}

/** Builds the page at `/` into dist/page/ if anything changed. */
export const buildPage = () => run(process.execPath, [inRoot('scripts', 'build-page.mjs')])

/** Programs that process specs need, and how to find out if they exist. Without one its specs are skipped. */
const testPrograms = [
  { name: 'chromium', isInstalled: () => answers('chromium', ['--version']) },
  {
    name: 'postgresql',
    isInstalled: () => existsSync('/usr/lib/postgresql') || answers('initdb', ['--version']),
  },
  { name: 'postgresql-postgis', isInstalled: () => filesBelow('/usr/share/postgresql').some(isPostgis) },
]

const isPostgis = (path) => path.endsWith('postgis.control')

/** Installs programs for tests, on CI machines with apt-get and root. */
export async function installTestPrograms() {
  if (!process.env.CI || process.getuid?.() !== 0 || !answers('apt-get', ['--version'])) return
  const missing = testPrograms.filter(({ isInstalled }) => !isInstalled()).map(({ name }) => name)
  if (missing.length === 0) return
  say(`installing ${missing.join(', ')} …`)
  const quietly = ['-qq', '-y', '--no-install-recommends']
  if (!(await run('apt-get', ['update', '-qq']))) return say('cannot install programs for tests, see above')
  for (const name of missing)
    if (!(await run('apt-get', ['install', ...quietly, name]))) say(`cannot install ${name}, see above`)
}

/** Returns true for an output whose source was deleted. It could still run as a test or be imported. */
function isOrphan(path) {
  const [, source] = /^(.*?)(?:\.d\.ts|\.js|\.js\.map)$/.exec(relative(inRoot('dist'), path)) ?? []
  return source?.includes(sep) === true && !existsSync(inRoot(`${source}.ts`))
}

/** Returns the platform of this process as in the names of binary packages. */
function platform() {
  if (process.platform !== 'linux') {
    return `${process.platform}-${process.arch}${process.platform === 'win32' ? '-msvc' : ''}`
  }
  return `linux-${process.arch}-${process.report.getReport().header.glibcVersionRuntime ? 'gnu' : 'musl'}`
}

/**
 * Addons: crate, description, and binary package. They are built separately, because the script interpreter enables
 * features of shared dependencies that would make the engine's compile a second time. `embed` takes longer to build
 * than everything else, so only its own command builds it.
 */
export const addons = {
  engine: { crate: 'siftd-node', what: 'the native engine', package: 'engine' },
  script: {
    crate: 'script-node',
    config: 'crates/script-node/napi.json',
    what: 'the script interpreter',
    package: 'engine',
  },
  embed: {
    crate: 'embed-node',
    config: 'crates/embed-node/napi.json',
    what: 'the embedding model runtime',
    package: 'embed',
  },
}

/** Binary packages and their addons. */
export const binaryPackages = { engine: ['engine', 'script'], embed: ['embed'] }

/** Crates of each addon. */
const cratesOf = {
  engine: ['engine', 'filter-grammar', 'node'],
  script: ['script', 'script-node'],
  embed: ['embed', 'embed-node'],
}

const sourcesOf = (addon) => cratesOf[addon].flatMap((crate) => filesBelow(inRoot('crates', crate)))

export const hasRust = () => answers('cargo', ['--version']) && answers('rustc', ['--version'])

/**
 * Variables with which cargo reuses the builds of the addons: `napi build` names the target, and cargo keeps builds for
 * a named target separate from builds without one.
 */
export function namedTarget() {
  const { stdout } = spawnSync('rustc', ['--print', 'host-tuple'], { encoding: 'utf8' })
  return { CARGO_BUILD_TARGET: process.env.CARGO_BUILD_TARGET ?? stdout.trim() }
}

/** Path of the file with the source hash and the profile of a built addon. */
const stampOf = (addon, on = platform()) => inRoot('npm', on, `.built-${addon}`)

const addonFile = (addon, on) => inRoot('npm', on, `siftd-${addon}.${on}.node`)

/** Returns true if an addon has been built here, by default for this platform. */
export const isBuilt = (addon, on = platform()) => existsSync(addonFile(addon, on))

/** Returns the state of an addon: 'ready', 'prebuilt' (in an installed package), 'outdated', 'no-rust'. */
export function addonState(addon, on = platform()) {
  try {
    createRequire(import.meta.url).resolve(`@siftd/${addons[addon].package}-${on}`)
    return 'prebuilt'
  } catch {
    // Not installed, so it is built here.
  }
  const isCurrent = textOf(stampOf(addon, on)).split(' ')[0] === wantedFor(addon)
  if (isCurrent && isBuilt(addon, on)) return 'ready'
  return hasRust() ? 'outdated' : 'no-rust'
}

function wantedFor(addon) {
  const manifests = ['Cargo.toml', 'Cargo.lock'].map((file) => inRoot(file)).filter(existsSync)
  return hashOf([...manifests, ...sourcesOf(addon)])
}

/**
 * Builds an addon and its types at the path that `ts/engine/addon.ts` loads. Skips the build if it was built from these
 * sources with any profile.
 * @param profile `dev`, which shares dependencies with the tests, or `release`
 * @param other another platform to build for with zig and cargo-zigbuild: `{ on: 'linux-x64-musl', target: '…' }`
 * @returns 'ready', 'prebuilt', 'no-rust' or 'failed'
 */
export async function buildAddon(addon, { profile = 'dev', other = null } = {}) {
  const on = other?.on ?? platform()
  const state = addonState(addon, on)
  if (state !== 'outdated') return state
  const { crate, config, what } = addons[addon]
  const options = [
    `--package=${crate}`,
    `--output-dir=npm/${on}`,
    '--platform',
    '--no-js',
    `--dts=siftd-${addon}.d.ts`,
    ...(config ? [`--config-path=${config}`] : []),
    ...(profile === 'release' ? ['--release'] : []),
    ...(other === null ? [] : [`--target=${other.target}`, '--cross-compile']),
    // As for npm, CI requires the lock.
    ...(process.env.CI ? ['--', '--locked'] : []),
  ]
  const wanted = wantedFor(addon)
  const progress = crateProgress(`compiling ${what}`)
  const env = { ...compilers, ...progress.env }
  const isDone = await run(process.execPath, [napi, 'build', ...options], { env, onStderr: progress.read })
  progress.end(isDone)
  if (!isDone) return 'failed'
  writeFileSync(stampOf(addon, on), `${wanted} ${profile}`)
  return 'ready'
}

const napi = inRoot('node_modules', '@napi-rs', 'cli', 'dist', 'cli.js')

/** `napi` expects a cross compiler for this target, which is missing on a native machine. */
const compilers = {
  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER:
    process.env.CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER ?? 'cc',
}
