/** Options that bound or change the work: memory, tasks, searches, embedders. */
import { bytes, choices, count, seconds, text, threads, toggle, url } from '../kinds.js'
import type { Basis } from '../option.js'

const MIB = 2 ** 20
const GIB = 2 ** 30
/** Bytes that an engine may cache at least, however little memory the machine has. */
export const CACHE_BYTES_MIN = 32 * MIB
const CACHE_BYTES_MAX = 256 * MIB
/** The share of the memory that an engine may use for its caches. */
const CACHE_SHARE = 1 / 20
const cacheBytes = ({ memoryBytes }: Basis): number =>
  Math.min(Math.max(Math.floor(memoryBytes * CACHE_SHARE), CACHE_BYTES_MIN), CACHE_BYTES_MAX)
const halfTheCores = ({ cores }: Basis): number => Math.max(1, Math.floor(cores / 2))

/** Tasks of one batch: a commit stores the outcome of each. */
export const BATCHED_TASKS_MAX = 10_000

export const memory = {
  maxIndexingMemory: bytes(({ indexingMemoryBytes }) => indexingMemoryBytes, {
    help: 'Memory that indexing may use; on the fallback it bounds the size of batches alone',
    example: '2GiB',
    defaultInWords: 'two thirds of the memory of the machine or container',
  }),
  maxIndexingThreads: threads(halfTheCores, {
    help: 'Threads that indexing may use; more than there are cores count as all cores',
    example: '2',
    defaultInWords: 'half the cores',
    noEffect: { on: 'fallback', why: 'the fallback engine indexes on one thread' },
  }),
  experimentalReduceIndexingMemoryUsage: toggle({
    help: 'Indexes with a quarter of the indexing memory, which takes longer',
    noEffect: { on: 'fallback', why: 'the fallback engine keeps its indexes in memory' },
  }),
  cacheSize: bytes(cacheBytes, {
    help: 'Memory for what searches have worked out, of all indexes together; 0 keeps nothing',
    example: '512MiB',
    defaultInWords: 'a twentieth of the memory, at least 32 MiB and at most 256 MiB',
  }),
  answerCacheSize: bytes(() => 16 * MIB, {
    help: 'Memory for cached answers, each until its index changes; 0 caches none',
    example: '64MiB',
    defaultInWords: '16 MiB',
  }),
} as const

export const tasks = {
  experimentalMaxNumberOfBatchedTasks: count({ min: 0, countsAtMost: BATCHED_TASKS_MAX }, BATCHED_TASKS_MAX, {
    help: `Tasks of one batch; more than ${BATCHED_TASKS_MAX} count as ${BATCHED_TASKS_MAX}, and with 0 no task is processed`,
    example: '100',
  }),
  experimentalLimitBatchedTasksTotalSize: bytes(
    ({ indexingMemoryBytes }) => Math.min(Math.floor(indexingMemoryBytes / 2), 10 * GIB),
    {
      help: 'Bytes of the uploads of one batch; a single larger upload is a batch by itself',
      example: '500MB',
      defaultInWords: 'half the indexing memory, at most 10 GiB',
    },
  ),
  experimentalReplicationParameters: toggle({
    help: 'Finished tasks are never deleted by themselves',
    noEffect: { why: 'clients cannot choose the uids of tasks, and there are no dry runs of requests' },
  }),
  experimentalNoEdition2024ForSettings: toggle({
    help: 'Accepted for compatibility',
    noEffect: { why: 'there is one indexer of settings' },
  }),
} as const

export const searches = {
  experimentalSearchQueueSize: count({ min: 0 }, 1000, {
    help: 'Searches that may wait for their turn; 0 refuses a search as soon as all turns are taken',
    example: '200',
  }),
  experimentalDropSearchAfter: seconds(60, {
    help: 'Time that a search may wait for its turn',
    example: '10',
  }),
  experimentalNbSearchesPerCore: count({ min: 1 }, 4, {
    help: 'Searches running at the same time, per core',
    example: '2',
  }),
  experimentalRemoteSearchTimeoutSeconds: seconds(25, {
    help: 'Time after which a remote that has not answered its part of a search counts as failed',
    example: '5',
    isVariable: true,
  }),
  experimentalDsrFuelMaxCountedWords: budget(10, 'words of a query that rules look at'),
  experimentalDsrFuelMaxActiveRules: budget(1000, 'active rules that a search is held against'),
  experimentalDsrFuelMaxPinActions: budget(100, 'documents pinned in one search'),
  experimentalDsrFuelWordFuel: budget(4096, 'words of rules that one search is held against'),
  experimentalDsrFuelFilterFuel: budget(4096, 'values of rules that one search is held against'),
  experimentalDsrFuelFilterOrFuel: budget(100, 'ways to pass the filter of a search that are looked at'),
  experimentalDsrFuelFilterAndFuel: budget(100, 'equalities of each of these ways that are looked at'),
  experimentalDsrFuelFilterDepthFuel: budget(25, 'levels of the filter of a search that are looked at'),
} as const

/** A bound on what dynamic search rules may cost a search. Source: the API's budgets of dynamic search rules. */
function budget(fallback: number, help: string) {
  return count({ min: 0 }, fallback, {
    help: `Of dynamic search rules: ${help}`,
    example: String(2 * fallback),
    isVariable: true,
  })
}

export const embedding = {
  experimentalEmbeddingCacheEntries: count({ min: 0 }, 0, {
    help: 'Vectors of queries that are cached; 0 caches none',
    example: '1000',
  }),
  openaiApiKey: text('key', null, {
    help: 'Key of embedders of source openAi that have none in their settings',
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
    help: 'Folder of embedding models: downloads go there, and embedders may name a folder below it',
    example: '/var/lib/siftd/models',
  }),
  maxEmbeddingThreads: threads(halfTheCores, {
    help: 'Threads on which models that run here embed documents; searches have one of their own',
    example: '2',
    defaultInWords: 'half the cores',
  }),
  modelHubUrl: url('https://huggingface.co', {
    help: 'Address that embedding models of source huggingFace are downloaded from',
    example: 'https://models.example.org',
    isVariable: true,
    foreignVariable: 'HF_ENDPOINT',
  }),
  modelHubToken: text('token', null, {
    help: 'Token for models that the hub does not give to everybody',
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
    help: 'Requests that the provider of an embedder is sent in a minute with one key; searches go before documents',
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
    help: 'Accepted for compatibility',
    example: 'key',
    isSecret: true,
    noEffect: { why: 'searches are not personalised, and those that ask for it are refused' },
  }),
} as const
