// npm test: prepares a clone, runs every check and every test, and ends with one line `N passed, N failed`.
import { spawn } from 'node:child_process'
import {
  answers,
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

const total = { passed: 0, failed: 0 }
const problems = []
const isCi = Boolean(process.env.CI)

/** Counts one failure that no runner counted. */
function fail(what) {
  total.failed += 1
  problems.push(what)
}

/** Runs a command, shows its output as it comes, and returns it with the exit code. */
function watch(command, args, env = {}) {
  return new Promise((resolve) => {
    const shell = process.platform === 'win32'
    const child = spawn(command, args, { cwd: root, env: { ...process.env, ...env }, shell })
    let output = ''
    for (const [from, to] of [
      [child.stdout, process.stdout],
      [child.stderr, process.stderr],
    ]) {
      from.setEncoding('utf8')
      from.on('data', (text) => {
        output += text
        to.write(text)
      })
    }
    child.on('error', (error) => resolve({ code: 1, output: String(error) }))
    child.on('close', (code) => resolve({ code: code ?? 1, output }))
  })
}

/** Sums every count that `pattern` finds in a runner's output. */
const sum = (output, pattern) =>
  [...output.matchAll(pattern)].reduce((found, [, digits]) => found + Number(digits), 0)

/** How much of its failures a step repeats at the end, where a log that is cut at its beginning still has them. */
const repeated = { tests: 10, lines: 12, width: 300 }

/** What a runner printed about the tests that failed: of ava in TAP, of cargo below a headline for each test. */
function failures(output) {
  const found = []
  let open = false
  for (const line of output.split('\n')) {
    const begins = /^not ok |^---- .* stdout ----$/.test(line)
    if (begins) found.push([])
    open = begins || (open && !/^(ok \d|\d+\.\.|# |failures:|test result:)/.test(line))
    if (open && line.trim() !== '') found.at(-1).push(line.slice(0, repeated.width))
  }
  return found.slice(0, repeated.tests).flatMap((lines) => lines.slice(0, repeated.lines))
}

/** Runs one step. `counts` find the runner's own figures; without them only a failure counts, as one. */
async function step(name, command, args, { counts, env } = {}) {
  process.stdout.write(`\n── ${name}\n`)
  const began = Date.now()
  const { code, output } = await watch(command, args, env)
  process.stdout.write(`── ${name}: ${Math.round((Date.now() - began) / 1000)} s\n`)
  // Colours would stand between a figure and its word.
  const plain = output.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g'), '')
  const passed = counts ? sum(plain, counts.passed) : 0
  const failed = counts ? sum(plain, counts.failed) : 0
  total.passed += passed
  total.failed += failed
  if (failed > 0) problems.push([`${name}: ${failed} failed`, ...failures(plain)].join('\n  '))
  if (code !== 0 && failed === 0)
    fail([`${name}: ended with ${code}`, ...plain.trimEnd().split('\n').slice(-repeated.lines)].join('\n  '))
  if (code === 0 && counts && passed === 0) fail(`${name}: no test ran`)
}

/** Ends the run: the last line is always the count. */
function finish() {
  if (problems.length > 0) process.stdout.write(`\n${problems.map((line) => `✘ ${line}`).join('\n')}\n`)
  process.stdout.write(`\n${total.passed} passed, ${total.failed} failed\n`)
  process.exit(total.failed === 0 ? 0 : 1)
}

if (!installDependencies()) {
  fail('the dependencies could not be installed')
  finish()
}
const bin = (path) => `${root}/node_modules/${path}`
await step('biome', process.execPath, [
  bin('@biomejs/biome/bin/biome'),
  'check',
  '.',
  '--diagnostic-level=error',
])
// What does not compile is not run: its tests would be those of an older build.
const compiled = compileTypeScript()
if (!compiled) fail('tsc: the TypeScript sources do not compile')
if (compiled && !isBundled()) fail('the program cannot be bundled')
await step('tsc, page', process.execPath, [bin('typescript/bin/tsc'), '-p', 'page/tsconfig.json'])
if (!buildPage()) fail('the page at / could not be built')
installBrowser()
const rust = hasRust()
// Apart, for the reason that `setup.mjs` builds them apart.
const scripts = ['script', 'script-node']
const models = ['embed', 'embed-node']
const named = (flag, crates) => crates.flatMap((crate) => [flag, crate])
const crateGroups = [
  ['', ['--workspace', ...named('--exclude', [...scripts, ...models])]],
  [', scripts', named('-p', scripts)],
  // Where they have been built their dependencies are compiled already.
  ...(isBuilt('embed') ? [[', models', named('-p', models)]] : []),
]
if (!isBuilt('embed'))
  process.stdout.write('what runs embedding models is not tested: `npm run build:embed` has not built it\n')
const addon = buildAddon()
if (addon === 'failed') fail('napi build: the native engine could not be built')
if (addon === 'no-rust')
  process.stdout.write('no Rust toolchain: the native engine is neither built nor tested\n')
if (addon === 'no-rust' && isCi) fail('CI must test the native engine, and there is none')

if (rust) {
  const env = namedTarget()
  if (answers('cargo', ['fmt', '--version'])) await step('rustfmt', 'cargo', ['fmt', '--all', '--check'])
  else if (isCi) fail('rustfmt is not installed')
  if (answers('cargo', ['clippy', '--version'])) {
    for (const [name, crates] of crateGroups)
      await step(`clippy${name}`, 'cargo', ['clippy', ...crates, '--all-targets', '--', '-D', 'warnings'], {
        env,
      })
  } else if (isCi) fail('clippy is not installed')
  for (const [name, crates] of crateGroups)
    await step(`cargo test${name}`, 'cargo', ['test', ...crates, '--no-fail-fast'], {
      counts: { passed: /^test result: .*?(\d+) passed/gm, failed: /^test result: .*?(\d+) failed/gm },
      env,
    })
}
if (compiled) {
  // Its usual report leaves out how many passed as soon as one fails.
  const ava = (name, args, env) =>
    step(name, process.execPath, [`${root}/scripts/ava.mjs`, '--tap', ...args], {
      counts: { passed: /^# pass (\d+)$/gm, failed: /^# fail (\d+)$/gm },
      env,
    })
  // Tests of the native engine skip themselves where there is none, but not where there should be one.
  await ava('ava', [], { SIFTD_NATIVE_TESTS: addon === 'no-rust' ? 'optional' : 'required' })
  if (addon === 'ready' || addon === 'prebuilt') {
    const specs = ['http/*', 'backup/*', 'e2e/verify', 'e2e/repair', 'e2e/upgrade', 'page/search']
    const paths = specs.map((spec) => `dist/__test__/${spec}.spec.js`)
    await ava('ava, HTTP, backups and repair over the native engine', paths, { SIFTD_TEST_ENGINE: 'native' })
  }
}
finish()
