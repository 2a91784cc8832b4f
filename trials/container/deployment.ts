/**
 * Checks that the container and service files agree with each other and with the program:
 *
 * 1. Every variable sets an option, and the credential of the unit is a secret.
 * 2. All use one port and one volume, write nowhere else, and do not run as root.
 * 3. The key comes from a file that is mounted at the path in its variable.
 * 4. Health checks use an existing command or route, with matching timeouts.
 * 5. Every orchestrator allows the same time for shutdown.
 * 6. All base images have the same release of Debian and of Node.js, and the package supports that Node.js.
 * 7. Files that the Dockerfile copies and runs, and that its scripts read, exist and are in the build context.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { commands } from '../../ts/cli/program.js'
import { flagsOf, variablesOf } from '../../ts/launch/names.js'
import { rows } from '../../ts/launch/table.js'

/** Paths of the files in the repository. */
export const paths = [
  'Dockerfile',
  '.dockerignore',
  'compose.yaml',
  'deploy/systemd/siftd.service',
  'deploy/kubernetes/kustomization.yaml',
  'deploy/kubernetes/service.yaml',
  'deploy/kubernetes/statefulset.yaml',
] as const

export type Texts = Readonly<Record<(typeof paths)[number], string>>

/** Seconds that each orchestrator waits between SIGTERM and SIGKILL. */
const STOP_SECONDS = 30
/** Timeout of a container health check. `siftd health` times out after four seconds, one second earlier. */
const CHECK_SECONDS = 5
const PROBE_SECONDS = 4

// biome-ignore lint/suspicious/noExplicitAny: parsed files can have any shape; a missing part is reported.
type Parsed = any

interface Instruction {
  readonly word: string
  readonly args: string
}

/** Instructions of a Dockerfile, without comments and with continued lines joined. */
export const instructionsOf = (text: string): readonly Instruction[] =>
  text
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, word = '', args = ''] = /^(\w+)\s*(.*)$/.exec(line) ?? []
      return { word, args }
    })

/** Parses a systemd unit: the values of each key, in order. */
function unitOf(text: string): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, readonly string[]>()
  for (const [, key = '', value = ''] of text.matchAll(/^([A-Z]\w+)=(.*)$/gm))
    values.set(key, [...(values.get(key) ?? []), value])
  return values
}

const yamlOf = (text: string): Parsed => {
  const [document, ...more] = parseAllDocuments(text)
  if (document === undefined || 'empty' in document || more.length > 0 || document.errors.length > 0)
    throw new Error('expected one YAML document')
  return document.toJS() as Parsed
}

const variables = new Set(
  rows.flatMap(([name, row]) =>
    variablesOf(name, row).flatMap((word) => (row.isSecret ? [word, `${word}_FILE`] : [word])),
  ),
)
const secrets = new Set(rows.flatMap(([name, row]) => (row.isSecret ? flagsOf(name, row) : [])))

/** Returns a message for each disagreement. @param root path of the repository */
export function disagreements(texts: Texts, root: string): readonly string[] {
  const found: string[] = []
  const same = (what: string, ...values: readonly unknown[]): void => {
    if (new Set(values.map((value) => JSON.stringify(value) ?? 'absent')).size > 1)
      found.push(`${what}: ${values.map((value) => JSON.stringify(value) ?? 'absent').join(', ')}`)
  }
  const must = (what: string, isSo: boolean): void => {
    if (!isSo) found.push(what)
  }

  const instructions = instructionsOf(texts.Dockerfile)
  const last = (word: string): string => instructions.findLast((one) => one.word === word)?.args ?? ''
  const image = Object.fromEntries(
    [...last('ENV').matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
  ) as Readonly<Record<string, string>>
  const compose = yamlOf(texts['compose.yaml'])
  const service = compose.services.siftd
  const unit = unitOf(texts['deploy/systemd/siftd.service'])
  const set = yamlOf(texts['deploy/kubernetes/statefulset.yaml'])
  const pod = set.spec.template.spec
  const container = pod.containers[0]
  const kustomization = yamlOf(texts['deploy/kubernetes/kustomization.yaml'])
  const podEnv = Object.fromEntries(
    container.env.map(({ name, value }: { name: string; value: string }) => [name, value]),
  ) as Readonly<Record<string, string>>
  const unitEnv = Object.fromEntries((unit.get('Environment') ?? []).map((pair) => pair.split('=', 2)))

  // 1
  for (const [where, env] of Object.entries({
    Dockerfile: image,
    compose: service.environment,
    unit: unitEnv,
    pod: podEnv,
  }))
    for (const name of Object.keys(env))
      must(`${where}: ${name} sets no option`, ['HOME', 'TMPDIR'].includes(name) || variables.has(name))
  for (const credential of unit.get('LoadCredential') ?? [])
    must(`unit: ${credential} is not a secret`, secrets.has(credential.split(':')[0] ?? ''))
  for (const env of [service.environment, unitEnv, podEnv]) same('SVC_ENV', env.SVC_ENV, 'production')

  // 2
  const port = Number(/:(\d+)$/.exec(image.SVC_HTTP_ADDR ?? '')?.[1])
  const published = String(service.ports[0]).split(':')
  same('port', port, ...[last('EXPOSE'), published.at(-1), published.at(-2)].map(Number))
  same('port', port, container.ports[0].containerPort, Number(unitEnv.SVC_HTTP_ADDR?.split(':')[1]))
  const [exposed] = yamlOf(texts['deploy/kubernetes/service.yaml']).spec.ports
  same('port of the service', [port, container.ports[0].name], [exposed.port, exposed.targetPort])
  must('compose: the port is open to other machines', published[0] === '127.0.0.1')
  const [, target] = String(service.volumes[0]).split(':')
  const data = container.volumeMounts.filter(({ readOnly }: { readOnly?: boolean }) => readOnly !== true)
  same('volume', last('VOLUME'), last('WORKDIR'), image.HOME, image.TMPDIR, target, data[0]?.mountPath)
  same('volumes', 1, data.length, service.volumes.length, set.spec.volumeClaimTemplates.length)
  same('name of the volume', data[0]?.name, set.spec.volumeClaimTemplates[0]?.metadata.name)
  same('state directory', [`%S/${unit.get('StateDirectory')?.[0]}`], unit.get('WorkingDirectory'), [
    unitEnv.HOME,
  ])
  const [uid, gid] = last('USER').split(':').map(Number)
  must('Dockerfile: USER must be a nonzero number with group 0', Number(uid) > 0 && gid === 0)
  same('group of files', uid, pod.securityContext.fsGroup)
  same(
    'users other than root',
    true,
    pod.securityContext.runAsNonRoot,
    unit.get('DynamicUser')?.[0] === 'yes',
  )
  same('read-only root', true, service.read_only, container.securityContext.readOnlyRootFilesystem)
  same('read-only system', unit.get('ProtectSystem'), ['strict'])
  same('capabilities', ['ALL'], service.cap_drop, container.securityContext.capabilities.drop)
  same('replicas of one writer', 1, set.spec.replicas)

  // 3
  const mounted = container.volumeMounts.find(({ readOnly }: { readOnly?: boolean }) => readOnly)
  const [generated] = kustomization.secretGenerator
  same('key of the pod', podEnv.SVC_MASTER_KEY_FILE, `${mounted?.mountPath}/${generated.files[0]}`)
  const secret = pod.volumes.find(({ name }: { name: string }) => name === mounted?.name)?.secret
  same('secret of the pod', secret?.secretName, generated.name)
  same('key of compose', service.environment.SVC_MASTER_KEY_FILE, `/run/secrets/${service.secrets[0]}`)
  must('compose: its secret is not defined', service.secrets[0] in compose.secrets)

  // 4
  const [, seconds, check = '[]'] = /--timeout=(\d+)s .*CMD (.*)$/.exec(last('HEALTHCHECK')) ?? []
  const [program, command] = JSON.parse(check) as readonly string[]
  same('program of the check', JSON.parse(last('ENTRYPOINT')), [program])
  same('seconds of a check', Number(seconds), CHECK_SECONDS)
  must(
    `siftd has no command ${command}`,
    commands.some(({ name }) => name === command),
  )
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
    const { httpGet, timeoutSeconds } = container[probe] ?? {}
    // Liveness must not depend on readiness: a restart does not help a server that is not ready.
    const path = probe === 'readinessProbe' ? '/ready' : '/health'
    same(probe, httpGet, { path, port: container.ports[0].name })
    same(probe, timeoutSeconds, PROBE_SECONDS)
  }

  // 5
  const stop = [service.stop_grace_period, `${pod.terminationGracePeriodSeconds}s`]
  same('time to stop', `${STOP_SECONDS}s`, ...stop, `${unit.get('TimeoutStopSec')?.[0]}s`)
  same('signal to stop', last('STOPSIGNAL'), 'SIGTERM')

  // 6
  const bases = Object.fromEntries(
    instructions.flatMap(({ word, args }) => (word === 'ARG' && args.includes('=') ? [args.split('=')] : [])),
  ) as Readonly<Record<string, string>>
  const nodes = [
    /node:(\d+)-/.exec(bases.NODE_IMAGE ?? '')?.[1],
    /nodejs(\d+)-/.exec(bases.RUNTIME_IMAGE ?? '')?.[1],
  ]
  same('release of Node.js', ...nodes)
  must('Node.js is too old', Number(nodes[0]) >= 20)
  const debians = { bookworm: '12', trixie: '13' } as Readonly<Record<string, string>>
  const named = [bases.NODE_IMAGE, bases.RUST_IMAGE].map(
    (base) => debians[/-([a-z]+)(?:-slim)?$/.exec(base ?? '')?.[1] ?? ''],
  )
  same('release of Debian', ...named, /-debian(\d+)$/.exec(bases.RUNTIME_IMAGE ?? '')?.[1])

  // 7
  const ignored = texts['.dockerignore'].split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const allowed = ignored.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
  same('first line of .dockerignore', ignored[0], '*')
  for (const path of allowed) must(`.dockerignore: ${path} does not exist`, existsSync(join(root, path)))
  const stages = new Set<string>()
  for (const { word, args } of instructions) {
    const [, from, stage] = /^(\S+)(?: AS (\S+))?$/.exec(args) ?? []
    if (word === 'FROM') {
      must(`Dockerfile: unknown base image ${from}`, stages.has(from!) || /^\$\{\w+\}$/.test(from!))
      stages.add(stage!)
    }
    const source = /--from=(\S+)/.exec(args)?.[1]
    if (word === 'COPY' && source !== undefined) must(`Dockerfile: no stage ${source}`, stages.has(source))
    else if (word === 'COPY')
      for (const path of args.split(' ').slice(0, -1))
        must(`Dockerfile: ${path} is not in the context`, path === '.' || allowed.includes(path))
    for (const [script] of args.matchAll(/scripts\/[\w-]+\.mjs/g))
      must(`Dockerfile: ${script} does not exist`, existsSync(join(root, script)))
  }
  const run = [...texts.Dockerfile.matchAll(/scripts\/([\w-]+\.mjs)/g)].map(([, name]) => name!)
  for (const path of readByScripts(root, run))
    must(
      `scripts: ${path} is not in the context`,
      allowed.some((one) => path === one || path.startsWith(`${one}/`)),
    )
  return found
}

/** Folders that exist only in a clone, or that the scripts make. */
const apart = ['.git', 'dist', 'node_modules', 'npm']

/** Returns the paths of the repository that scripts, and the scripts that they use, read. */
function readByScripts(root: string, scripts: readonly string[]): ReadonlySet<string> {
  const read = new Set<string>()
  const seen = new Set(scripts)
  for (const name of seen) {
    const path = join(root, 'scripts', name)
    if (!existsSync(path)) continue
    const text = readFileSync(path, 'utf8')
    for (const [, used] of text.matchAll(/'(?:\.\/)?([\w-]+\.mjs)'/g)) seen.add(used!)
    const named = /(?:join\(root, |inRoot\(|config: )'([^']+)'(?:, '([^']+)')?/g
    for (const [, first, second] of text.matchAll(named))
      if (!apart.includes(first!)) read.add(second === undefined ? first! : `${first}/${second}`)
  }
  return read
}
