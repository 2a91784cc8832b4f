/** Starts an image as orchestrators do, ends it in every way, and looks at it from outside. */
import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { modestLimits, type Podman } from './podman.js'

export interface ImageTrial {
  readonly podman: Podman
  readonly image: string
  /** The engine that must serve. */
  readonly engine: 'native' | 'fallback'
  /** A folder for files of the trial. */
  readonly home: string
  readonly say: (what: string) => void
}

/** The volume of the image. */
export const VOLUME = '/var/lib/siftd'
const MEMORY_MIB = 768
const START_MS_MAX = 120_000
const KEY_PATH = '/run/secrets/siftd/master-key'
const films = fileURLToPath(new URL('../../../samples/films.ndjson', import.meta.url))

/** Users that the image must run as, each with a volume of another kind. */
const users = [
  { user: null, volume: 'named' },
  { user: '12345:0', volume: 'named' },
  { user: '12345:12345', volume: 'named' },
  { user: '12345:12345', volume: 'folder' },
  { user: '54321:0', volume: 'tmpfs' },
] as const

/** @throws Error for the first thing that is not as it should be */
export async function tryImage(trial: ImageTrial): Promise<void> {
  checkImage(trial)
  await liveAndDie(trial)
  for (const [position, { user, volume }] of users.entries()) {
    const container = start(trial, `user-${position}`, user, mountOf(trial, `user-${position}`, volume))
    await container.available()
    container.stopWell()
    trial.say(`runs as ${user ?? 'the user of the image'} over a volume of kind ${volume}`)
  }
}

/** What the image says about itself. */
function checkImage({ podman, image, say }: ImageTrial): void {
  const config = JSON.parse(podman.inspected(image, 'json .Config')) as {
    readonly User: string
    readonly Volumes: Readonly<Record<string, object>>
    readonly Entrypoint: readonly string[]
    readonly ExposedPorts: Readonly<Record<string, object>>
  }
  expect('a user that is a number and not root', /^[1-9]\d*:0$/.test(config.User), config.User)
  expect('one volume', Object.keys(config.Volumes).join() === VOLUME, config.Volumes)
  expect('one port', Object.keys(config.ExposedPorts).join() === '7700/tcp', config.ExposedPorts)
  // A new volume of Docker takes the mode of the folder in the image, and its owner is another user.
  const mounted = podman.run(['image', 'mount', image])
  const mode = statSync(join(mounted, VOLUME)).mode & 0o777
  podman.run(['image', 'unmount', image])
  expect('a volume that all users may write to', mode === 0o777, mode.toString(8))
  say(`the image runs ${config.Entrypoint.join(' ')} as ${config.User}, with the volume ${VOLUME}`)
}

/** A life with indexing, a kill, a second life with the same data, and an orderly end. */
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
  say(
    `process 1 is the server of the ${engine} engine, of user 12345, without capabilities; its root is read-only`,
  )

  container.siftd(['import', '-', '--format', 'ndjson', '--index', 'films'], readFileSync(films))
  container.findsAFilm()
  const memory = container
    .siftd(['doctor', '--json'], '', { mayFail: true })
    .split('\n')
    .find((line) => line.includes('"memory"'))
  expect(`${MEMORY_MIB} MiB of memory`, memory?.includes(`${MEMORY_MIB} MiB`) === true, memory)
  say(`30 films are indexed and found, and the limit of ${MEMORY_MIB} MiB is known`)

  expect('health', podman.tried(['healthcheck', 'run', container.name]).code === 0, 'it is ill')
  process.kill(container.pid(), 'SIGSTOP')
  const stopped = podman.tried(['healthcheck', 'run', container.name])
  process.kill(container.pid(), 'SIGCONT')
  expect('illness of a server that hangs', stopped.code === 1, stopped)
  say('the health check tells a server that answers from one that hangs')

  const rival = podman.tried([
    ...['run', '--rm', '--name', 'rival', ...strictly(), '--user', '12345:0'],
    ...mountOf(trial, 'life', 'named'),
    trial.image,
  ])
  expect('a refusal', rival.code === 1 && rival.errors.includes('is in use by'), rival)
  container.findsAFilm()
  say('a second container on the same volume is refused')

  process.kill(container.pid(), 'SIGKILL')
  expect('the code of a kill', (await container.ended()) === 137, podman.logs(container.name))
  podman.run(['start', container.name])
  await container.available()
  container.findsAFilm()
  say('after kill -9 a restart has the data')

  container.stopWell()
  const changed = podman
    .run(['diff', container.name])
    .split('\n')
    // What the runtime itself puts there.
    .filter(
      (line) =>
        !/^[AC] \/(?:etc|etc\/(?:group|hosts|passwd|resolv\.conf|hostname|mtab)|run|run\/.*|dev|proc|sys)$/.test(
          line,
        ),
    )
    .filter((line) => line !== '')
  expect('nothing outside of the volume', changed.length === 0, changed)
  say('SIGTERM ends it with 0, and nothing was written outside of the volume')

  const verification = ['--rm', ...strictly(), '--user', '12345:0', ...mountOf(trial, 'life', 'named')]
  const sound = podman.run(['run', ...verification, trial.image, 'verify'])
  expect('sound data', sound.endsWith('is sound'), sound)
  say('a command in the place of the server finds the data sound')
}

interface Container {
  readonly name: string
  /** Of its first process, as this machine sees it. */
  pid(): number
  available(): Promise<void>
  /** Waits for its end. @returns the exit code */
  ended(): Promise<number>
  siftd(args: readonly string[], input?: string | Buffer, how?: { readonly mayFail: boolean }): string
  findsAFilm(): void
  stopWell(): void
}

/** Options that take everything away that the server does not need. */
const strictly = (): readonly string[] => [
  ...['--read-only', '--read-only-tmpfs=false', '--cap-drop', 'all', '--security-opt', 'no-new-privileges'],
  ...['--network', 'none', '--memory', `${MEMORY_MIB}m`, ...modestLimits],
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
    const { code, out, errors } = podman.tried(['exec', '--interactive', name, 'siftd', ...args], input)
    if (code !== 0 && how?.mayFail !== true) throw fail(`siftd ${args.join(' ')}: ${out}\n${errors}`)
    return out
  }
  return {
    name,
    pid: () => Number(state('Pid')),
    async available() {
      const end = performance.now() + START_MS_MAX
      for (;;) {
        if (state('Status') !== 'running') throw fail(`has ended with ${state('ExitCode')}`)
        if (podman.tried(['exec', name, 'siftd', 'health']).code === 0) return
        if (performance.now() > end) throw fail('does not become available')
        await sleep(250)
      }
    },
    ended: async () => Number(podman.run(['wait', name])),
    siftd,
    findsAFilm() {
      const hits = siftd(['search', 'films', 'lihgthouse'])
      if (!hits.includes("The Lighthouse Keeper's Atlas")) throw fail(`does not find a film, but ${hits}`)
    },
    stopWell() {
      podman.run(['stop', '--time', '30', name])
      if (state('ExitCode') !== '0') throw fail(`was stopped with ${state('ExitCode')}`)
    },
  }
}

/** Options for a volume. */
function mountOf({ home }: ImageTrial, name: string, kind: 'named' | 'folder' | 'tmpfs'): readonly string[] {
  if (kind === 'named') return ['--volume', `${name}:${VOLUME}`]
  if (kind === 'tmpfs') return ['--tmpfs', `${VOLUME}:rw,mode=1777`]
  const folder = join(home, name)
  mkdirSync(folder)
  chownSync(folder, 12345, 12345)
  chmodSync(folder, 0o700)
  return ['--volume', `${folder}:${VOLUME}`]
}

/** Looks at the first process of a container through /proc. */
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
