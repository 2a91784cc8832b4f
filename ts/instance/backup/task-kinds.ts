/**
 * Archive forms of the content of tasks.
 *
 * The content is a word, or an object with one key whose fields are in snake case. A finished task has no content any
 * more, so it is derived from the task's details. The private object of another service is kept unchanged. Source:
 * operations §9.2.
 */
import type { Payload } from '../../engine/index.js'
import { readBytes, readJsonText, readNode } from '../../parse/index.js'
import { settingsBody, settingsChange, updateOf } from '../../settings/index.js'
import type { DumpedTask, TaskContent, TaskType } from '../../tasks/index.js'
import { ArchiveError } from './archive-error.js'
import { type Fields, unexpected } from './fields.js'
import {
  anything,
  boolean,
  byteCount,
  choice,
  type Form,
  list,
  map,
  nullable,
  object,
  record,
  text,
  uid,
  unchanged,
} from './forms.js'
import { decodeRoaring, encodeRoaring } from './roaring.js'
import { rulePatchForm } from './rules.js'
import { version } from './task-forms.js'

type Details = Readonly<Record<string, unknown>>
/** Kinds of tasks that may wait in an archive. No archive is written while an upgrade waits. */
type Kind = Exclude<TaskContent['kind'], 'upgradeDatabase'>
type Content<K extends Kind> = Extract<TaskContent, { readonly kind: K }>

/** The part of a task's content in its line. An upload is a separate entry. */
type Written<K extends Kind> = Omit<
  Content<K>,
  'kind' | 'payload' | 'payloadBytes' | 'withSecrets' | 'features'
>

/** The restored upload of a waiting task. */
export interface Upload {
  readonly payload: Payload
  readonly bytes: number
}

interface Variant<K extends Kind> {
  /** The key of the fields, or the word. */
  readonly name: string
  /** null: the variant is a word. */
  readonly fields: Form<Written<K>> | null
}

/** A boolean whose field is omitted if it is false. */
const flag: Form<boolean> = {
  write: (value) => (value ? true : undefined),
  read: (value) => value === true,
}

const methods = { replace: 'ReplaceDocuments', update: 'UpdateDocuments' } as const
const methodNames = choice(['ReplaceDocuments', 'UpdateDocuments'] as const)
const method: Form<'replace' | 'update'> = {
  write: (value) => methods[value],
  read: (value, at) => (methodNames.read(value, at) === methods.replace ? 'replace' : 'update'),
}

const set: Form<readonly number[]> = {
  write: (numbers) => [...encodeRoaring(numbers)],
  read: (value, at) => {
    try {
      return decodeRoaring(Buffer.from(list(uid).read(value, at)))
    } catch (error) {
      if (error instanceof RangeError) throw new ArchiveError(`${at}: ${error.message}`)
      throw error
    }
  },
}

const matched = record<Written<'taskCancelation'>>({ query: text, tasks: set })

const twoIndexes: Form<readonly [string, string]> = {
  write: (indexes) => indexes,
  read: (value, at) => {
    const [a, b, ...more] = list(text).read(value, at)
    if (a === undefined || b === undefined || more.length > 0) throw unexpected(value, at, 'two index uids')
    return [a, b]
  },
}

const swaps: Form<Written<'indexSwap'>['swaps']> = list(
  record({ indexes: twoIndexes, rename: unchanged((value) => value === true) }),
)

/** A size in bytes. Other services write it as text with a unit. */
const size: Form<number> = {
  write: byteCount.write,
  read: (value, at) => byteCount.read(typeof value === 'string' ? (readBytes(value) ?? value) : value, at),
}

const everyFeature = { foreignKeys: true, chatCompletions: true, compositeEmbedders: true, multimodal: true }

/** Settings as sent. The details of the task are derived from them. */
const sentSettings: Form<Pick<Content<'settings'>, 'patch' | 'details'>> = {
  write: ({ patch }) => JSON.parse(patch) as unknown,
  read: (value) =>
    updateOf(settingsChange(readNode(readJsonText(JSON.stringify(value ?? {})), settingsBody), everyFeature)),
}

const settingsFlags = record<Pick<Content<'settings'>, 'isReset' | 'mayCreateIndex'>>(
  { isReset: boolean, mayCreateIndex: boolean },
  { isReset: 'is_deletion', mayCreateIndex: 'allow_index_creation' },
)

const settings: Form<Written<'settings'>> = {
  write: (content) => ({
    settings: sentSettings.write(content),
    ...(settingsFlags.write(content) as Fields),
    ...(content.reanalyses === true && { reanalyses: true }),
  }),
  read: (value, at) => ({
    ...sentSettings.read(object.read(value, at).settings, `${at}.settings`),
    ...settingsFlags.read(value, at),
    ...(object.read(value, at).reanalyses === true && { reanalyses: true }),
  }),
}

/** Index patterns of an export, each with its options. Other writers use snake case. */
const exported: Form<Written<'export'>['indexes']> = (() => {
  const one = map(record({ filter: anything, overrideSettings: unchanged((value) => value === true) }))
  const inCamelCase = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const { override_settings, ...rest } = value as Fields
    return { ...(override_settings !== undefined && { overrideSettings: override_settings }), ...rest }
  }
  return {
    write: (indexes) => one.write(Object.fromEntries(indexes.map(({ pattern, ...rest }) => [pattern, rest]))),
    read: (value, at) => {
      const entries = Object.entries(object.read(value, at)).map(([key, it]) => [key, inCamelCase(it)])
      const read = one.read(Object.fromEntries(entries), at)
      return Object.entries(read).map(([pattern, rest]) => ({ pattern, ...rest }))
    },
  }
})()

const updateFields = record<Written<'indexUpdate'>>(
  { primaryKey: nullable(text), newUid: nullable(text) },
  { primaryKey: 'primary_key', newUid: 'uid' },
)

/** A change of an index. Other writers use another field name for the new uid. */
const indexUpdate: Form<Written<'indexUpdate'>> = {
  write: updateFields.write,
  read: (value, at) => {
    const fields = object.read(value, at)
    return updateFields.read({ ...fields, uid: fields.uid ?? fields.new_index_uid }, at)
  },
}

/** An object without fields that this version reads. */
const constant = (written: Fields): Form<object> => ({ write: () => written, read: () => ({}) })
const word = (name: string) => ({ name, fields: null })

const variants: { readonly [K in Kind]: Variant<K> } = {
  documents: {
    name: 'documentImport',
    fields: record<Written<'documents'>>(
      {
        primaryKey: nullable(text),
        method,
        receivedDocuments: uid,
        mayCreateIndex: boolean,
        skipCreation: flag,
      },
      {
        primaryKey: 'primary_key',
        receivedDocuments: 'documents_count',
        mayCreateIndex: 'allow_index_creation',
        skipCreation: 'skip_creation',
      },
    ),
  },
  deleteByIds: {
    name: 'documentDeletion',
    fields: record<Written<'deleteByIds'>>({ ids: list(text) }, { ids: 'documents_ids' }),
  },
  deleteByFilter: { name: 'documentDeletionByFilter', fields: record({ filter: anything }) },
  edit: {
    name: 'documentEdition',
    fields: record<Written<'edit'>>({ filter: anything, context: nullable(object), function: text }),
  },
  clear: word('documentClear'),
  settings: { name: 'settings', fields: settings },
  indexCreation: {
    name: 'indexCreation',
    fields: record<Written<'indexCreation'>>({ primaryKey: nullable(text) }, { primaryKey: 'primary_key' }),
  },
  indexUpdate: { name: 'indexUpdate', fields: indexUpdate },
  indexDeletion: word('indexDeletion'),
  indexSwap: {
    name: 'indexSwap',
    fields: record<Written<'indexSwap'>>({ swaps }),
  },
  indexCompaction: { name: 'indexCompaction', fields: constant({}) },
  taskCancelation: { name: 'taskCancelation', fields: matched },
  taskDeletion: { name: 'tasksDeletion', fields: matched },
  dumpCreation: { name: 'dumpCreation', fields: constant({ keys: [], instance_uid: null }) },
  snapshotCreation: word('snapshotCreation'),
  dsrUpdate: {
    name: 'dsrUpdate',
    fields: record<Written<'dsrUpdate'>>({ uid: text, patch: nullable(rulePatchForm) }),
  },
  dsrClear: word('dsrClear'),
  export: {
    name: 'export',
    fields: record<Written<'export'>>(
      { url: text, apiKey: nullable(text), payloadBytesMax: nullable(size), indexes: exported },
      { apiKey: 'api_key', payloadBytesMax: 'payload_size' },
    ),
  },
}

const kindByName = new Map(Object.entries(variants).map(([kind, { name }]) => [name, kind as Kind]))

/** Returns the field `type` for the line of a task. */
export function kindLine({ task, content, foreign }: DumpedTask): unknown {
  const { type, details = {} } = task
  if (foreign !== null) return { [type]: foreign }
  if (isNeverRun(type)) return { [type]: neverRun[type](details) }
  const known = (content ?? finishedContent(type, details)) as Content<Kind>
  const { name, fields } = variants[known.kind] as Variant<Kind>
  if (fields === null) return name
  const written = fields.write(known) as Fields
  return { [name]: known.kind === 'indexCompaction' ? { index_uid: task.indexUid, ...written } : written }
}

/** Returns the content of a waiting task. @throws ArchiveError if this version cannot run tasks of the variant */
export async function contentOf(
  variant: string,
  fields: Fields,
  line: string,
  upload: () => Promise<Upload>,
): Promise<TaskContent> {
  const kind = kindByName.get(variant)
  if (kind === undefined)
    throw new ArchiveError(
      `${line}: a waiting task of the type ${variant} cannot be run by this version; wait for its end or cancel it in the old instance, then make another dump`,
    )
  const form = variants[kind].fields as Form<object> | null
  const read = form === null ? {} : form.read(fields, `${line}: type.${variant}`)
  if (kind !== 'documents') return { kind, ...read } as TaskContent
  const { payload, bytes } = await upload()
  return { kind, ...(read as Written<'documents'>), payload, payloadBytes: bytes }
}

/** Variant in the field `type` of a line → type of the task. */
export const typeByVariant: Readonly<Record<string, TaskType>> = {
  documentImport: 'documentAdditionOrUpdate',
  documentDeletion: 'documentDeletion',
  documentDeletionByFilter: 'documentDeletion',
  documentClear: 'documentDeletion',
  documentEdition: 'documentEdition',
  settings: 'settingsUpdate',
  indexCreation: 'indexCreation',
  indexDeletion: 'indexDeletion',
  indexUpdate: 'indexUpdate',
  indexSwap: 'indexSwap',
  taskCancelation: 'taskCancelation',
  tasksDeletion: 'taskDeletion',
  dumpCreation: 'dumpCreation',
  snapshotCreation: 'snapshotCreation',
  export: 'export',
  upgradeDatabase: 'upgradeDatabase',
  indexCompaction: 'indexCompaction',
  networkTopologyChange: 'networkTopologyChange',
  dsrUpdate: 'dsrUpdate',
  dsrClear: 'dsrClear',
}

/**
 * The fields of a finished task of a type that this service lists but never runs, derived from its details. Source:
 * operations §9.2. The object of a network change is private to the service that ran it, see `isPrivate`.
 */
const neverRun = {
  upgradeDatabase: ({ upgradeFrom = 'v0.0.0' }: Details): Fields => ({ from: version.write(upgradeFrom) }),
  networkTopologyChange: (): Fields => ({}),
}

/**
 * Returns true if the object of a type is private to the service that wrote it, so a finished task keeps it unchanged.
 * The variants of these types have the names of the types.
 */
export const isPrivate = (type: TaskType): boolean => type === 'networkTopologyChange' || type === 'dsrUpdate'

const isNeverRun = (type: TaskType): type is keyof typeof neverRun => Object.hasOwn(neverRun, type)

/** Derives the content of a finished task from its details. */
function finishedContent(type: Exclude<TaskType, keyof typeof neverRun>, details: Details): TaskContent {
  switch (type) {
    case 'documentAdditionOrUpdate':
      return {
        kind: 'documents',
        method: 'replace',
        payload: { format: 'ndjson', text: '' },
        payloadBytes: 0,
        receivedDocuments: Number(details.receivedDocuments ?? 0),
        primaryKey: null,
        skipCreation: false,
        mayCreateIndex: true,
      }
    case 'documentEdition':
      return {
        kind: 'edit',
        function: String(details.function ?? ''),
        filter: finishedFilter(details),
        context: (details.context ?? null) as Fields | null,
      }
    case 'documentDeletion':
      if (typeof details.originalFilter === 'string')
        return { kind: 'deleteByFilter', filter: finishedFilter(details) }
      return Object.hasOwn(details, 'providedIds') ? { kind: 'deleteByIds', ids: [] } : { kind: 'clear' }
    case 'settingsUpdate':
      return {
        kind: 'settings',
        patch: JSON.stringify(details),
        details: '',
        isReset: false,
        mayCreateIndex: true,
      }
    case 'indexCreation':
      return { kind: 'indexCreation', primaryKey: textOrNull(details.primaryKey) }
    case 'indexUpdate':
      return {
        kind: 'indexUpdate',
        primaryKey: textOrNull(details.primaryKey),
        newUid: textOrNull(details.newIndexUid),
      }
    case 'indexSwap':
      return { kind: 'indexSwap', swaps: readOr(swaps, details.swaps, []) }
    case 'taskCancelation':
    case 'taskDeletion':
      return { kind: type, query: String(details.originalFilter ?? ''), tasks: [] }
    case 'dsrUpdate':
      return { kind: 'dsrUpdate', uid: '', patch: readOr(nullable(rulePatchForm), details.rule, null) }
    case 'export':
      return {
        kind: 'export',
        url: String(details.url ?? ''),
        apiKey: null,
        payloadBytesMax: null,
        indexes: [],
      }
    default:
      return { kind: type }
  }
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** Reads the value with the form; returns `otherwise` on errors. Details of other writers may have any shape. */
function readOr<T>(form: Form<T>, value: unknown, otherwise: T): T {
  try {
    return form.read(value, 'details')
  } catch (error) {
    if (error instanceof ArchiveError) return otherwise
    throw error
  }
}

/** Returns the filter in the details, which is JSON text. If other writers put other text there, it is the filter. */
function finishedFilter({ originalFilter }: Details): unknown {
  if (typeof originalFilter !== 'string') return null
  try {
    return JSON.parse(originalFilter) as unknown
  } catch {
    return originalFilter
  }
}
