/** Runs the systemd unit with all its restrictions, in a container whose first process is systemd. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { lowLimits, type Podman } from './podman.js'

export interface UnitTrial {
  readonly podman: Podman
  /** Image with Node.js, npm and systemd. */
  readonly base: string
  readonly engine: 'native' | 'fallback'
  readonly version: string
  /** Build options with which npm finds the packages. */
  readonly npmrc: readonly string[]
  readonly home: string
  readonly say: (what: string) => void
}

const root = new URL('../../../', import.meta.url)
const NAME = 'unit'
const START_MS_MAX = 120_000

/** Installs siftd as docs/install.md describes. */
const containerfile = (base: string, version: string): string => `FROM ${base}
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc npm install --global --prefix /opt/siftd siftd@${version}
COPY siftd.service /etc/systemd/system/siftd.service
COPY films.ndjson /films.ndjson
RUN mkdir -p /etc/siftd && (umask 077 && head -c 32 /dev/urandom | base64 > /etc/siftd/master-key) \\
  && echo SVC_LOG_LEVEL=debug > /etc/siftd/environment \\
  && systemctl enable siftd
# systemd hands credentials over by mounts that it expects to be shared, as they are where it starts a machine.
CMD ["/bin/sh", "-c", "mount --make-rshared / && exec /sbin/init"]
`

/** @throws Error at the first failed check */
export async function tryUnit({ podman, base, engine, version, npmrc, home, say }: UnitTrial): Promise<void> {
  const context = join(home, 'unit')
  mkdirSync(context)
  writeFileSync(join(context, 'Containerfile'), containerfile(base, version))
  for (const path of ['deploy/systemd/siftd.service', 'samples/films.ndjson'])
    cpSync(fileURLToPath(new URL(path, root)), join(context, path.split('/').at(-1)!))
  await podman.build('localhost/siftd-trial/unit', join(context, 'Containerfile'), context, npmrc)
  const whole = ['--systemd=always', '--privileged', '--network', 'none', ...lowLimits]
  podman.run(['run', '--detach', '--name', NAME, ...whole, 'localhost/siftd-trial/unit'])

  const inside = (...command: string[]): string => podman.run(['exec', NAME, ...command])
  const property = (name: string): string =>
    inside('systemctl', 'show', 'siftd', '--value', '--property', name)
  const journal = (): string => inside('journalctl', '--unit', 'siftd', '--no-pager', '--output', 'cat')
  const siftd = (...args: string[]): string =>
    inside('env', 'SVC_KEY_FILE=/etc/siftd/master-key', '/opt/siftd/bin/siftd', ...args)
  const expect = (what: string, isSo: boolean, found: unknown): void => {
    if (!isSo) throw new Error(`expected ${what}, found ${JSON.stringify(found)}:\n${journal()}`)
  }
  const available = async (): Promise<void> => {
    const end = performance.now() + START_MS_MAX
    while (podman.tryRun(['exec', NAME, '/opt/siftd/bin/siftd', 'health']).code !== 0) {
      expect('a server that becomes available', performance.now() < end, 'none')
      await sleep(250)
    }
  }

  await available()
  const found = /^Engine: +"(\w+)/m.exec(journal())?.[1]
  expect(`the ${engine} engine`, found === engine, found)
  const pid = property('MainPID')
  const status = inside('cat', `/proc/${pid}/status`)
  expect('a dynamic user', /^Uid:\s+6\d{4}\s/m.test(status), status)
  expect('no capabilities', /^CapBnd:\s+0+$/m.test(status) && /^CapEff:\s+0+$/m.test(status), status)
  expect('filtered system calls', /^Seccomp:\s+2$/m.test(status), status)
  say(
    `the unit starts the ${engine} engine as a dynamic user, without capabilities, with filtered system calls`,
  )

  siftd('import', '/films.ndjson', '--index', 'films')
  const isFound = (): void => {
    const hits = siftd('search', 'films', 'lihgthouse')
    expect('a film', hits.includes("The Lighthouse Keeper's Atlas"), hits)
  }
  isFound()
  const keyless = podman.tryRun(['exec', NAME, '/opt/siftd/bin/siftd', 'search', 'films'])
  expect('a refusal without the key', keyless.code === 1, keyless)
  inside('systemctl', 'reload', 'siftd')
  siftd('dump')
  const files = inside('ls', '-A', '/var/lib/private/siftd').split('\n').sort()
  expect(
    'data and dumps',
    ['data.ms', 'dumps'].every((name) => files.includes(name)),
    files,
  )
  say(
    '30 films are indexed and found with the key from the credential; data and dumps are in the state directory',
  )

  inside('systemctl', 'kill', '--signal', 'KILL', 'siftd')
  const end = performance.now() + START_MS_MAX
  while (property('NRestarts') === '0') {
    expect('a restart', performance.now() < end, property('ActiveState'))
    await sleep(250)
  }
  await available()
  isFound()
  say('after kill -9 systemd restarts it with the data')

  inside('systemctl', 'stop', 'siftd')
  const outcome = [property('Result'), property('ExecMainStatus'), property('ActiveState')].join()
  expect('a clean shutdown', outcome === 'success,0,inactive', outcome)
  const refused = /^.*(?:EPERM|Operation not permitted|SIGSYS).*$/m.exec(journal())
  expect('no refused system call', refused === null, refused?.[0])
  say('a stop ends it with 0, and its log reports no refused system call')
  podman.run(['rm', '--force', '--time', '0', NAME])
}
