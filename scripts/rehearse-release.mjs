// Runs every step of a release that is possible on one machine:  npm run release:rehearsal -- [--keep] [--node FILE]
//
// Packs this build, publishes it to a local registry (verdaccio), and then acts like users, each time with an empty
// folder and cache: runs `npx siftd`, installs and serves with both engines, upgrades, and downgrades, which must be
// refused without changing the data. `--node` is the Node.js of these users, such as one for musl;
// .github/CONTRIBUTING.md describes how to get it and its binaries.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { needsShell, root } from './setup.mjs'

/** Last major version that supports Node.js 20. */
const VERDACCIO = 'verdaccio@5'

const { values } = parseArgs({
  options: { keep: { type: 'boolean', default: false }, node: { type: 'string' } },
})
const home = mkdtempSync(join(tmpdir(), 'siftd-rehearsal-'))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const next = version.replace(/\d+$/, (patch) => Number(patch) + 1)
const port = await freePort()
const registry = `http://127.0.0.1:${port}/`
const upstream = run('npm', ['config', 'get', 'registry']).trim()

/** Environment of user commands. npm and npx use the first Node.js on the PATH. */
const users = {}
if (values.node !== undefined) {
  mkdirSync(join(home, 'bin'))
  symlinkSync(resolve(values.node), join(home, 'bin', 'node'))
  users.PATH = `${join(home, 'bin')}${delimiter}${process.env.PATH}`
}

function say(what) {
  console.log(`✔ ${what}`)
}

/** Runs a command like a user, in the user's folder. */
const runAsUser = (command, args, cwd, mayFail = false) => run(command, args, { cwd, env: users, mayFail })

/** Runs a command. @returns its output @throws Error if it fails, unless `mayFail` */
function run(command, args, { cwd = root, env = {}, mayFail = false } = {}) {
  const shell = needsShell(command)
  const done = spawnSync(command, args, { cwd, encoding: 'utf8', shell, env: { ...process.env, ...env } })
  if (done.status !== 0 && !mayFail)
    throw new Error(`${command} ${args.join(' ')}: ${done.stdout}${done.stderr}`)
  return `${done.stdout}${mayFail ? done.stderr : ''}`
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  return port
}

/** Creates an empty folder with an empty npm cache that uses only the local registry. */
function emptyFolder(name) {
  const folder = join(home, name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{}')
  writeFileSync(
    join(folder, '.npmrc'),
    `registry=${registry}\n//127.0.0.1:${port}/:_authToken=rehearsal\ncache=${join(folder, 'cache')}\naudit=false\nfund=false\n`,
  )
  return folder
}

async function startRegistry() {
  const config = join(home, 'verdaccio.yaml')
  const rights = 'access: $anonymous\n    publish: $anonymous'
  writeFileSync(
    config,
    `storage: ${join(home, 'storage')}
uplinks:
  upstream:
    url: ${upstream}
packages:
  'siftd':
    ${rights}
  '@siftd/*':
    ${rights}
  '**':
    access: $anonymous
    proxy: upstream
max_body_size: 200mb
log: { type: stdout, format: pretty, level: warn }
`,
  )
  const folder = join(home, 'registry')
  mkdirSync(folder)
  // verdaccio depends on a tag of this package, and mirrors of the public registry may lack tags.
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ overrides: { 'node-fetch': '^2.7.0' } }))
  const quietly = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', '--silent']
  run('npm', ['install', ...quietly, VERDACCIO], { cwd: folder })
  const program = join(folder, 'node_modules', 'verdaccio', 'bin', 'verdaccio')
  const child = spawn(process.execPath, [program, '--config', config, '--listen', `127.0.0.1:${port}`], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  for (;;) {
    if (child.exitCode !== null) throw new Error('the registry did not start')
    const answer = await fetch(`${registry}-/ping`).catch(() => null)
    if (answer?.ok) break
    await sleep(200)
  }
  return () => child.kill()
}

function release(number) {
  const tarballs = emptyFolder(`tarballs-${number}`)
  run('node', ['scripts/pack.mjs', '--out', tarballs, '--version', number])
  run('node', [join(root, 'scripts/publish.mjs'), '.'], { cwd: tarballs })
  const packed = readdirSync(tarballs).filter((name) => name.endsWith('.tgz'))
  say(`published ${packed.join(', ')}`)
}

const smoke = (folder, engine, data) =>
  runAsUser(
    'node',
    [join(root, 'scripts/smoke.mjs'), '.', join(root, 'samples/films.ndjson'), engine, ...data],
    folder,
  ).trim()

const stopRegistry = await startRegistry()
try {
  release(version)
  const found = runAsUser('npx', ['--yes', `siftd@${version}`, '--version'], emptyFolder('npx'))
  if (found.trim() !== `siftd ${version}`) throw new Error(`npx siftd --version printed ${found}`)
  say(`npx siftd from an empty folder and cache: ${found.trim()}`)

  const folder = emptyFolder('installed')
  runAsUser('npm', ['install', `siftd@${version}`], folder)
  const hasBinary = readdirSync(join(folder, 'node_modules', '@siftd')).some((name) =>
    name.startsWith('engine-'),
  )
  const data = join(home, 'data')
  say(smoke(folder, hasBinary ? 'native' : 'fallback', [data]))
  say(smoke(folder, 'fallback', []))

  release(next)
  runAsUser('npm', ['install', `siftd@${next}`], folder)
  say(`upgraded to ${next}: ${smoke(folder, 'auto', [data, '--upgrade-db'])}`)

  runAsUser('npm', ['install', `siftd@${version}`], folder)
  const options = ['--db-path', data, '--http-addr', `127.0.0.1:${await freePort()}`]
  const refusal = runAsUser('npx', ['siftd', ...options], folder, true).trim()
  if (!refusal.includes(next)) throw new Error(`a downgrade was not refused: ${refusal}`)
  say(`a downgrade is refused: ${refusal.split('\n').at(-1)}`)
} finally {
  stopRegistry()
  if (!values.keep) rmSync(home, { recursive: true, force: true })
}
