import { execFileSync, spawn } from 'node:child_process'
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { readVersion } from '../../../ts/instance/index.js'
import { program, sharedCode } from '../../support/program.js'
import { rawSocket, readText } from '../../support/raw-socket.js'
import { otherThanWindows } from '../../support/requirements.js'
import { askToStop, stopChannel } from '../../support/stopping.js'
import { testNeeding } from '../../support/test-needing.js'

const version = (
  JSON.parse(await readFile(new URL('../../../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
).version

const hangUps = testNeeding([otherThanWindows('SIGHUP')])

async function tempDir(t: ExecutionContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'siftd-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  return path
}

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

interface Daemon {
  readonly ended: Promise<Ended>
  /** Resolves once the start screen is complete. */
  readonly screen: Promise<string>
  /** Resolves with the first log line that contains this text. */
  says(text: string): Promise<string>
  /** Asks it to stop. */
  stop(): void
  kill(signal: NodeJS.Signals): void
}

/** Runs the daemon in a separate directory, without outside configuration. */
function daemon(t: ExecutionContext, cwd: string, args: readonly string[]): Daemon {
  const env = { PATH: process.env.PATH, HOME: cwd, XDG_CONFIG_HOME: join(cwd, 'config'), ...sharedCode }
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe', ...stopChannel],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (chunk) => {
    stdout += chunk
  })
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
  const screen = new Promise<string>((resolve, reject) => {
    child.stderr?.on('data', (chunk) => {
      stderr += chunk
      if (/Master key:.*\n[\s\S]*key/.test(stderr)) resolve(stderr)
    })
    void ended.then(({ code }) => reject(new Error(`ended with ${code}: ${stderr}`)))
  })
  screen.catch(() => {})
  const says = (text: string): Promise<string> =>
    new Promise((resolve) => {
      const look = (): void => {
        const line = stderr.split('\n').find((one) => one.includes(text))
        if (line !== undefined) resolve(line)
      }
      child.stderr?.on('data', look)
      look()
    })
  return { ended, screen, says, stop: () => askToStop(child), kill: (signal) => void child.kill(signal) }
}

const fact = (screen: string, label: string): string =>
  JSON.parse(new RegExp(`^${label}: +(".*")$`, 'm').exec(screen)?.[1] ?? 'null') as string

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

const served = ['--engine', 'fallback', '--http-addr', '127.0.0.1:0', '--log-level', 'warn']

test('--help and --version print and do not start the server', async (t) => {
  const cwd = await tempDir(t)
  const help = await daemon(t, cwd, ['--help', 'data']).ended
  t.is(help.code, 0)
  t.true(help.stdout.includes('--db-path'))
  t.deepEqual(await daemon(t, cwd, ['help', 'data']).ended, help)
  for (const word of ['--version', '-v', 'version'])
    t.deepEqual(
      await daemon(t, cwd, [word]).ended,
      { code: 0, stdout: `siftd ${version}\n`, stderr: '' },
      word,
    )
  t.false(await exists(join(cwd, 'data.ms')))
})

test('a wrong option prints one line and exits with code 2', async (t) => {
  const cwd = await tempDir(t)
  const { code, stderr } = await daemon(t, cwd, ['--env', 'staging']).ended
  t.is(code, 2)
  t.regex(stderr, /^siftd: --env: invalid value `staging`, expected one of `development`, `production`\n$/)
})

for (const [name, args] of [
  ['without', []],
  ['with a short', ['--master-key', 'too-short']],
] as const) {
  test(`production ${name} master key refuses to start and creates no data directory`, async (t) => {
    const cwd = await tempDir(t)
    const { code, stderr } = await daemon(t, cwd, ['--env', 'production', ...args]).ended
    t.is(code, 2)
    t.regex(stderr, /--master-key [\w-]{43}\n/)
    t.false(await exists(join(cwd, 'data.ms')))
  })
}

test('a build names its commit, from the environment or else from the checkout', async (t) => {
  const file = join(await tempDir(t), 'folder', 'build-info.json')
  const write = async (env: NodeJS.ProcessEnv): Promise<unknown> => {
    execFileSync(process.execPath, ['scripts/build-info.mjs', file], {
      cwd: fileURLToPath(new URL('../../../..', import.meta.url)),
      env: { ...process.env, COMMIT_SHA: '', COMMIT_DATE: '', ...env },
    })
    return JSON.parse(await readFile(file, 'utf8'))
  }
  const given = { COMMIT_SHA: 'abc', COMMIT_DATE: '2026-01-01T00:00:00Z' }
  t.deepEqual(await write(given), { commitSha: 'abc', commitDate: '2026-01-01T00:00:00Z' })
  t.deepEqual(await write({ COMMIT_SHA: 'abc' }), { commitSha: 'abc', commitDate: 'unknown' })
  // An archive of the sources has no commit.
  const { commitSha, commitDate } = (await write({})) as Record<string, string>
  if (commitSha === 'unknown') t.is(commitDate, 'unknown')
  else {
    t.regex(commitSha ?? '', /^[0-9a-f]{40,64}$/)
    t.false(Number.isNaN(Date.parse(commitDate ?? '')))
  }
})

test('a data directory of another version is refused and not changed', async (t) => {
  const cwd = await tempDir(t)
  await writeFile(join(cwd, 'VERSION'), '9.9.9')
  const { code, stderr } = await daemon(t, cwd, [...served, '--db-path', '.', '--upgrade-db']).ended
  t.is(code, 1)
  t.true(stderr.includes('9.9.9') && stderr.includes(version))
  t.is(await readFile(join(cwd, 'VERSION'), 'utf8'), '9.9.9')
})

test('an emptied VERSION file is refused', async (t) => {
  const cwd = await tempDir(t)
  await writeFile(join(cwd, 'VERSION'), '')
  const { code } = await daemon(t, cwd, [...served, '--db-path', '.']).ended
  t.is(code, 1)
})

test('the daemon prints its start screen, serves, and stops with exit code 0', async (t) => {
  const cwd = await tempDir(t)
  const first = daemon(t, cwd, served)
  const screen = await first.screen
  t.is(fact(screen, 'Package version'), version)
  const build = await fetch(`${fact(screen, 'Server listening on')}/version`)
  t.deepEqual(await build.json(), {
    commitSha: fact(screen, 'Commit SHA'),
    commitDate: fact(screen, 'Commit date'),
    pkgVersion: version,
  })
  t.regex(fact(screen, 'Engine'), /^fallback \(requested\)$/)
  t.is(fact(screen, 'Telemetry'), 'Disabled (no --telemetry-url)')
  t.regex(screen, /WARNING: No master key is set/)
  const health = await fetch(`${fact(screen, 'Server listening on')}/health`)
  t.deepEqual(await health.json(), { status: 'available' })
  t.is((await readVersion(join(cwd, 'data.ms'))).version, version)
  first.stop()
  const { code } = await first.ended
  t.is(code, 0)

  const second = daemon(t, cwd, served)
  t.is(fact(await second.screen, 'Instance UID'), fact(screen, 'Instance UID'))
  second.stop()
  t.is((await second.ended).code, 0)
})

test('a data directory stays with the engine that wrote it', async (t) => {
  const cwd = await tempDir(t)
  const first = daemon(t, cwd, served)
  await first.screen
  first.stop()
  await first.ended
  const kept = daemon(t, cwd, [...served, '--engine', 'auto'])
  t.regex(fact(await kept.screen, 'Engine'), /^fallback \(the data was written by it\)$/)
  kept.stop()
  await kept.ended
  const refused = await daemon(t, cwd, [...served, '--engine', 'native']).ended
  t.is(refused.code, 1)
  t.regex(refused.stderr, /written by the fallback engine.*--engine fallback/)
})

test('with a long enough master key requests need a key', async (t) => {
  const cwd = await tempDir(t)
  const running = daemon(t, cwd, [...served, '--master-key', 'sixteen-bytes-ok', '--env', 'production'])
  const url = fact(await running.screen, 'Server listening on')
  t.is((await fetch(`${url}/indexes`)).status, 401)
  const headers = { authorization: 'Bearer sixteen-bytes-ok' }
  t.is((await fetch(`${url}/indexes`, { headers })).status, 200)
  running.stop()
  t.is((await running.ended).code, 0)
})

test('a shutdown finishes requests in flight and refuses new ones', async (t) => {
  const cwd = await tempDir(t)
  const running = daemon(t, cwd, served)
  const { hostname, port } = new URL(fact(await running.screen, 'Server listening on'))
  const body = '{"uid":"late"}'
  const socket = rawSocket(`http://${hostname}:${port}`)
  const answer = readText(socket)
  const head = ['POST /indexes HTTP/1.1', 'Host: here', 'Content-Type: application/json']
  socket.write(`${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`)
  // A second answered request proves that the server has read the first head and waits for the body.
  await fetch(`http://${hostname}:${port}/health`)
  running.stop()
  await t.throwsAsync(async () => {
    for (;;) await fetch(`http://${hostname}:${port}/health`, { headers: { connection: 'close' } })
  })
  socket.write(body.slice(5))
  t.regex(await answer, /^HTTP\/1\.1 202 /)
  t.is((await running.ended).code, 0)
})

test('JSON log lines have the documented fields', async (t) => {
  const page = await readFile(new URL('../../../../docs/behaviour/operations.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| (`[^`|]+`|all) \| (`level`.*|`reqId`.*|`route`.*|`signal`.*) \|$/gm)]
  const names = (text: string): string[] => [...text.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
  const documented = new Map(
    rows.map(([, line = '', members = '']) => [line.replaceAll('`', ''), names(members)]),
  )
  t.is(documented.size, 4)

  const args = ['--experimental-logs-mode', 'JSON', '--slow-query-ms', '0']
  const running = daemon(t, await tempDir(t), [...served.slice(0, 4), ...args])
  const url = fact(await running.screen, 'Server listening on')
  const post = (path: string, body: object) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  await post('/indexes?waitMs=60000', { uid: 'ferries' })
  await post('/indexes/ferries/search', { q: 'pier' })
  await post('/indexes/ferries/search', { q: 'pier', filter: 'berth = 1' })
  running.stop()
  const lines = (await running.ended).stderr.split('\n').filter((line) => line.startsWith('{'))
  const printed = new Map<string, Set<string>>()
  for (const line of lines) {
    const members = JSON.parse(line) as Readonly<Record<string, unknown>>
    const own = Object.keys(members).filter((name) => !documented.get('all')?.includes(name))
    t.is(Object.keys(members).length - own.length, 4, line)
    const seen = printed.get(String(members.msg)) ?? new Set()
    printed.set(String(members.msg), new Set([...seen, ...own]))
  }
  for (const [line, members] of documented)
    if (line !== 'all') t.deepEqual([...(printed.get(line) ?? [])].sort(), members.toSorted(), line)
})

test('the instance uid survives the loss of the data directory, through the copy in the user config', async (t) => {
  const cwd = await tempDir(t)
  const uid = async (): Promise<string> => {
    const running = daemon(t, cwd, served)
    const found = fact(await running.screen, 'Instance UID')
    running.stop()
    await running.ended
    return found
  }
  const first = await uid()
  await rm(join(cwd, 'data.ms'), { recursive: true })
  t.is(await uid(), first)
  await rm(join(cwd, 'data.ms'), { recursive: true })
  await rm(join(cwd, 'config'), { recursive: true })
  t.not(await uid(), first)
})

test('no request is logged after the log is switched off', async (t) => {
  const args = [...served.slice(0, 4), '--experimental-enable-logs-route']
  const running = daemon(t, await tempDir(t), args)
  const url = fact(await running.screen, 'Server listening on')
  const said = running.says('route=/version')
  await fetch(`${url}/version`)
  await said
  const { status } = await fetch(`${url}/logs/stderr`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"target":"OFF"}',
  })
  t.is(status, 204)
  await fetch(`${url}/health`)
  running.stop()
  t.notRegex((await running.ended).stderr, /\/health|\/logs/)
})

hangUps('a SIGHUP without a certificate is logged and changes nothing', async (t) => {
  const cwd = await tempDir(t)
  const running = daemon(t, cwd, [...served.slice(0, 4), '--experimental-logs-mode', 'JSON'])
  const url = fact(await running.screen, 'Server listening on')
  const said = running.says('nothing is reloaded')
  running.kill('SIGHUP')
  t.regex(await said, /"signal":"SIGHUP"/)
  t.is((await fetch(`${url}/health`)).status, 200)
  running.stop()
  t.is((await running.ended).code, 0)
})

test('an address in use ends the start with a one-line message', async (t) => {
  const [one, two] = [await tempDir(t), await tempDir(t)]
  const running = daemon(t, one, served)
  const { port } = new URL(fact(await running.screen, 'Server listening on'))
  const { code, stderr } = await daemon(t, two, [...served, '--http-addr', `127.0.0.1:${port}`]).ended
  t.is(code, 1)
  t.regex(stderr, new RegExp(`cannot listen on 127.0.0.1:${port}: EADDRINUSE`))
})
