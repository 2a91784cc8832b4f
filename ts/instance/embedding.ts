/** Sets up calls to other hosts, and embedders, from the launch options. */
import { resolve } from 'node:path'
import { type Embedders, openEmbedders, openModels } from '../embedding/index.js'
import type { LaunchOptions } from '../launch/index.js'
import { type Outbound, openOutbound } from '../outbound/index.js'
import { openRerankers, type Rerankers } from '../reranking/index.js'
import { type Logger, moduleLog } from '../telemetry/index.js'

/** Outgoing calls, embedders and rerankers, including the models that run in this process. */
export interface Embedding {
  readonly outbound: Outbound
  readonly embedders: Embedders
  readonly rerankers: Rerankers
  close(): Promise<void>
}

/** Source: vectors §2.3, §5.2. */
export function openEmbedding({
  options,
  version,
  cores,
  log,
  wrapOutbound = (outbound) => outbound,
}: {
  readonly options: LaunchOptions
  readonly version: string
  /** Cores that this process may use. */
  readonly cores: number
  readonly log: Logger
  /** Observes outgoing calls. Absent: nothing does. */
  readonly wrapOutbound?: (outbound: Outbound, purpose: 'embedding' | 'reranking') => Outbound
}): Embedding {
  const outbound = openOutbound({ allowedNetworks: options.experimentalAllowedIpNetworks })
  const models = openModels({
    outbound,
    directory: resolve(options.modelsDir),
    hubUrl: options.modelHubUrl,
    hubToken: options.modelHubToken,
    threads: Math.min(options.maxEmbeddingThreads ?? cores, cores),
    version,
    report: (line) => moduleLog(log, 'instance').info(line),
  })
  const modes = options.experimentalConfigEmbedderFailureModes
  const embedders = openEmbedders({
    outbound: wrapOutbound(outbound, 'embedding'),
    models,
    defaults: { openAiKey: options.openaiApiKey, ollamaUrl: options.ollamaUrl },
    timeoutMs: options.experimentalRestEmbedderTimeoutSeconds * 1000,
    pauseMsMax: options.experimentalRestEmbedderMaxRetryDurationSeconds * 1000,
    cachedQueries: options.experimentalEmbeddingCacheEntries,
    requestsPerMinute: options.embedderRequestsPerMinute,
    failureModes: {
      ignoreTemplates: modes.includes('ignore_document_template_failures'),
      ignoreProviders: modes.includes('ignore_embedder_failures'),
    },
  })
  return {
    outbound,
    embedders,
    rerankers: openRerankers({
      outbound: wrapOutbound(outbound, 'reranking'),
      models,
      personalization: {
        apiKey: options.experimentalPersonalizationApiKey,
        url: options.experimentalPersonalizationUrl,
        model: options.experimentalPersonalizationModel,
      },
    }),
    async close() {
      models.close()
      await outbound.close()
    },
  }
}
