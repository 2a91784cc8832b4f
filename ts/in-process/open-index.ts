import { createWriteStream } from 'node:fs'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32 } from 'node:zlib'
import { encodeRequest } from '../engine/index.js'
import { ApiError } from '../errors/index.js'
import { reindexing } from '../instance/index.js'
import {
  type AlsoRead,
  creationBody,
  DisconnectSignal,
  defaultJsonLimits,
  deletionBody,
  deletionContent,
  documentFields,
  dryRunJson,
  editionBody,
  editionContent,
  everyRight,
  explain,
  explainFields,
  facetSearch,
  facetSearchBody,
  fieldsBody,
  listedDocuments,
  listedFields,
  optional,
  type Reading,
  readBody,
  readIndex,
  requireIndex,
  requireIndexUid,
  type SearchServices,
  search,
  searchFields,
  shape,
  similar,
  similarFields,
  string,
  updateBody,
} from '../operations/index.js'
import {
  parsedSettings,
  renderSettings,
  resetAllSettings,
  type SettingsUpdate,
  updateOf,
} from '../settings/index.js'
import type { IndexEntry, OpenedTasks, TaskContent, TaskSummary, TaskType } from '../tasks/index.js'
import type { Document } from './document-types.js'
import { jsonBytes, parsed } from './json.js'
import type { FacetSearchAnswer, SearchAnswer, SimilarAnswer } from './search-types.js'
import type { Settings } from './settings-types.js'
import type { DocumentsAnswer, Index, IndexStats, SettingsComparison } from './types.js'

const searchBody = shape(searchFields)
const explainBody = shape(explainFields)
const similarBody = shape(similarFields)
const documentsBody = shape(documentFields)
const uploadOptions = shape({ primaryKey: optional(string, 'invalid_index_primary_key') })

const isList = (which: readonly unknown[] | object): which is readonly (string | number)[] =>
  Array.isArray(which)

/** @throws ApiError `invalid_index_uid` */
export function openIndex(services: SearchServices, queue: OpenedTasks, uid: string): Index {
  requireIndexUid(uid)
  const { tasks, settingsThread } = queue
  const { engine, features } = services
  const enqueue = (type: TaskType, content: TaskContent): Promise<TaskSummary> =>
    tasks.enqueue({ indexUid: uid, type, content })

  /** Reads the index, and again if it was swapped or deleted meanwhile. */
  const read = <T>(ask: (entry: IndexEntry, reading: Reading) => Promise<T>): Promise<T> =>
    readIndex(tasks, uid, (entry, alsoRead: AlsoRead) =>
      ask(entry, { access: everyRight, stop: new DisconnectSignal(), alsoRead }),
    )

  const writes = { engine, tasks, features }

  async function settingsUpdate(patch: object): Promise<SettingsUpdate> {
    const request = { name: null, limits: defaultJsonLimits, features: features.flags }
    return (await settingsThread.read(jsonBytes(patch), request)).update
  }

  async function add(
    documents: Iterable<object> | AsyncIterable<object>,
    method: 'replace' | 'update',
    options: object = {},
  ): Promise<TaskSummary> {
    const { primaryKey } = readBody(jsonBytes(options), uploadOptions)
    const slot = await tasks.spool('ndjson')
    let content: TaskContent
    try {
      let [payloadBytes, checksum] = [0, 0]
      const counted = (text: string): Buffer => {
        const line = Buffer.from(`${text}\n`)
        payloadBytes += line.length
        checksum = crc32(line, checksum)
        return line
      }
      async function* lines(): AsyncGenerator<Buffer> {
        for await (const document of documents) yield counted(JSON.stringify(document))
        // A body needs at least one byte.
        if (payloadBytes === 0) yield counted('')
      }
      await pipeline(Readable.from(lines()), createWriteStream(slot.path, { flags: 'wx' }))
      const payload = { path: slot.path, format: 'ndjson' } as const
      const { documents: receivedDocuments, error } = await engine.inspect(payload)
      if (error !== undefined) throw new ApiError(error.code, error.message)
      await slot.sync()
      content = {
        kind: 'documents',
        method,
        payload: { ...payload, path: basename(slot.path), checksum },
        payloadBytes,
        receivedDocuments,
        primaryKey,
        skipCreation: false,
        mayCreateIndex: true,
      }
    } catch (error) {
      await slot.discard()
      throw error
    }
    // From here on the queue owns the upload, because a stored task may need it.
    return enqueue('documentAdditionOrUpdate', content)
  }

  return {
    uid,
    addDocuments: (documents, options) => add(documents, 'replace', options),
    updateDocuments: (documents, options) => add(documents, 'update', options),
    async deleteDocuments(which) {
      if (isList(which)) return enqueue('documentDeletion', { kind: 'deleteByIds', ids: which.map(String) })
      const content = await deletionContent(readBody(jsonBytes(which), deletionBody), writes)
      return enqueue('documentDeletion', content)
    },
    deleteAllDocuments: () => enqueue('documentDeletion', { kind: 'clear' }),
    async editDocuments(edition) {
      const content = await editionContent(readBody(jsonBytes(edition), editionBody), writes)
      return enqueue('documentEdition', content)
    },
    async document(id) {
      const request = encodeRequest({ id: String(id), fields: null, retrieveVectors: false })
      const found = await read((entry) => engine.document(entry.id, request))
      return found === null ? null : (parsed(found) as Document)
    },
    async documents(parameters = {}) {
      const wanted = readBody(jsonBytes(parameters), documentsBody)
      const page = await read((entry, reading) => listedDocuments(services, entry, wanted, reading))
      return parsed(page) as DocumentsAnswer
    },
    async search(q, parameters = {}) {
      const wanted = readBody(jsonBytes({ ...parameters, q }), searchBody)
      const { body } = await read((entry, reading) =>
        search(services, entry, wanted, { ...reading, includeMetadata: false }),
      )
      return parsed(body) as SearchAnswer
    },
    async explain(id, q, parameters = {}) {
      const wanted = readBody(jsonBytes({ ...parameters, q, id }), explainBody)
      return read((entry, reading) => explain(services, entry, wanted, reading))
    },
    async facetSearch(parameters) {
      const wanted = readBody(jsonBytes(parameters), facetSearchBody)
      const { body } = await read((entry, reading) => facetSearch(services, entry, wanted, reading))
      return parsed(body) as FacetSearchAnswer
    },
    async similar(parameters) {
      const wanted = readBody(jsonBytes(parameters), similarBody)
      const { body } = await read((entry, reading) => similar(services, entry, wanted, reading))
      return parsed(body) as SimilarAnswer
    },
    async updateSettings(patch) {
      const update = await settingsUpdate(patch)
      return enqueue('settingsUpdate', { kind: 'settings', ...update, isReset: false, mayCreateIndex: true })
    },
    async compareSettings(patch) {
      const { patch: text } = await settingsUpdate(patch)
      return JSON.parse(await dryRunJson(uid, text, writes, settingsThread)) as SettingsComparison
    },
    resetSettings: () =>
      enqueue('settingsUpdate', {
        kind: 'settings',
        ...updateOf(resetAllSettings()),
        isReset: true,
        mayCreateIndex: false,
      }),
    settings: () =>
      read(async ({ id }) => {
        const rendered: unknown = renderSettings(parsedSettings(await engine.settings(id)), features.flags)
        return rendered as Settings
      }),
    stats: () =>
      read(async ({ id }): Promise<IndexStats> => {
        const { numberOfDocuments, numberOfEmbeddings, fieldDistribution } = await engine.stats(id)
        return { numberOfDocuments, numberOfEmbeddings, fieldDistribution, isIndexing: tasks.isIndexing(uid) }
      }),
    async create(options = {}) {
      const { primaryKey } = readBody(jsonBytes({ ...options, uid }), creationBody)
      return enqueue('indexCreation', { kind: 'indexCreation', primaryKey })
    },
    async update(changes) {
      const { primaryKey, uid: newUid } = readBody(jsonBytes(changes), updateBody)
      requireIndex(tasks, uid)
      return enqueue('indexUpdate', { kind: 'indexUpdate', primaryKey, newUid })
    },
    compact: () => enqueue('indexCompaction', { kind: 'indexCompaction' }),
    reindex: () => {
      const { type, content } = reindexing(uid)
      return enqueue(type, content)
    },
    async fields(parameters = {}) {
      const wanted = readBody(jsonBytes(parameters), fieldsBody)
      return read((entry) => listedFields(engine, entry, wanted))
    },
    delete: () => enqueue('indexDeletion', { kind: 'indexDeletion' }),
  }
}
