/** `siftd doctor`, `bench` and `completion`, run as processes. */
import { spawnSync } from 'node:child_process'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { tempDir } from '../../backup/archives.js'
import { runCommand } from '../../support/command.js'
import { isCi, type Requirement } from '../../support/requirements.js'
import { startServer } from '../../support/server.js'
import { testNeeding } from '../../support/test-needing.js'

const secret = 'a-secret-of-many-bytes-for-the-tests'

interface Case {
  readonly env: Readonly<Record<string, string>>
  /** Expected findings, as `subject: state`. */
  readonly states: readonly string[]
  readonly code: 0 | 1
}

const cases: readonly Case[] = [
  {
    env: { SVC_MASTER_KEY: secret },
    states: ['directory: good', 'master key: good', 'clock: good'],
    code: 0,
  },
  { env: {}, states: ['master key: odd'], code: 0 },
  { env: { SVC_ENV: 'production' }, states: ['master key: bad'], code: 1 },
  { env: { SVC_MASTER_KEY: secret, SVC_HTTP_ADDR: 'PORT' }, states: ['address: odd'], code: 0 },
  // A start creates missing parent directories.
  { env: { SVC_MASTER_KEY: secret, SVC_DB_PATH: 'OTHER/none/data' }, states: ['directory: good'], code: 0 },
  { env: { SVC_MASTER_KEY: secret, SVC_DB_PATH: 'OTHER' }, states: ['directory: bad'], code: 1 },
  { env: { SVC_MASTER_KEY: secret, SVC_LOG_LEVEL: 'loud' }, states: ['configuration: bad'], code: 1 },
  { env: { SVC_MASTER_KEY: secret, SVC_HTTP_ADR: 'a:1' }, states: ['configuration: odd'], code: 0 },
  {
    env: { SVC_MASTER_KEY: secret, SVC_SSL_CERT_PATH: '/none', SVC_SSL_KEY_PATH: '/none' },
    states: ['certificate: bad'],
    code: 1,
  },
]

test('the doctor reports each fault with its fix, changes nothing, and prints no secret', async (t) => {
  t.timeout(300_000)
  const directory = await tempDir(t)
  const other = join(directory, 'other')
  await mkdir(other)
  await writeFile(join(other, 'letter.txt'), '')
  const server = await startServer(t)
  const before = await readdir(directory, { recursive: true })
  const data = join(directory, 'data')
  for (const { env, states, code } of cases) {
    const given = Object.entries(env).map(([name, value]) => [
      name,
      value.replace('PORT', new URL(server.url).host).replace('OTHER', other),
    ])
    const sources = { SVC_DB_PATH: data, SVC_HTTP_ADDR: '127.0.0.1:0', ...Object.fromEntries(given) }
    const outcome = await runCommand(['doctor', '--json'], '', sources)
    const shown = JSON.stringify([env, outcome])
    t.is(outcome.code, code, shown)
    const findings = outcome.lines.map((line) => JSON.parse(line))
    for (const state of states)
      t.true(
        findings.some((finding) => `${finding.subject}: ${finding.state}` === state),
        `${state} in ${shown}`,
      )
    for (const { state, fix } of findings) t.is(fix === null, state === 'good', shown)
    t.false(outcome.lines.join('').includes(secret), 'no secret is printed')
  }
  t.deepEqual(await readdir(directory, { recursive: true }), before)
  const plain = await runCommand(['doctor', '--db-path', data])
  t.true(
    plain.lines.some((line) => /^odd {3}master key: none/.test(line)),
    plain.lines.join('\n'),
  )
  t.true(
    plain.lines.some((line) => /^ {6}→ set SVC_MASTER_KEY/.test(line)),
    plain.lines.join('\n'),
  )
})

test('a bench prints p50, p99 and the rate of searches', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.post('/indexes/films/documents?primaryKey=id', [{ id: 1, title: 'Solaris' }]))
  const options = ['--url', server.url, '--searches', '20', '--json']
  const { code, lines } = await runCommand(['bench', 'films', ...options])
  t.is(code, 0)
  const { p50Ms, p99Ms, perSecond, searches } = JSON.parse(lines[0] ?? '')
  t.is(searches, 20)
  t.true(p50Ms > 0 && p99Ms >= p50Ms && perSecond > 0, lines[0])
  const missing = await runCommand(['bench', 'none', ...options])
  t.is(missing.code, 1)
})

const completed: readonly (readonly [words: readonly string[], expected: string])[] = [
  [['sea'], 'search'],
  [['documents', 'ex'], 'export'],
  [['import', 'films.json', '--prim'], '--primary-key'],
  [['settings', 'get', 'films', '--db'], '--db-path'],
  [['--http-addr', ''], 'import'],
]

/** A bash with completion. Windows and some containers do not have it. */
const bash: Requirement = {
  missing:
    spawnSync('bash', ['-c', 'complete'], { encoding: 'utf8' }).status === 0 ? null : 'bash is missing',
  isDemanded: isCi,
}

testNeeding([bash], test)('the completion script of bash completes commands and options', async (t) => {
  const { lines } = await runCommand(['completion', 'bash'])
  for (const [words, expected] of completed) {
    const line = ['siftd', ...words].map((word) => `'${word}'`).join(' ')
    const call = `COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _siftd 2>/dev/null; echo "\${COMPREPLY[0]}"`
    const { stdout } = spawnSync('bash', ['-c', `${lines.join('\n')}\n${call}`], { encoding: 'utf8' })
    t.is(stdout.trim(), expected, words.join(' '))
  }
})
