// Checks this checkout, after preparing whatever it needs:
//
//   node scripts/test.mjs quick|lint|process …
//
// quick    npm test: Rust tests, specs in process on both engines, and a few specs that start a real server
// lint     npm run lint: biome, types of the page, rustfmt, clippy
// process  npm run test:process: specs that start servers, browsers and commands, and a short slice of every trial
//
// The last line of output is `N passed, N failed`.
import { availableParallelism } from 'node:os'
import {
  answers,
  binaryPackages,
  buildAddon,
  buildPage,
  compileTypeScript,
  hasRust,
  installBrowser,
  installDependencies,
  isBuilt,
  isBundled,
  namedTarget,
  root,
} from './setup.mjs'
import { fail, finish, step, took } from './steps.mjs'

const isCi = Boolean(process.env.CI)
const tiers = { quick, lint, process: processTier }
const chosen = process.argv.slice(2)
const unknown = chosen.find((name) => !Object.hasOwn(tiers, name))
if (chosen.length === 0 || unknown !== undefined) {
  console.error(
    `usage: node scripts/test.mjs quick|lint|process …${unknown ? `; there is no tier ${unknown}` : ''}`,
  )
  process.exit(2)
}

const began = Date.now()
if (!(await installDependencies())) {
  fail('the dependencies could not be installed')
  finish()
}
took('dependencies', began)
const bin = (path) => `${root}/node_modules/${path}`
let prepared = null
for (const name of chosen) await tiers[name]()
finish()

/** Compiles TypeScript while cargo compiles the addons. Returns whether there is a program, and how the addons ended. */
function prepare() {
  prepared ??= (async () => {
    const start = Date.now()
    const building = buildAddons()
    const isCompiled = await compileTypeScript()
    // What does not compile is not run: its tests would be those of an older build.
    if (!isCompiled) fail('tsc: the TypeScript sources do not compile')
    if (isCompiled && !isBundled()) fail('the program cannot be bundled')
    if (!(await buildPage())) fail('the page at / could not be built')
    took('TypeScript and page', start)
    const addon = await building
    if (addon === 'failed') fail('napi build: the native engine could not be built')
    if (addon === 'no-rust') {
      process.stdout.write('no Rust toolchain: the native engine is neither built nor tested\n')
      if (isCi) fail('CI must test the native engine, and there is none')
    }
    took('addons', start)
    return { isCompiled, addon }
  })()
  return prepared
}

/** Builds the addons of the engine's package. Returns the worst outcome. */
async function buildAddons() {
  const outcomes = []
  for (const addon of binaryPackages.engine) outcomes.push(await buildAddon(addon))
  return ['failed', 'no-rust'].find((outcome) => outcomes.includes(outcome)) ?? outcomes[0]
}

/**
 * Groups of crates that cargo compiles apart, for the reason that `setup.mjs` builds their addons apart. The bindings have
 * no Rust tests, but without them cargo would choose other features of dependencies and compile those a second time.
 */
function crateGroups() {
  return [
    { name: '', crates: ['filter-grammar', 'siftd-engine', 'siftd-node'] },
    { name: ', scripts', crates: ['script', 'script-node'] },
    // Where they have been built their dependencies are compiled already.
    ...(isBuilt('embed') ? [{ name: ', models', crates: ['embed', 'embed-node'] }] : []),
  ].map(({ name, crates }) => ({ name, packages: crates.flatMap((crate) => ['-p', crate]) }))
}

async function quick() {
  const { isCompiled, addon } = await prepare()
  if (!isBuilt('embed'))
    process.stdout.write('local embedding models are not tested: `npm run build:embed` has not built them\n')
  if (hasRust()) {
    for (const { name, packages } of crateGroups())
      await step(`cargo test${name}`, 'cargo', ['test', ...packages, '--tests', '--no-fail-fast'], {
        counts: { passed: /^test result: .*?(\d+) passed/gm, failed: /^test result: .*?(\d+) failed/gm },
        env: namedTarget(),
      })
  }
  if (isCompiled)
    await ava('specs', ['dist/__test__/**/*.spec.js', '!dist/__test__/{lint,process}/**'], addon)
}

async function processTier() {
  const { isCompiled, addon } = await prepare()
  await installBrowser()
  // More files than cores: these specs wait for their processes most of the time.
  const args = ['--concurrency', String(availableParallelism() + 1), 'dist/__test__/process/**/*.spec.js']
  if (isCompiled) await ava('specs of processes', args, addon)
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
    if (isCi) fail('CI must lint the Rust crates, and there is no Rust')
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

/** Runs specs. Those of HTTP run over the native engine where there is one, else over the fallback. */
function ava(name, args, addon) {
  const isNative = addon === 'ready' || addon === 'prebuilt'
  // Its usual report leaves out how many passed as soon as one fails.
  return step(name, process.execPath, [`${root}/scripts/ava.mjs`, '--tap', ...args], {
    counts: { passed: /^# pass (\d+)$/gm, failed: /^# fail (\d+)$/gm },
    env: {
      SIFTD_TEST_ENGINE: process.env.SIFTD_TEST_ENGINE ?? (isNative ? 'native' : 'fallback'),
      // Tests of the native engine skip themselves where there is none, but not where there should be one.
      SIFTD_NATIVE_TESTS: addon === 'no-rust' ? 'optional' : 'required',
    },
  })
}
