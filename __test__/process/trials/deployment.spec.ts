import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { parseAllDocuments } from 'yaml'
import { disagreements, paths, type Texts } from '../../../trials/container/deployment.js'
import { type TracingTexts, tracingDisagreements, tracingPaths } from '../../../trials/container/tracing.js'
import { tempDir } from '../../backup/archives.js'
import type { Requirement } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const texts = Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')])) as Texts

/** The highest exposure that `systemd-analyze security` calls OK, in tenths. */
const EXPOSURE_MAX = 20

const program = (name: string, args: readonly string[], why: string): Requirement => ({
  missing: spawnSync(name, args).status === 0 ? null : why,
  isDemanded: false,
})
const analyzer = program(
  'systemd-analyze',
  ['security', '--offline=yes', '--threshold=100', join(root, 'deploy/systemd/siftd.service')],
  'systemd-analyze 250 or later is not installed',
)
const kubectl = program('kubectl', ['kustomize', '--help'], 'kubectl is not installed')

test('image, compose file, unit and manifests agree with each other and with the program', (t) => {
  t.deepEqual(disagreements(texts, root), [])
})

/** Each mistake: file, original text, replacement, and pattern of the expected message. */
const mistakes: readonly (readonly [keyof Texts, string, string, RegExp])[] = [
  ['Dockerfile', 'SVC_HTTP_ADDR', 'SVC_HTTP_ADR', /sets no option/],
  ['Dockerfile', '0.0.0.0:7700', '0.0.0.0:7701', /^port/],
  ['Dockerfile', 'EXPOSE 7700', 'EXPOSE 7070', /^port/],
  ['Dockerfile', 'USER 65532:0', 'USER 0:0', /USER/],
  ['Dockerfile', 'TMPDIR=/var/lib/siftd', 'TMPDIR=/tmp', /^volume/],
  ['Dockerfile', '"health"]', '"healthy"]', /no command/],
  ['Dockerfile', 'rust:1-bookworm', 'rust:1-trixie', /Debian/],
  ['Dockerfile', 'nodejs24', 'nodejs22', /Node\.js/],
  ['Dockerfile', 'scripts/pack.mjs', 'scripts/packs.mjs', /does not exist/],
  ['Dockerfile', '--from=layout', '--from=layuot', /no stage/],
  ['.dockerignore', '!package-lock.json\n', '', /not in the context/],
  ['.dockerignore', '!packages\n', '', /^scripts: packages is not in the context/],
  ['.dockerignore', '!samples\n', '', /^scripts: samples\/films.ndjson is not in the context/],
  ['.dockerignore', '!docs/errors.md\n', '', /^scripts: docs\/errors.md is not in the context/],
  ['.dockerignore', '!tsconfig.program.json\n', '', /^scripts: tsconfig.program.json is not in the context/],
  ['compose.yaml', '127.0.0.1:7700:7700', '0.0.0.0:7700:7700', /other machines/],
  ['compose.yaml', 'read_only: true', 'read_only: false', /read-only root/],
  ['compose.yaml', '/run/secrets/master-key', '/run/secrets/key', /key of compose/],
  ['compose.yaml', 'stop_grace_period: 30s', 'stop_grace_period: 2s', /time to stop/],
  ['deploy/systemd/siftd.service', 'LoadCredential=master-key', 'LoadCredential=key', /not a secret/],
  ['deploy/systemd/siftd.service', 'WorkingDirectory=%S/siftd', 'WorkingDirectory=/', /state directory/],
  [
    'deploy/kubernetes/kustomization.yaml',
    'name: siftd\n    files',
    'name: keys\n    files',
    /secret of the pod/,
  ],
  ['deploy/kubernetes/service.yaml', 'targetPort: http', 'targetPort: https', /port of the service/],
  ['deploy/kubernetes/statefulset.yaml', 'path: /health', 'path: /healthz', /Probe/],
  ['deploy/kubernetes/statefulset.yaml', 'path: /health', 'path: /ready', /startupProbe/],
  ['deploy/kubernetes/statefulset.yaml', 'path: /ready', 'path: /health', /readinessProbe/],
  ['deploy/kubernetes/statefulset.yaml', 'replicas: 1', 'replicas: 2', /replicas/],
  ['deploy/kubernetes/statefulset.yaml', 'mountPath: /var/lib/siftd', 'mountPath: /data', /^volume/],
]

test('each mistake in the deployment files is found', (t) => {
  for (const [path, from, to, expected] of mistakes) {
    t.true(texts[path].includes(from), `${path} holds ${from}`)
    const found = disagreements({ ...texts, [path]: texts[path].replace(from, to) }, root)
    t.true(
      found.some((one) => expected.test(one)),
      `${path}, ${to}: ${found.join('; ')}`,
    )
  }
})

const tracing = Object.fromEntries(
  tracingPaths.map((path) => [path, readFileSync(join(root, path), 'utf8')]),
) as TracingTexts

/** Each mistake: file, original text, replacement, and pattern of the expected message. */
const tracingMistakes: readonly (readonly [keyof TracingTexts, string, string, RegExp])[] = [
  [
    'deploy/tracing/compose.yaml',
    'SVC_OTLP_ENDPOINT:',
    'SVC_OTLP_END:\n      SVC_OTLP_ENDPOINT:',
    /no option/,
  ],
  ['deploy/tracing/compose.yaml', 'collector:4318', 'collector:4317', /listens on 4318/],
  ['deploy/tracing/compose.yaml', 'http://collector:', 'http://otel:', /no service otel/],
  ['deploy/tracing/compose.yaml', '127.0.0.1:16686', '0.0.0.0:16686', /other machines/],
  ['deploy/tracing/compose.yaml', 'jaeger:2.11.0', 'jaeger:latest', /no version/],
  [
    'deploy/tracing/collector.yaml',
    'processors: [memory_limiter, batch]',
    'processors: [batches]',
    /batches/,
  ],
  ['deploy/tracing/collector.yaml', 'jaeger:4317', 'jaeger:4318', /does not listen/],
]

test('the compose file with traces agrees with its collector, and each mistake in them is found', (t) => {
  t.deepEqual(tracingDisagreements(tracing), [])
  for (const [path, from, to, expected] of tracingMistakes) {
    t.true(tracing[path].includes(from), `${path} holds ${from}`)
    const found = tracingDisagreements({ ...tracing, [path]: tracing[path].replace(from, to) })
    t.true(
      found.some((one) => expected.test(one)),
      `${path}, ${to}: ${found.join('; ')}`,
    )
  }
})

test('the manifests and the Dockerfile example have the version of the package', (t) => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  t.regex(texts['deploy/kubernetes/kustomization.yaml'], new RegExp(`newTag: ${version}$`, 'm'))
  t.true(texts.Dockerfile.includes(`VERSION=${version} `), 'the example in its first comment')
})

test('--help of the trial names every option', (t) => {
  const main = fileURLToPath(new URL('../../../trials/container/main.js', import.meta.url))
  const { status, stdout } = spawnSync(process.execPath, [main, '--help'], { encoding: 'utf8' })
  t.is(status, 0)
  for (const option of ['bases', 'only', 'runtime', 'home']) t.true(stdout.includes(`--${option} `), option)
})

testNeeding([analyzer])('systemd-analyze accepts the unit and rates its protection as OK', async (t) => {
  const unit = join(await tempDir(t), 'siftd.service')
  // siftd need not be installed on this machine.
  const text = texts['deploy/systemd/siftd.service'].replace(/^ExecStart=.*$/m, 'ExecStart=/bin/true')
  await writeFile(unit, text)
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' })
  t.deepEqual([status, stdout, stderr.replaceAll(/^(?!.*siftd\.service).*\n/gm, '')], [0, '', ''])
  const security = ['security', '--offline=yes', `--threshold=${EXPOSURE_MAX}`, unit]
  t.is(spawnSync('systemd-analyze', security).status, 0)
  await writeFile(unit, text.replaceAll(/^(?:SystemCall|Private|Protect|Restrict).*$/gm, ''))
  t.not(spawnSync('systemd-analyze', security).status, 0, 'a unit without protection is rejected')
})

testNeeding([kubectl])('kustomize builds the manifests with a key from a file', async (t) => {
  const folder = await tempDir(t)
  await cp(join(root, 'deploy/kubernetes'), folder, { recursive: true })
  await writeFile(join(folder, 'master-key'), 'a-key-of-a-test\n')
  const built = execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8' })
  const objects = parseAllDocuments(built).map((one) => one.toJS() as Record<string, never>)
  t.deepEqual(objects.map(({ kind }) => String(kind)).sort(), ['Secret', 'Service', 'StatefulSet'])
  const [secret, service, set] = ['Secret', 'Service', 'StatefulSet'].map(
    (name) => objects.find(({ kind }) => kind === name),
    // biome-ignore lint/suspicious/noExplicitAny: a wrong shape fails the test.
  ) as any[]
  t.is(set.spec.template.spec.volumes[0].secret.secretName, secret.metadata.name)
  t.is(Buffer.from(secret.data['master-key'], 'base64').toString(), 'a-key-of-a-test\n')
  t.deepEqual(service.spec.selector, set.spec.template.metadata.labels)
  t.deepEqual(set.spec.selector.matchLabels, set.spec.template.metadata.labels)
})
