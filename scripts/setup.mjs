// Makes a fresh clone runnable with nothing but Node: dependencies, compiled TypeScript, the native engine.
// Every step is skipped when its inputs have not changed since it last succeeded.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
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
  const sources = ['ts', '__test__', 'trials', 'benchmark'].flatMap((folder) => filesBelow(inRoot(folder)))
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

/** The platform of this process, as binary packages are named after it. */
function platform() {
  if (process.platform !== 'linux') {
    return `${process.platform}-${process.arch}${process.platform === 'win32' ? '-msvc' : ''}`
  }
  return `linux-${process.arch}-${process.report.getReport().header.glibcVersionRuntime ? 'gnu' : 'musl'}`
}

/**
 * Binary packages and the crates of their addons; `config` is what `napi` reads beside package.json. Addons are built one
 * by one: the interpreter of scripts asks for features of shared dependencies with which the engine's would be compiled a
 * second time. What runs embedding models takes longer to build than all the rest, so only its own command builds it.
 */
export const binaryPackages = {
  engine: {
    what: 'the native engine',
    addons: {
      engine: { crate: 'siftd-node' },
      script: { crate: 'script-node', config: 'crates/script-node/napi.json' },
    },
  },
  embed: {
    what: 'what runs embedding models',
    addons: { embed: { crate: 'embed-node', config: 'crates/embed-node/napi.json' } },
  },
}

/** Files of the crates of a package. */
const sourcesOf = (which) =>
  filesBelow(inRoot('crates')).filter(
    (path) => relative(inRoot('crates'), path).startsWith('embed') === (which === 'embed'),
  )

export const hasRust = () => answers('cargo', ['--version']) && answers('rustc', ['--version'])

/**
 * Variables with which cargo finds what it has compiled for the addons: `napi build` names the target, and cargo keeps builds
 * for a named target apart from those for none.
 */
export function namedTarget() {
  const { stdout } = spawnSync('rustc', ['--print', 'host-tuple'], { encoding: 'utf8' })
  return { CARGO_BUILD_TARGET: process.env.CARGO_BUILD_TARGET ?? stdout.trim() }
}

/** Remembers of which sources and with which profile the addons of a package were built. */
const stampOf = (which, on = platform()) =>
  inRoot('npm', on, which === 'engine' ? '.built' : `.built-${which}`)

/**
 * The profile that an addon is built with where no tests are run: that of binaries, with which a server
 * answers 5 to 20 % more searches a second. A checkout that has been tested stays with its one build.
 */
export const servingProfile = () => (textOf(stampOf('engine')).endsWith(' dev') ? 'dev' : 'release')

const addonFile = (which, on) => inRoot('npm', on, `siftd-${which}.${on}.node`)

/** Whether an addon of a binary package has been built here, for this platform unless another is named. */
export const isBuilt = (which, on = platform()) => existsSync(addonFile(which, on))

/**
 * Builds a binary package, `engine` or `embed`, where `ts/engine/addon.ts` looks for it, with the types of its addons
 * beside them; one of these sources that is there already will do, whichever profile it was built with.
 * @param profile `release`, or `dev`, which shares its dependencies with the tests and is compiled again in less than a minute
 * @param other a platform to build for by zig and cargo-zigbuild, and its target: `{ on: 'linux-x64-musl', target: '…' }`
 * Returns 'ready', 'prebuilt' (an installed package has it), 'no-rust', or 'failed'.
 */
export function buildAddon(profile = 'dev', which = 'engine', other = null) {
  const { addons, what } = binaryPackages[which]
  const on = other?.on ?? platform()
  try {
    createRequire(import.meta.url).resolve(`@siftd/${which}-${on}`)
    return 'prebuilt'
  } catch {
    // Not installed: built from here.
  }
  const manifests = ['Cargo.toml', 'Cargo.lock'].map((file) => inRoot(file)).filter(existsSync)
  const wanted = hashOf([...manifests, ...sourcesOf(which)])
  const isCurrent = textOf(stampOf(which, on)).split(' ')[0] === wanted
  if (isCurrent && Object.keys(addons).every((addon) => isBuilt(addon, on))) return 'ready'
  if (!hasRust()) return 'no-rust'
  say(`building ${what} (napi build; the first time takes some minutes) …`)
  for (const [addon, { crate, config }] of Object.entries(addons)) {
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
    if (!run(process.execPath, [napi, 'build', ...options], compilers)) return 'failed'
  }
  writeFileSync(stampOf(which, on), `${wanted} ${profile}`)
  return 'ready'
}

const napi = inRoot('node_modules', '@napi-rs', 'cli', 'dist', 'cli.js')

/** `napi` expects a cross compiler for this target, which a machine of the target itself lacks. */
const compilers = {
  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER:
    process.env.CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER ?? 'cc',
}
