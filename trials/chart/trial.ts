/**
 * Renders the Helm chart and checks it:
 *
 * 1. Every rendered resource matches the schemas of Kubernetes, of the oldest and the newest supported version.
 * 2. Values that cannot work are refused.
 * 3. The pod agrees with the one of `deploy/kubernetes`, except for the bucket.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { parse, parseAllDocuments } from 'yaml'
import { rendered, root, validated } from './tools.js'

const VERSIONS = ['1.27', '1.37']

const bucket = ['replicas=3', 'bucket.url=s3://backups/siftd']
const accepted: readonly (readonly string[])[] = [
  [],
  bucket,
  [
    ...bucket,
    ...['bucket.endpoint=http://minio:9000', 'bucket.region=eu-central-1', 'bucket.credentialsSecret=aws'],
    ...['bucket.allowedNetworks=10.0.0.0/8', 'env.SVC_LOG_LEVEL=WARN', 'imagePullSecrets[0].name=registry'],
    ...['serviceMonitor.enabled=true', 'serviceMonitor.keySecret=metrics', 'serviceMonitor.labels.release=p'],
    ...['volume.storageClass=fast', 'nodeSelector.disk=ssd', 'podAnnotations.note=x', 'fsGroup=null'],
    ...['tolerations[0].key=search', 'tolerations[0].operator=Exists', 'service.annotations.a=b'],
    'serviceAccount.annotations.role=arn',
  ],
]
const refused: readonly (readonly [values: readonly string[], says: RegExp])[] = [
  [['replicas=3'], /replicas/],
  [['replicas=0'], /replicas/],
  [[...bucket, 'bucket.url=http://backups'], /url/],
  [[...bucket, 'bucket.ack=none'], /ack/],
  [['replica=2'], /replica/],
  [['env.LOG_LEVEL=WARN'], /LOG_LEVEL/],
  [['volume.size=20'], /size/],
]

// biome-ignore lint/suspicious/noExplicitAny: a wrong shape fails the check.
type Resource = any

const resourcesOf = (text: string): readonly Resource[] =>
  parseAllDocuments(text, { version: '1.1' })
    .map((one) => one.toJS() as Resource)
    .filter((one) => one !== null)

/** @param directory for rendered files @returns a line for each problem */
export async function chartProblems(directory: string): Promise<readonly string[]> {
  const problems: string[] = []
  for (const [at, values] of accepted.entries()) {
    const { isSuccess, text } = await rendered(values)
    const path = join(directory, `${at}.yaml`)
    await writeFile(path, text)
    if (!isSuccess) problems.push(`${values}: ${text}`)
    else
      for (const version of VERSIONS) {
        const found = await validated(path, version)
        if (!found.isSuccess) problems.push(`Kubernetes ${version}, ${values}: ${found.text}`)
      }
  }
  for (const [values, says] of refused) {
    const { isSuccess, text } = await rendered(values)
    if (isSuccess || !says.test(text))
      problems.push(`${values} is not refused with a reason: ${text.slice(0, 200)}`)
  }
  const plain = parse(await readFile(join(root, 'deploy/kubernetes/statefulset.yaml'), 'utf8')) as Resource
  const all = resourcesOf((await rendered([])).text)
  const shared = resourcesOf((await rendered(bucket)).text)
  const podIn = (resources: readonly Resource[]) =>
    resources.find(({ kind }) => kind === 'StatefulSet')?.spec.template.spec
  problems.push(...differences(plain.spec.template.spec, podIn(all)))
  const env = Object.fromEntries(
    podIn(shared).containers[0].env.map(({ name, value }: Resource) => [name, value]),
  )
  if (env.SVC_ADVERTISED_URL !== 'http://$(POD_NAME).search-siftd-peers.apps.svc:7700')
    problems.push(`the address of a server is ${env.SVC_ADVERTISED_URL}`)
  const kinds = (resources: readonly Resource[]) => resources.map(({ kind }) => kind).join()
  if (kinds(all).includes('PodDisruptionBudget') || !kinds(shared).includes('PodDisruptionBudget'))
    problems.push('a disruption budget is for several servers')
  return problems
}

/** Returns where the pod of the chart differs from the plain one. */
function differences(plain: Resource, pod: Resource): readonly string[] {
  const [one, other] = [plain.containers[0], pod.containers[0]]
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['env', one.env, other.env],
    ['ports', one.ports, other.ports],
    ['startupProbe', one.startupProbe, other.startupProbe],
    ['readinessProbe', one.readinessProbe, other.readinessProbe],
    ['livenessProbe', one.livenessProbe, other.livenessProbe],
    ['resources', one.resources, other.resources],
    ['securityContext', one.securityContext, other.securityContext],
    ['securityContext of the pod', plain.securityContext, pod.securityContext],
    ['volumeMounts', one.volumeMounts, other.volumeMounts],
    ['volumes', plain.volumes, pod.volumes],
    ['time to stop', plain.terminationGracePeriodSeconds, pod.terminationGracePeriodSeconds],
  ]
  return pairs
    .filter(([, wanted, found]) => !isDeepStrictEqual(wanted, found))
    .map(([name, wanted, found]) => `${name}: ${JSON.stringify(wanted)} and ${JSON.stringify(found)}`)
}
