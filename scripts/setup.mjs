// Makes a fresh clone runnable with nothing but Node: dependencies, compiled TypeScript, the native engine.
// Every step is skipped when its inputs have not changed since it last succeeded.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeBuildInfo } from './build-info.mjs'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const inRoot = (...parts) => join(root, ...parts)

const say = (text) => process.stderr.write(`${text}\n`)

/** Runs a command in the project with its output shown. Returns whether it succeeded. */
export function run(command, args, env = {}) {
  // npm is a batch file on Windows, which only a shell can start; no argument here holds a space.
  const shell = process.platform === 'win32'
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
    shell,
  })
  if (error) say(`${command} could not be started: ${error.message}`)
  return status === 0
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
export function installDependencies() {
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
      run('npm', ['ci', ...quietly]) || (!process.env.CI && run('npm', ['install', '--no-save', ...quietly]))
    if (!isInstalled) return false
  }
  writeFileSync(stamp, wanted)
  return true
}

/** Whether the program was bundled. */
export const isBundled = () => existsSync(inRoot('dist', 'bundle', 'siftd.js'))

/** Compiles TypeScript into dist/ and bundles it, unless nothing changed, and removes what has no source any more. */
export function compileTypeScript() {
  const sources = ['ts', '__test__', 'benchmark'].flatMap((folder) => filesBelow(inRoot(folder)))
  const inputs = [
    ...sources.filter((path) => path.endsWith('.ts')),
    inRoot('tsconfig.json'),
    inRoot('package.json'),
    inRoot('package-lock.json'),
    inRoot('scripts', 'bundle.mjs'),
  ]
  const stamp = inRoot('dist', '.compiled')
  const wanted = hashOf(inputs)
  // The commit may be another one although no source of the program is.
  writeBuildInfo()
  if (textOf(stamp) === wanted) return true
  say('compiling TypeScript …')
  for (const path of filesBelow(inRoot('dist'))) if (isOrphan(path)) rmSync(path)
  if (!existsSync(inRoot('dist', 'ts', 'cli', 'main.js')))
    rmSync(inRoot('dist', '.tsbuildinfo'), { force: true })
  rmSync(stamp, { force: true })
  if (!run(process.execPath, [inRoot('node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.json']))
    return false
  // The bundler knows fewer systems and versions of Node.js than the program, which starts without it, only later.
  if (!run(process.execPath, [inRoot('scripts', 'bundle.mjs')])) {
    rmSync(inRoot('dist', 'bundle'), { recursive: true, force: true })
    say('the program cannot be bundled here, see above: it runs unbundled, and starts a little later')
  }
  writeFileSync(stamp, wanted)
  return true
}

/** Builds the page at `/` into dist/page/, unless nothing changed. */
export const buildPage = () => run(process.execPath, [inRoot('scripts', 'build-page.mjs')])

/**
 * Installs Chromium, which tests of the page drive, on CI machines that let it: Debian and its kin, as root. Elsewhere
 * those tests skip themselves where there is none.
 */
export function installBrowser() {
  if (!process.env.CI || process.getuid?.() !== 0 || answers('chromium', ['--version'])) return
  if (!answers('apt-get', ['--version'])) return
  say('installing Chromium …')
  const quietly = ['-qq', '-y', '--no-install-recommends']
  if (!run('apt-get', ['update', '-qq']) || !run('apt-get', ['install', ...quietly, 'chromium']))
    say('Chromium could not be installed, see above')
}

/** Compiled from a file that is gone: it would still be run as a test, or imported. */
function isOrphan(path) {
  const [, source] = /^(.*?)(?:\.d\.ts|\.js|\.js\.map)$/.exec(relative(inRoot('dist'), path)) ?? []
  return source?.includes(sep) === true && !existsSync(inRoot(`${source}.ts`))
}

/** Libraries as cargo names them → platform names of the binary packages. */
function platform() {
  if (process.platform !== 'linux') {
    return `${process.platform}-${process.arch}${process.platform === 'win32' ? '-msvc' : ''}`
  }
  return `linux-${process.arch}-${process.report.getReport().header.glibcVersionRuntime ? 'gnu' : 'musl'}`
}

/** How cargo names the library of a crate. */
function libraryOf(crate) {
  const name = crate.replaceAll('-', '_')
  if (process.platform === 'win32') return `${name}.dll`
  return `lib${name}.${process.platform === 'darwin' ? 'dylib' : 'so'}`
}

/**
 * Binary packages: the crates of each, and what their addons are called in it. Built one by one: the interpreter of
 * scripts asks for features of shared dependencies with which the engine's would be compiled a second time. What runs
 * embedding models takes longer to build than all the rest, so only its own command builds it.
 */
const packages = {
  engine: {
    what: 'the native engine',
    addons: [
      { crate: 'siftd-node', which: 'engine' },
      { crate: 'script-node', which: 'script' },
    ],
  },
  embed: { what: 'what runs embedding models', addons: [{ crate: 'embed-node', which: 'embed' }] },
}

/** Files of the crates of a package. */
const sourcesOf = (which) =>
  filesBelow(inRoot('crates')).filter(
    (path) => relative(inRoot('crates'), path).startsWith('embed') === (which === 'embed'),
  )

export const hasRust = () => answers('cargo', ['--version']) && answers('rustc', ['--version'])

/** Cargo's profiles: the folder each builds in, and how it is asked for. */
const profiles = {
  /** Shares its dependencies with the tests, and is compiled again in less than a minute. */
  dev: { folder: 'debug', options: [] },
  /** As binaries are published: 5 to 20 % more searches a second. */
  release: { folder: 'release', options: ['--release'] },
}

/** What an addon is built with by who has no need of tests; a checkout that has been tested stays with one build. */
export function servingProfile() {
  return existsSync(join(cargoTarget(), profiles.dev.folder, libraryOf('siftd-node'))) ? 'dev' : 'release'
}

const cargoTarget = () => process.env.CARGO_TARGET_DIR ?? inRoot('target')

/** Whether an addon of a binary package has been built here. */
export const isBuilt = (which) => existsSync(inRoot('npm', platform(), `siftd-${which}.${platform()}.node`))

/**
 * Builds a binary package, `engine` or `embed`, where `ts/engine/addon.ts` looks for it; one of these sources that is
 * there already will do, whichever profile it was built with.
 * Returns 'ready', 'prebuilt' (an installed package has it), 'no-rust', or 'failed'.
 */
export function buildAddon(profile = 'dev', which = 'engine') {
  const name = platform()
  const { addons, what } = packages[which]
  try {
    createRequire(import.meta.url).resolve(`@siftd/${which}-${name}`)
    return 'prebuilt'
  } catch {
    // Not installed: built from here.
  }
  const target = inRoot('npm', name)
  const pathOf = (addon) => join(target, `siftd-${addon}.${name}.node`)
  const stamp = join(target, which === 'engine' ? '.built' : `.built-${which}`)
  const manifests = ['Cargo.toml', 'Cargo.lock'].map((file) => inRoot(file)).filter(existsSync)
  const wanted = hashOf([...manifests, ...sourcesOf(which)])
  if (addons.every((addon) => existsSync(pathOf(addon.which))) && textOf(stamp) === wanted) return 'ready'
  if (!hasRust()) return 'no-rust'
  say(`building ${what} (cargo build; the first time takes some minutes) …`)
  // A musl build must be a shared library, which static linking of the C library rules out.
  const env = name.endsWith('-musl')
    ? { RUSTFLAGS: `${process.env.RUSTFLAGS ?? ''} -C target-feature=-crt-static` }
    : {}
  mkdirSync(target, { recursive: true })
  for (const { crate, which: addon } of addons) {
    const { folder, options } = profiles[profile]
    if (!run('cargo', ['build', ...options, '-p', crate], env)) return 'failed'
    const built = join(cargoTarget(), folder, libraryOf(crate))
    // A running server has the old file mapped: replace the name, never the bytes.
    copyFileSync(built, `${pathOf(addon)}.new`)
    renameSync(`${pathOf(addon)}.new`, pathOf(addon))
  }
  writeFileSync(stamp, wanted)
  return 'ready'
}
