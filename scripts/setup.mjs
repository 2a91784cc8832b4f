// Makes a fresh clone runnable with nothing but Node: dependencies, compiled TypeScript, the native engine.
// Every step is skipped when its inputs have not changed since it last succeeded.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeBuildInfo } from './build-info.mjs'
import { crateProgress } from './crate-progress.mjs'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const inRoot = (...parts) => join(root, ...parts)

const say = (text) => process.stderr.write(`${text}\n`)

/**
 * Runs a command in the project with its output shown. Resolves to whether it succeeded.
 * @param onStderr gets the text of stderr instead
 */
export function run(command, args, { env = {}, onStderr } = {}) {
  // npm is a batch file on Windows, which only a shell can start; no argument here holds a space.
  const shell = process.platform === 'win32'
  const stdio = ['ignore', 'inherit', onStderr ? 'pipe' : 'inherit']
  const child = spawn(command, args, { cwd: root, stdio, env: { ...process.env, ...env }, shell })
  child.stderr?.setEncoding('utf8').on('data', onStderr)
  return new Promise((resolve) => {
    child.on('close', (code) => resolve(code === 0))
    child.on('error', (error) => {
      say(`${command} could not be started: ${error.message}`)
      resolve(false)
    })
  })
}

/** Whether a command can be started at all. */
export function answers(command, args) {
  return (
    spawnSync(command, args, { cwd: root, stdio: 'ignore', shell: process.platform === 'win32' }).status === 0
  )
}

/** All files below `directory`, in a stable order; empty if there is none. */
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

/** Installs what package-lock.json names, unless it is installed already. */
export async function installDependencies() {
  const lock = inRoot('package-lock.json')
  const installed = inRoot('node_modules', '.package-lock.json')
  const stamp = inRoot('node_modules', '.siftd-installed')
  const wanted = hashOf([lock])
  if (textOf(stamp) === wanted) return true
  // Installed by hand: npm writes its own copy of the lock last.
  const isFresh = existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs
  if (!isFresh) {
    say('installing dependencies (npm ci) …')
    const quietly = ['--include=dev', '--no-audit', '--no-fund']
    // Where a registry lacks what the lock names, newer versions are better than none; CI insists on the lock.
    const isInstalled =
      (await run('npm', ['ci', ...quietly])) ||
      (!process.env.CI && (await run('npm', ['install', '--no-save', ...quietly])))
    if (!isInstalled) return false
  }
  writeFileSync(stamp, wanted)
  return true
}

/** Whether the program was bundled. */
export const isBundled = () => existsSync(inRoot('dist', 'bundle', 'siftd.js'))

/** What is compiled: the program alone, which is all that a start needs, or everything. */
const compilations = {
  program: { folders: ['ts'], config: 'tsconfig.program.json', stamp: '.compiled-program' },
  everything: {
    folders: ['ts', '__test__', 'trials', 'benchmark'],
    config: 'tsconfig.json',
    stamp: '.compiled',
  },
}

/** Compiles TypeScript into dist/ and bundles it, unless nothing changed, and removes what has no source any more. */
export async function compileTypeScript(what = 'everything') {
  const { config, stamp } = compilations[what]
  const stampFile = inRoot('dist', stamp)
  const wanted = hashOfCompilation(what)
  // The commit may be another one although no source of the program is.
  writeBuildInfo()
  if (textOf(stampFile) === wanted) return true
  say('compiling TypeScript …')
  for (const path of filesBelow(inRoot('dist'))) if (isOrphan(path)) rmSync(path)
  if (!existsSync(inRoot('dist', 'ts', 'cli', 'main.js')))
    for (const file of ['.tsbuildinfo', '.tsbuildinfo-program']) rmSync(inRoot('dist', file), { force: true })
  for (const each of Object.values(compilations)) rmSync(inRoot('dist', each.stamp), { force: true })
  if (!(await run(process.execPath, [inRoot('node_modules', 'typescript', 'bin', 'tsc'), '-p', config])))
    return false
  // The bundler knows fewer systems and versions of Node.js than the program, which starts without it, only later.
  if (!(await run(process.execPath, [inRoot('scripts', 'bundle.mjs')]))) {
    rmSync(inRoot('dist', 'bundle'), { recursive: true, force: true })
    say('the program cannot be bundled here, see above: it runs unbundled, and starts a little later')
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

/** Builds the page at `/` into dist/page/, unless nothing changed. */
export const buildPage = () => run(process.execPath, [inRoot('scripts', 'build-page.mjs')])

/**
 * Installs Chromium, which tests of the page drive, on CI machines that let it: Debian and its kin, as root. Elsewhere
 * those tests skip themselves where there is none.
 */
export async function installBrowser() {
  if (!process.env.CI || process.getuid?.() !== 0 || answers('chromium', ['--version'])) return
  if (!answers('apt-get', ['--version'])) return
  say('installing Chromium …')
  const quietly = ['-qq', '-y', '--no-install-recommends']
  const isInstalled =
    (await run('apt-get', ['update', '-qq'])) && (await run('apt-get', ['install', ...quietly, 'chromium']))
  if (!isInstalled) say('Chromium could not be installed, see above')
}

/** Compiled from a file that is gone: it would still be run as a test, or imported. */
function isOrphan(path) {
  const [, source] = /^(.*?)(?:\.d\.ts|\.js|\.js\.map)$/.exec(relative(inRoot('dist'), path)) ?? []
  return source?.includes(sep) === true && !existsSync(inRoot(`${source}.ts`))
}

/** The platform of this process, as binary packages are named after it. */
function platform() {
  if (process.platform !== 'linux') {
    return `${process.platform}-${process.arch}${process.platform === 'win32' ? '-msvc' : ''}`
  }
  return `linux-${process.arch}-${process.report.getReport().header.glibcVersionRuntime ? 'gnu' : 'musl'}`
}

/**
 * Addons: the crate, what `napi` reads next to package.json, and the binary package. They are built one by one: the
 * script interpreter asks for features of shared dependencies with which the engine's would be compiled a second time.
 * `embed` takes longer to build than all the rest, so only its own command builds it.
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
    what: 'the runtime of embedding models',
    package: 'embed',
  },
}

/** Binary packages, and the addons in each. */
export const binaryPackages = { engine: ['engine', 'script'], embed: ['embed'] }

/** Crates that an addon is compiled from, by the first part of their names. */
const cratesOf = {
  engine: ['engine', 'filter-grammar', 'node'],
  script: ['script', 'script-node'],
  embed: ['embed', 'embed-node'],
}

const sourcesOf = (addon) => cratesOf[addon].flatMap((crate) => filesBelow(inRoot('crates', crate)))

export const hasRust = () => answers('cargo', ['--version']) && answers('rustc', ['--version'])

/**
 * Variables with which cargo finds what it has compiled for the addons: `napi build` names the target, and cargo keeps builds
 * for a named target apart from those for none.
 */
export function namedTarget() {
  const { stdout } = spawnSync('rustc', ['--print', 'host-tuple'], { encoding: 'utf8' })
  return { CARGO_BUILD_TARGET: process.env.CARGO_BUILD_TARGET ?? stdout.trim() }
}

/** Names the sources and the profile that an addon was built from. */
const stampOf = (addon, on = platform()) => inRoot('npm', on, `.built-${addon}`)

const addonFile = (addon, on) => inRoot('npm', on, `siftd-${addon}.${on}.node`)

/** Whether an addon has been built here, for this platform unless another is named. */
export const isBuilt = (addon, on = platform()) => existsSync(addonFile(addon, on))

/** How an addon stands: 'ready', 'prebuilt' (an installed package has it), 'outdated', 'no-rust'. */
export function addonState(addon, on = platform()) {
  try {
    createRequire(import.meta.url).resolve(`@siftd/${addons[addon].package}-${on}`)
    return 'prebuilt'
  } catch {
    // Not installed: built from here.
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
 * Builds an addon where `ts/engine/addon.ts` looks for it, with its types next to it. One built from these sources will
 * do, whichever profile it was built with.
 * @param profile `dev`, which shares its dependencies with the tests, or `release`
 * @param other a platform to build for by zig and cargo-zigbuild, and its target: `{ on: 'linux-x64-musl', target: '…' }`
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
    // As for npm: CI insists on the lock.
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

/** `napi` expects a cross compiler for this target, which a machine of the target itself lacks. */
const compilers = {
  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER:
    process.env.CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER ?? 'cc',
}
