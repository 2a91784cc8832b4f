/**
 * Here is what a task does: how does an archive say it?
 *
 * A bare word, or an object with one key; its fields are in snake case. Finished tasks have nothing left to
 * do, so theirs is put together from what their details tell. Source: operations §9.2.
 */
import type { Payload } from '../engine/index.js'
import { readJsonText, readNode } from '../parse/index.js'
import { settingsBody, settingsChange } from '../settings/index.js'
import type { DumpedTask, TaskContent, TaskType } from '../tasks/index.js'
import { DumpError } from './dump-error.js'
import { type Fields, unexpected } from './fields.js'
import {
  anything,
  asItIs,
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
} from './forms.js'
import { decodeRoaring, encodeRoaring } from './roaring.js'
import { rulePatchForm } from './rules.js'

type Details = Readonly<Record<string, unknown>>
type Kind = TaskContent['kind']
type Content<K extends Kind> = Extract<TaskContent, { readonly kind: K }>

/** What of a task's content stands in its line. An upload lies beside it. */
type Said<K extends Kind> = Omit<Content<K>, 'kind' | 'payload' | 'payloadBytes'>

/** What the upload of a waiting task has become. */
export interface Upload {
  readonly payload: Payload
  readonly bytes: number
}

interface Variant<K extends Kind> {
  /** The key under which its fields stand, or the bare word. */
  readonly name: string
  /** null for a bare word. */
  readonly fields: Form<Said<K>> | null
}

/** A field that stands there only when it is true. */
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
      if (error instanceof RangeError) throw new DumpError(`${at}: ${error.message}`)
      throw error
    }
  },
}

const matched = record<Said<'taskCancelation'>>({ query: text, tasks: set })

const twoIndexes: Form<readonly [string, string]> = {
  write: (indexes) => indexes,
  read: (value, at) => {
    const [a, b, ...others] = list(text).read(value, at)
    if (a === undefined || b === undefined || others.length > 0) throw unexpected(value, at, 'two index uids')
    return [a, b]
  },
}

const swaps: Form<Said<'indexSwap'>['swaps']> = list(
  record({ indexes: twoIndexes, rename: asItIs((value) => value === true) }),
)

const everyFeature = { foreignKeys: true, chatCompletions: true, compositeEmbedders: true, multimodal: true }

/** Settings as they were sent: what is shown of them as details follows from the same text. */
const sentSettings: Form<Pick<Content<'settings'>, 'patch' | 'details'>> = {
  write: ({ patch }) => patch,
  read: (value) =>
    settingsChange(readNode(readJsonText(JSON.stringify(value ?? {})), settingsBody), everyFeature),
}

const settingsFlags = record<Pick<Content<'settings'>, 'isReset' | 'mayCreateIndex'>>(
  { isReset: boolean, mayCreateIndex: boolean },
  { isReset: 'is_deletion', mayCreateIndex: 'allow_index_creation' },
)

const settings: Form<Said<'settings'>> = {
  write: (content) => ({
    settings: sentSettings.write(content),
    ...(settingsFlags.write(content) as Fields),
  }),
  read: (value, at) => ({
    ...sentSettings.read(object.read(value, at).settings, `${at}.settings`),
    ...settingsFlags.read(value, at),
  }),
}

/** Index patterns of an export, each with what is said of it. Other writers use snake case. */
const exported: Form<Said<'export'>['indexes']> = (() => {
  const one = map(record({ filter: anything, overrideSettings: asItIs((value) => value === true) }))
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

const updateFields = record<Said<'indexUpdate'>>(
  { primaryKey: nullable(text), newUid: nullable(text) },
  { primaryKey: 'primary_key', newUid: 'uid' },
)

/** Other writers call the new name otherwise. */
const indexUpdate: Form<Said<'indexUpdate'>> = {
  write: updateFields.write,
  read: (value, at) => {
    const fields = object.read(value, at)
    return updateFields.read({ ...fields, uid: fields.uid ?? fields.new_index_uid }, at)
  },
}

/** An object that says nothing this version has to know. */
const constant = (written: Fields): Form<object> => ({ write: () => written, read: () => ({}) })
const word = (name: string) => ({ name, fields: null })

const variants: { readonly [K in Kind]: Variant<K> } = {
  documents: {
    name: 'documentImport',
    fields: record<Said<'documents'>>(
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
    fields: record<Said<'deleteByIds'>>({ ids: list(text) }, { ids: 'documents_ids' }),
  },
  deleteByFilter: { name: 'documentDeletionByFilter', fields: record({ filter: anything }) },
  edit: {
    name: 'documentEdition',
    fields: record<Said<'edit'>>({ filter: anything, context: nullable(object), function: text }),
  },
  clear: word('documentClear'),
  settings: { name: 'settings', fields: settings },
  indexCreation: {
    name: 'indexCreation',
    fields: record<Said<'indexCreation'>>({ primaryKey: nullable(text) }, { primaryKey: 'primary_key' }),
  },
  indexUpdate: { name: 'indexUpdate', fields: indexUpdate },
  indexDeletion: word('indexDeletion'),
  indexSwap: {
    name: 'indexSwap',
    fields: record<Said<'indexSwap'>>({ swaps }),
  },
  indexCompaction: { name: 'indexCompaction', fields: constant({}) },
  taskCancelation: { name: 'taskCancelation', fields: matched },
  taskDeletion: { name: 'tasksDeletion', fields: matched },
  dumpCreation: { name: 'dumpCreation', fields: constant({ keys: [], instance_uid: null }) },
  snapshotCreation: word('snapshotCreation'),
  dsrUpdate: {
    name: 'dsrUpdate',
    fields: record<Said<'dsrUpdate'>>({ uid: text, patch: nullable(rulePatchForm) }),
  },
  dsrClear: word('dsrClear'),
  export: {
    name: 'export',
    fields: record<Said<'export'>>(
      { url: text, apiKey: nullable(text), payloadBytesMax: nullable(byteCount), indexes: exported },
      { apiKey: 'api_key', payloadBytesMax: 'payload_size' },
    ),
  },
}

const kindByName = new Map(Object.entries(variants).map(([kind, { name }]) => [name, kind as Kind]))

/** The value of `type` in the line of a task. */
export function kindLine({ task, content }: DumpedTask): unknown {
  const known = content ?? pastContent(task)
  if (known === null) return task.type
  const { name, fields } = variants[known.kind] as Variant<Kind>
  if (fields === null) return name
  const written = fields.write(known) as Fields
  return { [name]: known.kind === 'indexCompaction' ? { index_uid: task.indexUid, ...written } : written }
}

/** What a waiting task is to do. @throws DumpError for a variant that this version cannot carry out */
export async function contentOf(
  variant: string,
  fields: Fields,
  line: string,
  upload: () => Promise<Upload>,
): Promise<TaskContent> {
  const kind = kindByName.get(variant)
  if (kind === undefined)
    throw new DumpError(
      `${line}: a waiting task of the type ${variant} cannot be carried out by this version`,
    )
  const form = variants[kind].fields as Form<object> | null
  const said = form === null ? {} : form.read(fields, `${line}: type.${variant}`)
  if (kind !== 'documents') return { kind, ...said } as TaskContent
  const { payload, bytes } = await upload()
  return { kind, ...(said as Said<'documents'>), payload, payloadBytes: bytes }
}

/** Variant of a line's `type` → type of the task. */
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

/** What an ended task had to do, as far as it still tells; null for types that only other writers carry out. */
function pastContent({ type, details = {} }: DumpedTask['task']): TaskContent | null {
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
        filter: pastFilter(details),
        context: (details.context ?? null) as Fields | null,
      }
    case 'documentDeletion':
      if (typeof details.originalFilter === 'string')
        return { kind: 'deleteByFilter', filter: pastFilter(details) }
      return Object.hasOwn(details, 'providedIds') ? { kind: 'deleteByIds', ids: [] } : { kind: 'clear' }
    case 'settingsUpdate':
      return { kind: 'settings', patch: details, details, isReset: false, mayCreateIndex: true }
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
    case 'upgradeDatabase':
    case 'networkTopologyChange':
      return null
    default:
      return { kind: type }
  }
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** Details come from other writers too and may hold anything: `otherwise` for what the form does not read. */
function readOr<T>(form: Form<T>, value: unknown, otherwise: T): T {
  try {
    return form.read(value, 'details')
  } catch (error) {
    if (error instanceof DumpError) return otherwise
    throw error
  }
}

/** Details show a filter as JSON text; text of other writers that is no JSON is the filter itself. */
function pastFilter({ originalFilter }: Details): unknown {
  if (typeof originalFilter !== 'string') return null
  try {
    return JSON.parse(originalFilter) as unknown
  } catch {
    return originalFilter
  }
}
