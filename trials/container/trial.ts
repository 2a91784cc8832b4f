/** Starts an image as orchestrators do, stops it in every way, and inspects it from outside. */
import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { lowLimits, type Podman } from './podman.js'

export interface ImageTrial {
  readonly podman: Podman
  readonly image: string
  /** The engine that the server must use. */
  readonly engine: 'native' | 'fallback'
  /** Folder for files of the trial. */
  readonly home: string
  readonly say: (what: string) => void
}

/** The volume of the image. */
export const VOLUME = '/var/lib/siftd'
const MEMORY_MIB = 768
const START_MS_MAX = 120_000
const KEY_PATH = '/run/secrets/siftd/master-key'
const films = fileURLToPath(new URL('../../../samples/films.ndjson', import.meta.url))

/** Users that the image must support, each with a different kind of volume. */
const users = [
  { user: null, volume: 'named' },
  { user: '12345:0', volume: 'named' },
  { user: '12345:12345', volume: 'named' },
  { user: '12345:12345', volume: 'folder' },
  { user: '54321:0', volume: 'tmpfs' },
] as const

/** @throws Error at the first failed check */
export async function tryImage(trial: ImageTrial): Promise<void> {
  checkImage(trial)
  await liveAndDie(trial)
  for (const [position, { user, volume }] of users.entries()) {
    const container = start(trial, `user-${position}`, user, mountOf(trial, `user-${position}`, volume))
    await container.available()
    container.stopWell()
    trial.say(`runs as ${user ?? 'the user of the image'} with a ${volume} volume`)
  }
}

/** Checks the configuration of the image. */
function checkImage({ podman, image, say }: ImageTrial): void {
  const config = JSON.parse(podman.inspected(image, 'json .Config')) as {
    readonly User: string
    readonly Volumes: Readonly<Record<string, object>>
    readonly Entrypoint: readonly string[]
    readonly ExposedPorts: Readonly<Record<string, object>>
  }
  expect('a numeric user other than root', /^[1-9]\d*:0$/.test(config.User), config.User)
  expect('one volume', Object.keys(config.Volumes).join() === VOLUME, config.Volumes)
  expect('one port', Object.keys(config.ExposedPorts).join() === '7700/tcp', config.ExposedPorts)
  // A new Docker volume takes the mode of the image's folder but may belong to another user.
  const mounted = podman.run(['image', 'mount', image])
  const mode = statSync(join(mounted, VOLUME)).mode & 0o777
  podman.run(['image', 'unmount', image])
  expect('a volume that all users can write to', mode === 0o777, mode.toString(8))
  say(`the image runs ${config.Entrypoint.join(' ')} as ${config.User}, with the volume ${VOLUME}`)
}

/** Starts, indexes, kills, restarts with the same data, and stops. */
async function liveAndDie(trial: ImageTrial): Promise<void> {
  const { podman, engine, say } = trial
  const key = join(trial.home, 'master-key')
  writeFileSync(key, `${randomBytes(24).toString('base64')}\n`, { mode: 0o444 })
  const options = [
    ...['--env', 'SVC_ENV=production', '--env', `SVC_MASTER_KEY_FILE=${KEY_PATH}`],
    ...['--env', `SVC_KEY_FILE=${KEY_PATH}`, '--volume', `${key}:${KEY_PATH}:ro`],
  ]
  const container = start(trial, 'life', '12345:0', [...mountOf(trial, 'life', 'named'), ...options])
  await container.available()
  const found = /^Engine: +"(\w+)/m.exec(podman.logs(container.name))?.[1]
  expect(`the ${engine} engine`, found === engine, found)
  checkProcess(container.pid())
  say(`process 1 is the ${engine} server, user 12345, without capabilities, with a read-only root`)

  container.siftd(['import', '-', '--format', 'ndjson', '--index', 'films'], readFileSync(films))
  container.findsAFilm()
  const memory = container
    .siftd(['doctor', '--json'], '', { mayFail: true })
    .split('\n')
    .find((line) => line.includes('"memory"'))
  expect(`${MEMORY_MIB} MiB of memory`, memory?.includes(`${MEMORY_MIB} MiB`) === true, memory)
  say(`30 films are indexed and found, and the server detects the limit of ${MEMORY_MIB} MiB`)

  expect('health', podman.tryRun(['healthcheck', 'run', container.name]).code === 0, 'unhealthy')
  process.kill(container.pid(), 'SIGSTOP')
  const stopped = podman.tryRun(['healthcheck', 'run', container.name])
  process.kill(container.pid(), 'SIGCONT')
  expect('a hung server to be unhealthy', stopped.code === 1, stopped)
  say('the health check passes for a server that answers and fails for one that hangs')

  const rival = podman.tryRun([
    ...['run', '--rm', '--name', 'rival', ...strictly(), '--user', '12345:0'],
    ...mountOf(trial, 'life', 'named'),
    trial.image,
  ])
  expect('a refusal', rival.code === 1 && rival.errors.includes('is in use by'), rival)
  container.findsAFilm()
  say('a second container on the same volume refuses to start')

  process.kill(container.pid(), 'SIGKILL')
  expect('exit code 137', (await container.ended()) === 137, podman.logs(container.name))
  podman.run(['start', container.name])
  await container.available()
  container.findsAFilm()
  say('after kill -9 a restart serves the data')

  container.stopWell()
  const changed = podman
    .run(['diff', container.name])
    .split('\n')
    // Files that the container runtime creates.
    .filter(
      (line) =>
        !/^[AC] \/(?:etc|etc\/(?:group|hosts|passwd|resolv\.conf|hostname|mtab)|run|run\/.*|dev|proc|sys)$/.test(
          line,
        ),
    )
    .filter((line) => line !== '')
  expect('no writes outside the volume', changed.length === 0, changed)
  say('SIGTERM ends it with 0, and nothing was written outside the volume')

  const verification = ['--rm', ...strictly(), '--user', '12345:0', ...mountOf(trial, 'life', 'named')]
  const sound = podman.run(['run', ...verification, trial.image, 'verify'])
  expect('sound data', sound.endsWith('is sound'), sound)
  say('siftd verify finds no damage')
}

interface Container {
  readonly name: string
  /** Process id of its first process on the host. */
  pid(): number
  available(): Promise<void>
  /** Waits until the container ends. @returns the exit code */
  ended(): Promise<number>
  siftd(args: readonly string[], input?: string | Buffer, how?: { readonly mayFail: boolean }): string
  findsAFilm(): void
  stopWell(): void
}

/** Options that remove all rights the server does not need. */
const strictly = (): readonly string[] => [
  ...['--read-only', '--read-only-tmpfs=false', '--cap-drop', 'all', '--security-opt', 'no-new-privileges'],
  ...['--network', 'none', '--memory', `${MEMORY_MIB}m`, ...lowLimits],
]

function start(
  { podman, image }: ImageTrial,
  name: string,
  user: string | null,
  options: readonly string[],
): Container {
  const as = user === null ? [] : ['--user', user]
  podman.run(['run', '--detach', '--name', name, ...strictly(), ...as, ...options, image])
  const state = (what: string): string => podman.inspected(name, `.State.${what}`)
  const fail = (what: string): Error => new Error(`${name} ${what}:\n${podman.logs(name)}`)
  const siftd: Container['siftd'] = (args, input, how) => {
    const { code, out, errors } = podman.tryRun(['exec', '--interactive', name, 'siftd', ...args], input)
    if (code !== 0 && how?.mayFail !== true) throw fail(`siftd ${args.join(' ')}: ${out}\n${errors}`)
    return out
  }
  return {
    name,
    pid: () => Number(state('Pid')),
    async available() {
      const end = performance.now() + START_MS_MAX
      for (;;) {
        if (state('Status') !== 'running') throw fail(`ended with ${state('ExitCode')}`)
        if (podman.tryRun(['exec', name, 'siftd', 'health']).code === 0) return
        if (performance.now() > end) throw fail('did not become available')
        await sleep(250)
      }
    },
    ended: async () => Number(podman.run(['wait', name])),
    siftd,
    findsAFilm() {
      const hits = siftd(['search', 'films', 'lihgthouse'])
      if (!hits.includes("The Lighthouse Keeper's Atlas")) throw fail(`did not find the film, but ${hits}`)
    },
    stopWell() {
      podman.run(['stop', '--time', '30', name])
      if (state('ExitCode') !== '0') throw fail(`exited with ${state('ExitCode')} after SIGTERM`)
    },
  }
}

/** Options that mount a volume. */
function mountOf({ home }: ImageTrial, name: string, kind: 'named' | 'folder' | 'tmpfs'): readonly string[] {
  if (kind === 'named') return ['--volume', `${name}:${VOLUME}`]
  if (kind === 'tmpfs') return ['--tmpfs', `${VOLUME}:rw,mode=1777`]
  const folder = join(home, name)
  mkdirSync(folder)
  chownSync(folder, 12345, 12345)
  chmodSync(folder, 0o700)
  return ['--volume', `${folder}:${VOLUME}`]
}

/** Checks the first process of a container through /proc. */
function checkProcess(pid: number): void {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const of = (name: string): string => new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(status)?.[1] ?? ''
  expect('the process 1', of('NSpid').split(/\s+/).at(-1) === '1', of('NSpid'))
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  expect('Node.js itself', /\/node$/.test(command[0] ?? ''), command)
  expect(
    'user 12345',
    of('Uid')
      .split(/\s+/)
      .every((id) => id === '12345'),
    of('Uid'),
  )
  expect(
    'group 0',
    of('Gid')
      .split(/\s+/)
      .every((id) => id === '0'),
    of('Gid'),
  )
  expect('no capabilities', /^0+$/.test(of('CapEff') + of('CapPrm') + of('CapBnd')), of('CapBnd'))
  expect('no new privileges', of('NoNewPrivs') === '1', of('NoNewPrivs'))
  const mounts = readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
  const root = mounts.findLast((fields) => fields[4] === '/')
  expect('a read-only root', root?.[5]?.split(',').includes('ro') === true, root)
}

function expect(what: string, isSo: boolean, found: unknown): void {
  if (!isSo) throw new Error(`expected ${what}, found ${JSON.stringify(found)}`)
}
