/** Options for memory, tasks, searches and embedders. */
import { bytes, choices, count, seconds, text, threads, toggle, url } from '../kinds.js'
import type { Basis } from '../option.js'

const MIB = 2 ** 20
const GIB = 2 ** 30
/** Least bytes of the engine's cache, even on machines with little memory. */
export const CACHE_BYTES_MIN = 32 * MIB
const CACHE_BYTES_MAX = 256 * MIB
/** The share of the memory for the engine's cache. */
const CACHE_SHARE = 1 / 20
const cacheBytes = ({ memoryBytes }: Basis): number =>
  Math.min(Math.max(Math.floor(memoryBytes * CACHE_SHARE), CACHE_BYTES_MIN), CACHE_BYTES_MAX)
const allCoresButOne = ({ cores }: Basis): number => Math.max(1, cores - 1)
const halfTheCores = ({ cores }: Basis): number => Math.max(1, Math.floor(cores / 2))

/** Most tasks of a batch: a commit stores the outcome of each. */
export const BATCHED_TASKS_MAX = 10_000

export const memory = {
  maxIndexingMemory: bytes(({ indexingMemoryBytes }) => indexingMemoryBytes, {
    help: 'Memory that indexing may use; on the fallback engine it only bounds the size of batches',
    example: '2GiB',
    defaultInWords: 'two thirds of the memory of the machine or container',
  }),
  maxIndexingThreads: threads(allCoresButOne, {
    help: 'Threads that indexing may use, at most the number of cores; searches have priority',
    example: '2',
    defaultInWords: 'all cores but one, at least 1',
    noEffect: { on: 'fallback', why: 'the fallback engine indexes on one thread' },
  }),
  experimentalReduceIndexingMemoryUsage: toggle({
    help: 'Indexes with a quarter of the indexing memory, but more slowly',
    noEffect: { on: 'fallback', why: 'the fallback engine keeps its indexes in memory' },
  }),
  cacheSize: bytes(cacheBytes, {
    help: 'Memory for cached results of search steps, for all indexes together; 0 caches nothing',
    example: '512MiB',
    defaultInWords: 'a twentieth of the memory, at least 32 MiB and at most 256 MiB',
  }),
  answerCacheSize: bytes(() => 16 * MIB, {
    help: 'Memory for answers, cached until their index changes; 0 caches nothing',
    example: '64MiB',
    defaultInWords: '16 MiB',
  }),
} as const

export const tasks = {
  experimentalMaxNumberOfBatchedTasks: count({ min: 0, countsAtMost: BATCHED_TASKS_MAX }, BATCHED_TASKS_MAX, {
    help: `Tasks of one batch, at most ${BATCHED_TASKS_MAX}; with 0 no task is processed`,
    example: '100',
  }),
  experimentalLimitBatchedTasksTotalSize: bytes(
    ({ indexingMemoryBytes }) => Math.min(Math.floor(indexingMemoryBytes / 2), 10 * GIB),
    {
      help: 'Bytes of the uploads of one batch; a larger upload is a separate batch',
      example: '500MB',
      defaultInWords: 'half the indexing memory, at most 10 GiB',
    },
  ),
  experimentalReplicationParameters: toggle({
    help: 'Finished tasks are never deleted automatically; the headers TaskId and DryRun of Meilisearch are ignored',
  }),
  experimentalNoEdition2024ForSettings: toggle({
    help: 'Accepted for compatibility',
    noEffect: { why: 'there is only one indexer for settings' },
  }),
  experimentalNoEdition2024ForDumps: toggle({
    help: 'Accepted for compatibility',
    noEffect: { why: 'there is only one indexer for dumps' },
  }),
  experimentalNoSnapshotCompaction: toggle({
    help: 'Accepted for compatibility',
    noEffect: { why: 'a snapshot copies the files as they are' },
  }),
} as const

export const searches = {
  experimentalSearchQueueSize: count({ min: 0 }, 1000, {
    help: 'Searches that may wait in the queue; 0 refuses a search as soon as all slots are taken',
    example: '200',
  }),
  experimentalDropSearchAfter: seconds(60, {
    help: 'Time that a search may wait in the queue',
    example: '10',
  }),
  experimentalNbSearchesPerCore: count({ min: 1 }, 4, {
    help: 'Searches running at the same time, per core',
    example: '2',
  }),
  experimentalRemoteSearchTimeoutSeconds: seconds(25, {
    help: 'Time that a remote has to answer its part of a search',
    example: '5',
    isVariable: true,
  }),
  experimentalDsrFuelMaxCountedWords: budget(10, 'words of a query that are matched with rules'),
  experimentalDsrFuelMaxActiveRules: budget(1000, 'active rules that are matched with a search'),
  experimentalDsrFuelMaxPinActions: budget(100, 'documents pinned in one search'),
  experimentalDsrFuelMaxScaleActions: budget(100, 'actions that scale documents in one search'),
  experimentalDsrFuelWordFuel: budget(4096, 'words of rules that are matched with one search'),
  experimentalDsrFuelFilterFuel: budget(4096, 'values of rules that are matched with one search'),
  experimentalDsrFuelFilterOrFuel: budget(100, 'ways to pass the filter of a search that are considered'),
  experimentalDsrFuelFilterAndFuel: budget(100, 'equalities of each of these ways that are considered'),
  experimentalDsrFuelFilterDepthFuel: budget(25, 'levels of the filter of a search that are considered'),
} as const

/** A limit for the cost of dynamic search rules in a search. Source: the API's budgets of dynamic search rules. */
function budget(fallback: number, help: string) {
  return count({ min: 0 }, fallback, {
    help: `Dynamic search rules: ${help}`,
    example: String(2 * fallback),
    isVariable: true,
  })
}

export const embedding = {
  experimentalEmbeddingCacheEntries: count({ min: 0 }, 0, {
    help: 'Query vectors that are cached; 0 caches nothing',
    example: '1000',
  }),
  openaiApiKey: text('key', null, {
    help: 'Key of embedders and chats of source openAi that have none in their settings',
    example: 'sk-…',
    isVariable: true,
    isSecret: true,
    foreignVariable: 'OPENAI_API_KEY',
  }),
  ollamaUrl: url('http://localhost:11434/api/embeddings', {
    help: 'Address of embedders of source ollama that have none in their settings',
    example: 'http://ollama:11434/api/embed',
    isVariable: true,
  }),
  modelsDir: text('path', './models', {
    help: 'Folder of local models: downloads go there, and embedders and rerankers may name a folder below it',
    example: '/var/lib/siftd/models',
  }),
  maxEmbeddingThreads: threads(halfTheCores, {
    help: 'Threads for local models to embed documents, and as many to rerank; queries have a separate thread',
    example: '2',
    defaultInWords: 'half the cores',
  }),
  modelHubUrl: url('https://huggingface.co', {
    help: 'Address for downloads of models of source huggingFace',
    example: 'https://models.example.org',
    isVariable: true,
    foreignVariable: 'HF_ENDPOINT',
  }),
  modelHubToken: text('token', null, {
    help: 'Token for models with restricted access on the hub',
    example: 'hf_…',
    isVariable: true,
    isSecret: true,
    foreignVariable: 'HF_TOKEN',
  }),
  experimentalRestEmbedderTimeoutSeconds: seconds(30, {
    help: 'Time of one request to the provider of an embedder',
    example: '60',
    isVariable: true,
  }),
  experimentalRestEmbedderMaxRetryDurationSeconds: seconds(60, {
    help: 'Longest pause between two attempts of such a request',
    example: '10',
    isVariable: true,
  }),
  embedderRequestsPerMinute: count({ min: 1 }, null, {
    help: 'Requests per minute to the provider of an embedder with one key; searches have priority over documents',
    example: '3000',
    defaultInWords: 'any number',
  }),
  experimentalConfigEmbedderFailureModes: choices(
    ['ignore_document_template_failures', 'ignore_embedder_failures'],
    {
      help: 'Failures after which a document is stored without a vector, instead of failing its batch',
      example: 'ignore_embedder_failures',
      isVariable: true,
    },
  ),
  experimentalPersonalizationApiKey: text('key', null, {
    help: 'Key of the service that orders the hits of personalized searches',
    example: 'key',
    isSecret: true,
  }),
  experimentalPersonalizationUrl: url(null, {
    help: 'Address of that service, which has the interface of Cohere',
    example: 'https://rerank.example.org/v1/rerank',
    defaultInWords: 'the one of Cohere, if there is a key',
  }),
  experimentalPersonalizationModel: text('name', 'rerank-english-v3.0', {
    help: 'Model of that service',
    example: 'rerank-v3.5',
  }),
} as const
