/** Sets up traces from the launch options. The code that records spans is loaded only if they are on. */
import { hostname } from 'node:os'
import type { Embedders } from '../embedding/index.js'
import type { Engine } from '../engine/index.js'
import type { EngineRequest, InstanceRequest } from '../instance/index.js'
import type { LaunchOptions } from '../launch/index.js'
import { type Outbound, openOutbound } from '../outbound/index.js'
import type { Rerankers } from '../reranking/index.js'
import { type Logger, moduleLog } from '../telemetry/index.js'
import type { CallPurpose, Tracer } from '../tracing/index.js'

/** Wraps services so that their work is recorded. Returns them unchanged while tracing is off. */
export interface Tracing {
  readonly tracer: Tracer | null
  outbound(outbound: Outbound, purpose: CallPurpose): Outbound
  embedders(embedders: Embedders): Embedders
  rerankers(rerankers: Rerankers): Rerankers
  /** For opening an instance. */
  readonly engine: Pick<EngineRequest, 'wrapEngine'>
  readonly batches: Pick<InstanceRequest, 'aroundBatch'>
  close(): Promise<void>
}

const off: Tracing = {
  ...{ tracer: null, engine: {}, batches: {} },
  outbound: (outbound) => outbound,
  embedders: (embedders) => embedders,
  rerankers: (rerankers) => rerankers,
  close: async () => undefined,
}

export async function openTracing(
  { otlpEndpoint: endpoint, ...options }: LaunchOptions,
  { version, log }: { readonly version: string; readonly log: Logger },
): Promise<Tracing> {
  if (endpoint === null) return off
  const { Tracer, tracedBatch, tracedEmbedders, tracedEngine, tracedOutbound, tracedRerankers } =
    await import('../tracing/index.js')
  // The operator chooses the address, so it may be in a private network.
  const outbound = openOutbound({ allowedNetworks: 'any' })
  const lines = moduleLog(log, 'instance')
  const tracer = new Tracer({
    ...{ outbound, endpoint, headers: options.otlpHeaders },
    sampleRatio: options.otlpSampleRatio,
    showsQueries: options.otlpQueryText,
    service: { version, instanceId: hostname() },
    report: (failure) => {
      if (failure === null) lines.info('the collector of traces takes spans again')
      else lines.warn({ reason: failure }, 'spans are dropped: the collector of traces does not take them')
    },
  })
  return {
    tracer,
    outbound: (wrapped, purpose) => tracedOutbound(wrapped, tracer, purpose),
    embedders: (embedders) => tracedEmbedders(embedders, tracer),
    rerankers: (rerankers) => tracedRerankers(rerankers, tracer),
    engine: { wrapEngine: (engine: Engine) => tracedEngine(engine, tracer) },
    batches: { aroundBatch: (batch, run) => tracedBatch(tracer, batch, run) },
    async close() {
      await tracer.close()
      await outbound.close()
    },
  }
}
