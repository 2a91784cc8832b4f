/** Figures of a running sync, as metrics in the format of Prometheus. */
import { createServer, type Server } from 'node:http'
import type { Counter, Gauge } from 'prom-client'
import { LaunchError } from '../../launch/index.js'

export interface SyncFigures {
  readonly rows: Counter
  readonly documents: Counter
  readonly deletions: Counter
  readonly deadLetters: Gauge
  readonly lagSeconds: Gauge
  readonly lagBytes: Gauge
  readonly slotBytes: Gauge
  readonly isPaused: Gauge
  readonly isBroken: Gauge
  text(): Promise<string>
}

export async function syncFigures(): Promise<SyncFigures> {
  // Only a running sync needs the library; in-process use loads this module too.
  const { Counter, Gauge, Registry } = await import('prom-client')
  const registry = new Registry()
  const registers = [registry]
  const gauge = (name: string, help: string) => new Gauge({ name: `siftd_sync_${name}`, help, registers })
  const counter = (name: string, help: string) => new Counter({ name: `siftd_sync_${name}`, help, registers })
  return {
    rows: counter('rows_total', 'Row changes received'),
    documents: counter('documents_total', 'Documents added or replaced'),
    deletions: counter('deletions_total', 'Documents deleted'),
    deadLetters: gauge('dead_letters', 'Documents that the target refused'),
    lagSeconds: gauge(
      'lag_seconds',
      'Seconds from the commit of the last change until its document was indexed',
    ),
    lagBytes: gauge('lag_bytes', 'Bytes of log after the last confirmed change'),
    slotBytes: gauge('slot_bytes', 'Bytes of log that the database keeps for this sync'),
    isPaused: gauge('paused', '1 while the sync is paused'),
    isBroken: gauge('broken_indexes', 'Indexes whose documents cannot be read'),
    text: () => registry.metrics(),
  }
}

/** Serves `GET /metrics`. @param address such as `127.0.0.1:9464` @throws LaunchError if the address is invalid or taken */
export async function serveFigures(figures: SyncFigures, address: string): Promise<Server> {
  const [, host = '', port = ''] = /^\[?([^\]]*)\]?:(\d{1,5})$/.exec(address) ?? []
  if (port === '')
    throw new LaunchError(`\`metrics\` must be an address such as 127.0.0.1:9464, not ${address}`, 2)
  const server = createServer((request, answer) => {
    if (request.method !== 'GET' || request.url !== '/metrics') return void answer.writeHead(404).end()
    figures.text().then(
      (text) => answer.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(text),
      () => answer.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new LaunchError(`metrics: cannot listen on ${address}: ${error.code}`, 1)),
    )
    server.listen(Number(port), host || undefined, resolve)
  })
  return server
}
