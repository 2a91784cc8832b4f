// Prepares and checks this checkout:
//
//   node scripts/test.mjs quick|lint|process …
//
// quick    npm test: Rust tests, in-process specs on both engines, and a few specs that start a real server
// lint     npm run lint: biome, types of the page, rustfmt, clippy
// process  npm run test:process: specs that start servers, browsers and commands, and a short run of every trial
//
// The last line of output is `N passed, N failed`.
import { spawn } from 'node:child_process'
import { availableParallelism, constants, setPriority } from 'node:os'
import {
  answers,
  buildAddon,
  buildPage,
  compileTypeScript,
  hasRust,
  installDependencies,
  installTestPrograms,
  isBuilt,
  isBundled,
  namedTarget,
  root,
} from './setup.mjs'
import { fail, finish, step, took } from './steps.mjs'

/** A run with more failed files than this is broken, not unstable. */
const unstableFilesMax = 2
const isCi = Boolean(process.env.CI)
const tiers = { quick, lint, process: processTier }
const chosen = process.argv.slice(2)
const unknown = chosen.find((name) => !Object.hasOwn(tiers, name))
if (chosen.length === 0 || unknown !== undefined) {
  console.error(
    `usage: node scripts/test.mjs quick|lint|process …${unknown ? `; unknown tier ${unknown}` : ''}`,
  )
  process.exit(2)
}

/** Specs that need the script interpreter: they run when it is built. */
const scriptSpecs = ['http/edit', 'packages/addon-types', 'smoke/package'].map(
  (name) => `dist/__test__/${name}.spec.js`,
)

const began = Date.now()
if (!(await installDependencies())) {
  fail('cannot install the dependencies')
  finish()
}
took('dependencies', began)
const bin = (path) => `${root}/node_modules/${path}`
let prepared = null
for (const name of chosen) await tiers[name]()
finish()

/** Compiles TypeScript while cargo compiles the engine. @returns if TypeScript compiled, and the outcome of the engine */
function prepare() {
  prepared ??= (async () => {
    const start = Date.now()
    const building = buildAddon('engine')
    const isCompiled = await compileTypeScript()
    // Tests of an older build must not run, so a compile error ends the check.
    if (!isCompiled) fail('tsc: the TypeScript sources do not compile')
    if (isCompiled && !isBundled()) fail('cannot bundle the program')
    if (!(await buildPage())) fail('cannot build the page at /')
    took('TypeScript and page', start)
    const addon = await building
    if (addon === 'failed') fail('napi build: cannot build the native engine')
    if (addon === 'no-rust') {
      process.stdout.write('no Rust toolchain: the native engine is neither built nor tested\n')
      if (isCi) fail('CI must test the native engine, but it is not built')
    }
    took('native engine', start)
    return { isCompiled, addon }
  })()
  return prepared
}

/**
 * Groups of crates to compile separately, for the reason in `setup.mjs`. The
 * bindings have no Rust tests, but without them cargo would choose other features of dependencies and recompile them.
 */
function crateGroups() {
  return [
    { name: '', crates: ['filter-grammar', 'siftd-engine', 'siftd-node'] },
    { name: ', scripts', crates: ['script', 'script-node'] },
    // If they were built, their dependencies are already compiled.
    ...(isBuilt('embed') ? [{ name: ', models', crates: ['embed', 'embed-node'] }] : []),
  ].map(({ name, crates }) => ({ name, packages: crates.flatMap((crate) => ['-p', crate]) }))
}

async function quick() {
  const { isCompiled, addon } = await prepare()
  if (!isBuilt('embed'))
    process.stdout.write('local embedding models are not tested: run `npm run build:embed` to build them\n')
  const others = ['lint/**', 'process/**'].map((files) => `dist/__test__/${files}`).concat(scriptSpecs)
  // The specs leave a core idle now and then.
  const build = [`${root}/scripts/build-addons.mjs`, '--profile', 'dev', 'engine']
  const buildingScripts = hasRust() ? inBackground(process.execPath, build) : null
  const compilingTests = buildingScripts?.then(compileRustTests)
  if (isCompiled)
    await ava('specs', ['dist/__test__/**/*.spec.js', ...others.map((files) => `!${files}`)], addon)
  await buildingScripts
  await prepareScripts()
  await compilingTests
  // One spec takes half a minute on one core.
  await Promise.all([
    isCompiled && ava('specs of scripts', scriptSpecs, addon, { isQuiet: true }),
    hasRust() && cargoTests(),
  ])
}

async function cargoTests() {
  for (const { name, packages } of crateGroups())
    await step(`cargo test${name}`, 'cargo', ['test', ...packages, '--tests', '--no-fail-fast'], {
      counts: { passed: /^test result: .*?(\d+) passed/gm, failed: /^test result: .*?(\d+) failed/gm },
      env: namedTarget(),
    })
}

/** Builds the script interpreter unless it is built. */
async function prepareScripts() {
  const start = Date.now()
  if ((await buildAddon('script')) === 'failed') fail('napi build: cannot build the script interpreter')
  took('script interpreter', start)
}

async function compileRustTests() {
  for (const { packages } of crateGroups())
    await inBackground('cargo', ['test', ...packages, '--tests', '--no-run'])
}

/** Runs a command beside others. Its errors are not shown, so a later step must repeat what failed. */
async function inBackground(command, args) {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...namedTarget() },
    stdio: 'ignore',
  })
  await new Promise((resolve) => {
    child.once('spawn', () => setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL))
    child.once('error', resolve)
    child.once('close', resolve)
  })
}

async function processTier() {
  const { isCompiled, addon } = await prepare()
  await prepareScripts()
  await installTestPrograms()
  // More files than cores, because these specs mostly wait for their processes.
  const args = ['--concurrency', String(availableParallelism() + 1), 'dist/__test__/process/**/*.spec.js']
  if (isCompiled) await ava('process specs', args, addon)
}

async function lint() {
  await step('biome', process.execPath, [
    bin('@biomejs/biome/bin/biome'),
    'check',
    '.',
    '--diagnostic-level=error',
  ])
  await step('tsc, page', process.execPath, [bin('typescript/bin/tsc'), '-p', 'page/tsconfig.json'])
  if (await compileTypeScript()) await ava('static checks', ['dist/__test__/lint/**/*.spec.js'], 'no-rust')
  else fail('tsc: the TypeScript sources do not compile')
  if (!hasRust()) {
    if (isCi) fail('CI must lint the Rust crates, but Rust is not installed')
    return
  }
  if (answers('cargo', ['fmt', '--version'])) await step('rustfmt', 'cargo', ['fmt', '--all', '--check'])
  else if (isCi) fail('rustfmt is not installed')
  if (answers('cargo', ['clippy', '--version'])) {
    for (const { name, packages } of crateGroups())
      await step(`clippy${name}`, 'cargo', ['clippy', ...packages, '--all-targets', '--', '-D', 'warnings'], {
        env: namedTarget(),
      })
  } else if (isCi) fail('clippy is not installed')
}

/**
 * Returns the arguments to run the failed files of a run again, one at a time, or null if the run fails. Waits that are
 * too short on a busy machine must not hide the result of three thousand tests. `SIFTD_TEST_RETRY=never` turns this off,
 * to search for such tests.
 */
function filesToRetry(output) {
  const files = [...output.matchAll(/^# failed: (.+)$/gm)].map(([, file]) => file)
  if (process.env.SIFTD_TEST_RETRY === 'never' || files.length === 0 || files.length > unstableFilesMax)
    return null
  return [`${root}/scripts/ava.mjs`, '--tap', '--concurrency', '1', ...files]
}

/** Runs specs. HTTP specs use the native engine if it is built, else the fallback. */
function ava(name, args, addon, { isQuiet = false } = {}) {
  const isNative = addon === 'ready' || addon === 'prebuilt'
  // TAP, because ava's default report omits the number of passed tests if one fails.
  return step(name, process.execPath, [`${root}/scripts/ava.mjs`, '--tap', ...args], {
    counts: { passed: /^# pass (\d+)$/gm, failed: /^# fail (\d+)$/gm },
    retry: filesToRetry,
    isQuiet,
    env: {
      SIFTD_TEST_ENGINE: process.env.SIFTD_TEST_ENGINE ?? (isNative ? 'native' : 'fallback'),
      // Tests of the native engine are skipped only if Rust is missing.
      SIFTD_NATIVE_TESTS: addon === 'no-rust' ? 'optional' : 'required',
    },
  })
}
