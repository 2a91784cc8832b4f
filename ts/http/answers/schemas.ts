import { namedSchema, orNull, type Schema } from '../../operations/index.js'

// Schemas of the answers. The server validates no answer against them; the tests validate each.

export const text: Schema = { type: 'string' }
export const count: Schema = { type: 'integer', minimum: 0 }
export const flag: Schema = { type: 'boolean' }
export const date: Schema = { type: 'string', format: 'date-time' }
export const anyJson: Schema = {}
/** A document, with any fields. */
export const document = namedSchema('Document', { type: 'object', additionalProperties: true })

export const listOf = (items: Schema): Schema => ({ type: 'array', items })
export const mapTo = (values: Schema): Schema => ({ type: 'object', additionalProperties: values })

/** An object with exactly these keys; those in `optional` may be missing. */
export function record(
  properties: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema {
  return {
    type: 'object',
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    additionalProperties: false,
  }
}

/** A page of a list with offset paging. */
export const pageOf = (item: Schema): Schema =>
  record({ results: listOf(item), offset: count, limit: count, total: count })

/** A page of a list that is paged by uid. */
export const pageFrom = (item: Schema): Schema =>
  record({
    results: listOf(item),
    total: count,
    limit: count,
    from: orNull(count),
    next: orNull(count),
  })

export const errorAnswer = namedSchema(
  'Error',
  record({
    message: text,
    code: text,
    type: { type: 'string', enum: ['invalid_request', 'auth', 'internal', 'system'] },
    link: text,
  }),
)

/** The error of a task. The type of an imported task's error may be outside the enum. */
const taskError = namedSchema('TaskError', record({ message: text, code: text, type: text, link: text }))

export const taskSummary = namedSchema(
  'TaskSummary',
  record(
    {
      taskUid: count,
      indexUid: orNull(text),
      status: { type: 'string', enum: ['enqueued'] },
      type: text,
      enqueuedAt: date,
      customMetadata: text,
    },
    ['customMetadata'],
  ),
)

const taskFields = {
  uid: count,
  batchUid: orNull(count),
  indexUid: orNull(text),
  status: { type: 'string', enum: ['enqueued', 'processing', 'succeeded', 'failed', 'canceled'] },
  type: text,
  canceledBy: orNull(count),
  details: { type: 'object' },
  error: orNull(taskError),
  duration: orNull(text),
  enqueuedAt: date,
  startedAt: orNull(date),
  finishedAt: orNull(date),
  customMetadata: text,
  network: { type: 'object' },
} as const
const optionalTaskFields = ['details', 'customMetadata', 'network']

export const task = namedSchema('Task', record(taskFields, optionalTaskFields))

/** A finished task: the answer to a write that waited. Differs from a `TaskSummary` in its status only. */
export const endedWrite = namedSchema(
  'EndedWrite',
  record({ taskUid: count, ...taskFields }, optionalTaskFields),
)

/** The cost of a change of settings. */
export const settingsComparison = namedSchema(
  'SettingsComparison',
  record({
    documents: count,
    changes: listOf(
      record({
        setting: text,
        before: {},
        after: {},
        cost: { type: 'string', enum: ['metadata', 'columns', 'documents'] },
      }),
    ),
    embeddings: { type: 'object', additionalProperties: record({ documentsMax: count }) },
  }),
)

export const batch = namedSchema(
  'Batch',
  record({
    uid: count,
    progress: orNull(
      record({
        steps: listOf(record({ currentStep: text, finished: count, total: count })),
        percentage: { type: 'number' },
      }),
    ),
    details: { type: 'object' },
    stats: record(
      {
        totalNbTasks: count,
        status: mapTo(count),
        types: mapTo(count),
        indexUids: mapTo(count),
        progressTrace: { type: 'object' },
        writeChannelCongestion: { type: 'object' },
        internalDatabaseSizes: { type: 'object' },
        embedderRequests: record({ total: count, failed: count, lastError: text }, ['lastError']),
      },
      ['progressTrace', 'writeChannelCongestion', 'internalDatabaseSizes', 'embedderRequests'],
    ),
    duration: orNull(text),
    startedAt: date,
    finishedAt: orNull(date),
    batchStrategy: text,
  }),
)

export const index = namedSchema(
  'Index',
  record({ uid: text, createdAt: date, updatedAt: date, primaryKey: orNull(text), damage: text }, ['damage']),
)

/** A size: bytes, or text with a unit if the request asks for `sizeFormat=human`. */
const size: Schema = { type: ['integer', 'string'] }

/** Something that an operator should know. */
export const warnings = listOf(record({ code: text, message: text }))

export const indexStats = namedSchema(
  'IndexStats',
  record(
    {
      numberOfDocuments: count,
      rawDocumentDbSize: size,
      avgDocumentSize: size,
      isIndexing: flag,
      indexSize: size,
      usedIndexSize: size,
      internalDatabaseSizes: mapTo(size),
      numberOfEmbeddings: count,
      numberOfEmbeddedDocuments: count,
      fieldDistribution: mapTo(count),
      wordDictionaries: mapTo(text),
      warnings,
    },
    ['internalDatabaseSizes', 'wordDictionaries', 'warnings'],
  ),
)

/** Replication state of a server. */
export const replicationFigures = record({
  role: { type: 'string', enum: ['writer', 'follower'] },
  position: { type: ['integer', 'null'] },
  unsentTransactions: count,
  awaySeconds: { type: 'number' },
  staleSeconds: { type: ['number', 'null'] },
  leadConfirmed: { type: ['boolean', 'null'] },
  writer: { type: ['string', 'null'] },
  replaceable: { type: ['boolean', 'null'] },
  problem: { type: ['string', 'null'] },
})

export const instanceStats = namedSchema(
  'Stats',
  record(
    {
      databaseSize: size,
      usedDatabaseSize: size,
      lastUpdate: orNull(date),
      indexes: mapTo(indexStats),
      damagedIndexes: mapTo(text),
      replication: replicationFigures,
    },
    ['damagedIndexes', 'replication'],
  ),
)

const enabled = record({ enabled: flag })

export const field = namedSchema(
  'Field',
  record({
    name: text,
    displayed: enabled,
    searchable: enabled,
    sortable: enabled,
    distinct: enabled,
    rankingRule: record({ enabled: flag, order: { type: 'string', enum: ['asc', 'desc'] } }, ['order']),
    filterable: record({
      enabled: flag,
      sortBy: { type: 'string', enum: ['alpha', 'count'] },
      facetSearch: flag,
      equality: flag,
      comparison: flag,
    }),
    localized: record({ locales: listOf(text) }),
  }),
)

export const key = namedSchema(
  'Key',
  record({
    name: orNull(text),
    description: orNull(text),
    key: text,
    uid: { type: 'string', format: 'uuid' },
    actions: listOf(text),
    indexes: listOf(text),
    expiresAt: orNull(date),
    createdAt: date,
    updatedAt: date,
  }),
)

export const webhook = namedSchema(
  'Webhook',
  record({ uuid: text, isEditable: flag, url: text, headers: mapTo(text) }),
)

export const network = namedSchema(
  'Network',
  record({
    self: orNull(text),
    remotes: mapTo(
      record({
        url: text,
        searchApiKey: orNull(text),
        writeApiKey: orNull(text),
        status: { enum: ['available', 'unavailable'] },
      }),
    ),
    shards: mapTo(record({ remotes: listOf(text) })),
    leader: orNull(text),
    version: text,
  }),
)

/** The outcome of compacting the task queue. */
export const compaction = namedSchema(
  'TaskCompaction',
  record({ preSize: text, postSize: text, status: text, actionRequired: text, errorMessage: text }, [
    'preSize',
    'postSize',
    'actionRequired',
    'errorMessage',
  ]),
)
