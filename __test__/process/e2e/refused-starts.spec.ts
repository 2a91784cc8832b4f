import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { startDaemon } from '../../support/daemon.js'
import { program, sharedCode } from '../../support/program.js'
import { nativeEngine, otherThanWindows } from '../../support/requirements.js'
import { testEngine } from '../../support/server.js'
import { failureAsRoot, mountableDisks, smallDisk } from '../../support/small-disk.js'
import { testNeeding } from '../../support/test-needing.js'

interface Refusal {
  readonly code: number | null
  readonly errors: string
}

/** Starts a server that is expected to end. @param uid user of the process. Default: the user of the tests */
function start(cwd: string, args: readonly string[], uid?: number): Promise<Refusal> {
  const env = { PATH: process.env.PATH, HOME: cwd, XDG_CONFIG_HOME: join(cwd, '..', 'config'), ...sharedCode }
  const isCommand = args[0]?.startsWith('-') === false
  const serving = isCommand ? [] : ['--http-addr', '127.0.0.1:0', '--log-level', 'ERROR']
  const child = spawn(process.execPath, [program, ...serving, ...args], {
    cwd,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(uid !== undefined && { uid, gid: uid }),
  })
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, errors })))
}

async function tempDir(t: ExecutionContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'siftd-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  return path
}

/** Returns every file below `path` with its size and modification time. */
async function treeOf(path: string): Promise<readonly string[]> {
  const names = (await readdir(path, { recursive: true })).sort()
  return Promise.all(
    names.map(async (name) => {
      const { size, mtimeMs, ino } = await stat(join(path, name))
      return `${name} ${size} ${mtimeMs} ${ino}`
    }),
  )
}

/** Starts a server in `cwd`. Asserts that it refuses with a one-line message and changes no file. */
async function refuses(
  t: ExecutionContext,
  {
    cwd,
    args,
    uid,
    says,
    code = 1,
  }: { cwd: string; args: readonly string[]; uid?: number; says: RegExp; code?: 1 | 2 },
): Promise<void> {
  const before = await treeOf(cwd)
  const ended = await start(cwd, args, uid)
  const name = args.join(' ')
  t.is(ended.code, code, `${name}: ${ended.errors}`)
  t.regex(ended.errors, /^siftd: [^\n]+\n$/, name)
  t.regex(ended.errors, says, name)
  t.deepEqual(await treeOf(cwd), before, name)
}

/** Creates a data directory with an index, written by a server that has stopped. */
async function written(t: ExecutionContext, parent: string, engine: string): Promise<string> {
  const path = join(parent, 'data.ms')
  const daemon = await startDaemon(t, path, ['--engine', engine, '--log-level', 'ERROR'], {
    XDG_CONFIG_HOME: join(parent, '..', 'config'),
  })
  await daemon.call('POST', '/indexes', { uid: 'films' })
  await daemon.stop()
  return path
}

for (const engine of [testEngine]) {
  const needs = engine === 'native' ? [nativeEngine] : []
  const with_ = ['--engine', engine]

  testNeeding(needs)(`${engine}: an unusable address refuses the start and leaves no files`, async (t) => {
    const cwd = await tempDir(t)
    const holder = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => holder.once('listening', resolve))
    t.teardown(() => holder.close())
    const taken = `127.0.0.1:${(holder.address() as { port: number }).port}`
    const cases: readonly (readonly [string, RegExp])[] = [
      [taken, /cannot listen on 127\.0\.0\.1:\d+: EADDRINUSE: .*--http-addr/],
      ['203.0.113.5:7700', /cannot listen on 203\.0\.113\.5:7700: EADDRNOTAVAIL/],
      ['no-such-host.invalid:7700', /cannot listen on no-such-host\.invalid:7700: (ENOTFOUND|EAI_AGAIN)/],
    ]
    for (const [address, says] of cases)
      await refuses(t, { cwd, args: [...with_, '--http-addr', address, '--db-path', 'new/data.ms'], says })
  })

  testNeeding(needs)(`${engine}: a directory in use is refused and not changed`, async (t) => {
    const cwd = await tempDir(t)
    const path = join(cwd, 'data.ms')
    await startDaemon(t, path, [...with_, '--log-level', 'ERROR', '--no-analytics'])
    const ended = await start(cwd, with_)
    t.is(ended.code, 1)
    t.regex(ended.errors, /^siftd: [^\n]*in use by process \d+[^\n]*stop it first\n$/)
  })

  testNeeding(needs)(
    `${engine}: newer data and foreign directories are refused and not changed`,
    async (t) => {
      const cwd = await tempDir(t)
      await written(t, cwd, engine)
      await writeFile(join(cwd, 'data.ms', 'VERSION'), '9.9.9')
      await mkdir(join(cwd, 'holiday'))
      await writeFile(join(cwd, 'holiday', 'photo.jpg'), 'a photo')
      await writeFile(join(cwd, 'letter'), 'a letter')
      const cases: readonly (readonly [string, RegExp])[] = [
        ['data.ms', /written by version 9\.9\.9 and this is/],
        ['holiday', /has no VERSION file.*choose another --db-path/],
        ['letter', /letter cannot be read: ENOTDIR; choose a --db-path that is a directory/],
        ['letter/data.ms', /ENOTDIR; choose a --db-path that is a directory/],
      ]
      for (const [path, says] of cases) {
        await refuses(t, { cwd, args: [...with_, '--db-path', path], says })
        await refuses(t, { cwd, args: [...with_, '--db-path', path, '--upgrade-db'], says })
      }
    },
  )

  const asOther = otherThanWindows('Windows cannot change the user')
  const unprivileged = {
    missing: process.getuid?.() === 0 ? null : 'only root can change the user',
    isDemanded: false,
  }
  testNeeding([...needs, asOther, unprivileged])(
    `${engine}: a directory that the user cannot write to is refused and not changed`,
    async (t) => {
      const NOBODY = 65_534
      const cwd = await tempDir(t)
      await written(t, cwd, engine)
      spawn('chmod', ['-R', 'go+rX', cwd])
      await new Promise((resolve) => setTimeout(resolve, 100))
      const says = /EACCES: permission denied, .*; the user that runs siftd needs to read and write it/
      await refuses(t, { cwd, uid: NOBODY, args: [...with_, '--db-path', 'data.ms'], says })
      await refuses(t, { cwd, uid: NOBODY, args: [...with_, '--db-path', 'new/data.ms'], says })
      for (const command of ['verify', 'repair'])
        await refuses(t, { cwd, uid: NOBODY, args: [command, '--db-path', 'data.ms'], says })
    },
  )

  testNeeding([...needs, mountableDisks])(
    `${engine}: a full or read-only file system refuses the start and is not changed`,
    async (t) => {
      const cwd = await smallDisk(t, 20)
      const from = await tempDir(t)
      await cp(await written(t, from, engine), join(cwd, 'data.ms'), { recursive: true })
      await writeFile(join(cwd, 'fill'), Buffer.alloc(20 * 2 ** 20)).catch(() => undefined)
      const full = /ENOSPC: no space left on device, .*; free some space on its file system/
      await refuses(t, { cwd, args: [...with_, '--db-path', 'new/data.ms'], says: full })
      t.is(failureAsRoot('mount', ['-o', 'remount,ro', cwd]), null)
      const readOnly = /EROFS: read-only file system, .*; choose a --db-path on a writable file system/
      await refuses(t, { cwd, args: [...with_, '--db-path', 'data.ms'], says: readOnly })
      await refuses(t, { cwd, args: [...with_, '--db-path', 'new/data.ms'], says: readOnly })
    },
  )
}

testNeeding([nativeEngine])('data of the other engine is refused and not changed', async (t) => {
  const cwd = await tempDir(t)
  await written(t, cwd, 'fallback')
  const says = /written by the fallback engine, not the native one; start with --engine fallback/
  await refuses(t, { cwd, args: ['--engine', 'native'], says })
})

test('wrong options refuse the start and change nothing', async (t) => {
  const cwd = await tempDir(t)
  await writeFile(join(cwd, 'bad.toml'), 'colour = "red"')
  const cases: readonly (readonly [readonly string[], RegExp, (1 | 2)?])[] = [
    [['--env', 'staging'], /--env: invalid value `staging`/, 2],
    [['--env', 'production'], /production needs a master key/, 2],
    [['--config-file-path', 'bad.toml'], /bad\.toml: unknown key `colour`/],
    [['--config-file-path', 'absent.toml'], /`absent\.toml` does not exist/],
    [['--master-key-file', 'absent'], /--master-key-file: `absent` does not exist/, 2],
    [['--ssl-cert-path', 'absent', '--ssl-key-path', 'absent'], /--ssl-cert-path/],
    [['--import-dump', 'absent'], /there is no file .*absent/],
  ]
  for (const [args, says, code = 1] of cases) await refuses(t, { cwd, args, says, code })
  t.is(await readFile(join(cwd, 'bad.toml'), 'utf8'), 'colour = "red"')
})
