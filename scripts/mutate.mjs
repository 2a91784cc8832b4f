// Mutation testing: changes random single lines of the sources and counts the changes that tests detect. Each mutation
// is made in a copy of the working tree, compiled, and tested with the closest tests first, until the first failure. A
// failed spec counts only if it passes in a second copy without the mutation. `--help` shows the options.
import { spawn, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { mutationsOf } from './mutations.mjs'

const help = `usage: npm run mutate -- [options]

  --seed N        seed of the random mutations (default 1)
  --count N       number of mutations (default 40); even ones change Rust, odd ones TypeScript
  --language L    only mutations of one language: rust or ts
  --only N,N      only mutations with these numbers, to repeat them
  --specs N       maximum number of specs for each (default: all specs that reach the file)
  --process       also run the process specs on survivors, which takes minutes for each
  --list          print the mutations, without compiling or testing
  --scratch DIR   folder of the copies, which are kept (default: a temporary folder, which is removed)
  --lock FILE     hold this lock during every call of cargo

Rust is compiled into CARGO_TARGET_DIR, by default a folder in the copy, where all dependencies are compiled first. Do
not use a target folder of another checkout: mutated addons would stay in it.
Exit code: 0 if at least nine of ten mutations were detected, else 1.`

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '40' },
    language: { type: 'string' },
    only: { type: 'string' },
    specs: { type: 'string', default: '1000' },
    process: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    scratch: { type: 'string' },
    lock: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(help)
  process.exit(0)
}

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const languages = {
  rust: {
    folders: ['ranking', 'filter', 'store'].map((name) => `crates/engine/src/${name}`),
    test: testRust,
  },
  ts: { folders: ['ts/tasks', 'ts/auth', 'ts/http'], test: testTypeScript },
}
/** Timeout of a command. A mutation that makes a spec hang twice counts as detected. */
const COMMAND_MS_MAX = 20 * 60_000
/** Maximum number of attempts to find a mutation that compiles. */
const DRAWS_MAX = 20

/** Returns a generator of random fractions, seeded by a text (FNV-1a into mulberry32). */
function randomOf(text) {
  let state = 2166136261
  for (const letter of text) state = Math.imul(state ^ letter.charCodeAt(0), 16777619)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function filesBelow(folder) {
  const entries = readdirSync(join(root, folder), { recursive: true })
  const isTest = /(^|[/\\])(tests?|\w+_tests)([/\\]|\.rs$)/
  return entries
    .filter((path) => /\.(rs|ts)$/.test(path) && !isTest.test(path))
    .sort()
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
}

/** Returns every line with a mutation as `{ path, line }`. Skips unit tests at the end of Rust files. */
function linesOf(language) {
  return languages[language].folders.flatMap(filesBelow).flatMap((path) => {
    const [code] = readFileSync(join(root, path), 'utf8').split(/^#\[cfg\(test\)\]\nmod /m)
    return code
      .split('\n')
      .flatMap((text, line) => (mutationsOf(text, path).length > 0 ? [{ path, line }] : []))
  })
}

function draw(lines, random) {
  const pick = (list) => list[Math.floor(random() * list.length)]
  const { path, line } = pick(lines)
  const source = readFileSync(join(root, path), 'utf8')
  const texts = source.split('\n')
  const { name, text } = pick(mutationsOf(texts[line], path))
  const before = texts[line]
  texts[line] = text
  const shown = `${path}:${line + 1} (${name})\n    - ${before.trim()}\n    + ${text.trim()}`
  return { path, mutated: texts.join('\n'), source, shown }
}

const scratch = options.scratch ?? mkdtempSync(join(tmpdir(), 'siftd-mutate-'))
const copies = { mutated: join(scratch, 'mutated'), unchanged: join(scratch, 'unchanged') }
const inMutated = (...parts) => join(copies.mutated, ...parts)

function copyTree(copy) {
  const { stdout } = spawnSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  for (const path of stdout.split('\0').filter((path) => path !== '' && existsSync(join(root, path)))) {
    mkdirSync(dirname(join(copy, path)), { recursive: true })
    copyFileSync(join(root, path), join(copy, path))
  }
  if (!existsSync(join(copy, 'node_modules')))
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction')
  for (const folder of ['npm', 'dist'])
    if (existsSync(join(root, folder))) cpSync(join(root, folder), join(copy, folder), { recursive: true })
  // With less optimisation the engine compiles in a third of the time.
  mkdirSync(join(copy, '.cargo'), { recursive: true })
  writeFileSync(join(copy, '.cargo', 'config.toml'), '[profile.dev.package.siftd-engine]\nopt-level = 1\n')
}

/** Runs a command in the copy. @returns if it succeeded, and its output */
function run(command, args, env = {}, cwd = copies.mutated) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, CI: '', ...env },
      detached: true,
    })
    let output = ''
    const late = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), COMMAND_MS_MAX)
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    child.on('close', (code) => {
      clearTimeout(late)
      resolve({ ok: code === 0, output })
    })
  })
}

/** Returns the title and first message of the first test that a runner reported as failed. */
function failureIn(output) {
  const [, title, message] = /^not ok \d+ - (.*)$(?:\n {2}# (.*)$)?/m.exec(output) ?? []
  if (title !== undefined) return message === undefined ? title : `${title}: ${message.trim()}`
  return /^test (.*) \.\.\. FAILED$/m.exec(output)?.[1] ?? 'crash or time-out'
}

const compileTypeScript = (copy = copies.mutated) =>
  run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'], {}, copy)

const importsOf = (path) =>
  [...readFileSync(path, 'utf8').matchAll(/(?:\bfrom |\bimport\(|^import )'(\.[^']+)'/gm)].map(([, to]) =>
    join(dirname(path), to),
  )

/** Returns the import distance from a spec to each file that it imports, directly or indirectly. */
function reach(spec) {
  const distances = new Map([[spec, 0]])
  for (const [path, distance] of distances)
    for (const next of importsOf(path))
      if (!distances.has(next) && existsSync(next)) distances.set(next, distance + 1)
  return distances
}

const words = (path) => new Set(path.split(/[^a-z]+/).filter((word) => word.length > 2))

/** Returns the specs that reach `file`, closest first: by import distance and by words shared with `path`. */
function closestSpecs(file, path) {
  const named = words(path.replace(/^(ts|crates\/engine\/src)/, ''))
  const found = { quick: [], process: [] }
  for (const entry of readdirSync(inMutated('dist/__test__'), { recursive: true })) {
    if (!entry.endsWith('.spec.js')) continue
    const spec = inMutated('dist/__test__', entry)
    const distances = reach(spec)
    const distance = distances.get(inMutated(file))
    const isProcess = /^process[/\\]/.test(entry)
    if (distance === undefined && !isProcess) continue
    const alike = [...words(entry)].filter((word) => named.has(word)).length
    const score = (distance ?? 10) - 3 * alike
    found[isProcess ? 'process' : 'quick'].push({ spec: relative(copies.mutated, spec), score })
  }
  const inOrder = (list) => list.sort((a, b) => a.score - b.score).map(({ spec }) => spec)
  return { quick: inOrder(found.quick), process: inOrder(found.process) }
}

const ava = (specs, env, copy = copies.mutated) =>
  run(process.execPath, ['scripts/ava.mjs', '--tap', '--fail-fast', '--timeout=4m', ...specs], env, copy)

/** Returns if failed specs detect the mutation: they pass without it, and fail again if no assertion failed. */
async function isDetected(specs, output, env) {
  const isAssertion = /^not ok /m.test(output) && !/did not end|timed out/i.test(failureIn(output))
  if (!isAssertion && (await ava(specs, env)).ok) return false
  return (await ava(specs, env, copies.unchanged)).ok
}

/** Runs specs in groups, so that most mutations need few specs. @returns the detecting test, or null */
async function runSpecs(specs, env) {
  const most = Number(options.specs)
  for (const [from, to] of [
    [0, 4],
    [4, 12],
    [12, 40],
    [40, most],
  ]) {
    let group = specs.slice(from, Math.min(to, most))
    while (group.length > 0) {
      const { ok, output } = await ava(group, env)
      if (ok) break
      const reported = [...output.matchAll(/^# failed: (.+)$/gm)].map(([, file]) => file)
      const failed = reported.length > 0 ? reported : group
      if (await isDetected(failed, output, env))
        return `caught by: ${failureIn(output)} [${failed.join(' ')}]`
      console.log(`    unreliable: ${failureIn(output)} [${failed.join(' ')}]`)
      group = group.filter((spec) => !failed.includes(spec))
    }
  }
  return null
}

async function testSpecs({ quick, process: slow }, env) {
  const failed = await runSpecs(quick, env)
  if (failed !== null || !options.process) return failed
  await run(process.execPath, ['scripts/bundle.mjs'])
  return runSpecs(slow, env)
}

async function testTypeScript({ path }) {
  const { ok } = await compileTypeScript()
  if (!ok) return 'does not compile'
  return testSpecs(closestSpecs(`dist/${path.replace(/\.ts$/, '.js')}`, path), {
    SIFTD_TEST_ENGINE: 'fallback',
  })
}

const targetFolder = process.env.CARGO_TARGET_DIR ?? inMutated('target')

function cargo(command) {
  const lock = options.lock === undefined ? [] : ['flock', options.lock]
  const [program, ...args] = [...lock, 'sh', '-c', command]
  return run(program, args, { CARGO_TARGET_DIR: targetFolder })
}

async function testRust({ path }) {
  const tests = 'cargo test --locked -q -p siftd-engine --lib'
  if (!(await cargo(`${tests} --no-run`)).ok) return 'does not compile'
  const [, module] = /src\/(\w+)/.exec(path)
  for (const filter of [`${module}::`, `--skip ${module}::`]) {
    const { ok, output } = await cargo(`${tests.replace(' -q', '')} -- ${filter}`)
    if (!ok) return `caught by: ${failureIn(output)}`
  }
  const [platform] = readdirSync(inMutated('npm'))
  const built = join(targetFolder, process.env.CARGO_BUILD_TARGET ?? '', 'debug', 'libsiftd_node.so')
  const addon = inMutated('npm', platform, `siftd-engine.${platform}.node`)
  const { ok } = await cargo(
    `cargo build --locked -q -p siftd-node && rm -f ${addon} && cp ${built} ${addon}`,
  )
  if (!ok) return 'does not compile'
  return testSpecs(closestSpecs('dist/ts/engine/native/index.js', path), {
    SIFTD_TEST_ENGINE: 'native',
    SIFTD_NATIVE_TESTS: 'required',
  })
}

async function tryMutation(number, { lines, test }) {
  const random = randomOf(`${options.seed}:${number}`)
  for (let tries = 0; tries < DRAWS_MAX; tries++) {
    const mutation = draw(lines, random)
    if (options.list) return { ...mutation, failed: 'not run' }
    writeFileSync(inMutated(mutation.path), mutation.mutated)
    const failed = await test(mutation)
    writeFileSync(inMutated(mutation.path), mutation.source)
    if (failed !== 'does not compile') return { ...mutation, failed }
  }
  throw new Error(`mutation ${number}: none of ${DRAWS_MAX} draws compiles`)
}

if (!options.list) {
  for (const copy of Object.values(copies)) {
    copyTree(copy)
    const { ok, output } = await compileTypeScript(copy)
    if (!ok) throw new Error(output)
  }
}
const outcomes = []
for (const number of options.only?.split(',').map(Number) ?? Array(Number(options.count)).keys()) {
  const language = number % 2 === 0 ? 'rust' : 'ts'
  if (options.language !== undefined && options.language !== language) continue
  languages[language].lines ??= linesOf(language)
  const began = Date.now()
  const { shown, failed } = await tryMutation(number, languages[language])
  outcomes.push({ number, failed })
  const seconds = Math.round((Date.now() - began) / 1000)
  console.log(`${number}. ${shown}\n    ${failed === null ? 'SURVIVED' : failed} (${seconds} s)`)
}
if (options.list) process.exit(0)
if (options.scratch === undefined) rmSync(scratch, { recursive: true, force: true })
const survivors = outcomes.filter(({ failed }) => failed === null).map(({ number }) => number)
const caught = outcomes.length - survivors.length
console.log(`seed ${options.seed}: ${caught} caught, ${survivors.length} survived: ${survivors.join(', ')}`)
process.exit(survivors.length <= outcomes.length / 10 ? 0 : 1)
