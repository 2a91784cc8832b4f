/**
 * Checks that the files of `deploy/tracing` agree with each other and with the program:
 *
 * 1. Every variable of siftd sets an option, and its endpoint is the receiver of the collector.
 * 2. Pipelines name defined components, and the collector sends to a service that runs.
 * 3. Published ports are open to this machine only; images have a version.
 */
import { parse } from 'yaml'
import { variablesOf } from '../../ts/launch/names.js'
import { rows } from '../../ts/launch/table.js'

export const tracingPaths = ['deploy/tracing/compose.yaml', 'deploy/tracing/collector.yaml'] as const

export type TracingTexts = Readonly<Record<(typeof tracingPaths)[number], string>>

// biome-ignore lint/suspicious/noExplicitAny: parsed files can have any shape; a missing part is reported.
type Parsed = any

/** Ports of Jaeger: OTLP over gRPC, and its page. */
const JAEGER_PORTS = [4317, 16686]

const variables = new Set(rows.flatMap(([name, row]) => variablesOf(name, row)))

/** Returns a message for each disagreement. */
export function tracingDisagreements(texts: TracingTexts): readonly string[] {
  const found: string[] = []
  const must = (what: string, isSo: boolean): void => {
    if (!isSo) found.push(what)
  }
  const { services, volumes }: Parsed = parse(texts['deploy/tracing/compose.yaml'])
  const collector: Parsed = parse(texts['deploy/tracing/collector.yaml'])

  // 1
  const { environment } = services.siftd
  for (const name of Object.keys(environment)) must(`siftd: ${name} sets no option`, variables.has(name))
  const endpoint = new URL(environment.SVC_OTLP_ENDPOINT)
  must(`siftd: there is no service ${endpoint.hostname}`, endpoint.hostname in services)
  const received = String(collector.receivers.otlp.protocols.http.endpoint).split(':')[1]
  must(
    `siftd sends to port ${endpoint.port}, the collector listens on ${received}`,
    endpoint.port === received,
  )
  const [config = ''] = services.collector.volumes
  const mounted = String(config).split(':')[1]
  must('the collector does not read its file', services.collector.command.includes(`--config=${mounted}`))
  must('the file of the collector does not exist', String(config).startsWith('./collector.yaml:'))

  // 2
  for (const [kind, names] of Object.entries<readonly string[]>(collector.service.pipelines.traces))
    for (const name of names)
      must(`the pipeline names an undefined one of ${kind}: ${name}`, name in collector[kind])
  const [host = '', port] = String(collector.exporters.otlp.endpoint).split(':')
  must(`collector: there is no service ${host}`, host in services)
  must(`collector: Jaeger does not listen on ${port}`, JAEGER_PORTS.includes(Number(port)))

  // 3
  for (const [name, service] of Object.entries<Parsed>(services)) {
    must(`${name}: its image has no version`, 'build' in service || /:\d+\.\d+\.\d+$/.test(service.image))
    for (const one of service.ports ?? [])
      must(`${name}: a port is open to other machines`, String(one).startsWith('127.0.0.1:'))
    for (const one of service.volumes ?? [])
      must(`${name}: a volume is not defined`, /^\.\//.test(one) || String(one).split(':')[0]! in volumes)
  }
  return found
}
