import { ApiError } from '../errors/index.js'
import { type At, badValue } from '../parse/index.js'
import { sortedKeys } from './common-types.js'
import {
  allowed,
  checkComplete,
  defaultModel,
  type EmbedderFields,
  fragmentFields,
  indexingFields,
  notForSource,
  sourceOf,
  templateFields,
} from './embedder-rules.js'
import { EMBEDDERS_MAX, FRAGMENTS_MAX } from './limits.js'

/** Experimental features that settings depend on. */
export interface SettingsFeatures {
  readonly foreignKeys: boolean
  readonly chatCompletions: boolean
  readonly compositeEmbedders: boolean
  readonly multimodal: boolean
}

/** What survives a change of source, where the new source takes it. */
const keptOnSourceChange = [...templateFields, 'apiKey', 'distribution', 'binaryQuantized']

const defaultRevision = '617ca489d9e86b49b8167676d8220688b99db36e'

/** Prints every searchable field of a document as `name: value`, one per line. */
export const defaultDocumentTemplate =
  '{% for field in fields %}{% if field.is_searchable and field.value != nil %}' +
  '{{ field.name }}: {{ field.value }}\n{% endif %}{% endfor %}'

/** Which features an embedder of a patch needs; throws `feature_not_enabled` for one that is off. */
export function requireEmbedderFeatures(fields: EmbedderFields, features: SettingsFeatures): void {
  const nested = ['searchEmbedder', 'indexingEmbedder'].map((name) => fields[name])
  if (fields.source === 'composite' && !features.compositeEmbedders) {
    throw notEnabled('using `"composite"` as source of an embedder', 'composite embedders')
  }
  const used = fragmentFields.find((name) => fields[name] !== undefined && fields[name] !== null)
  if (used !== undefined && !features.multimodal) throw notEnabled(`setting \`${used}\``, 'multimodal')
  for (const inner of nested) {
    if (inner !== undefined && inner !== null) requireEmbedderFeatures(inner as EmbedderFields, features)
  }
}

/** The refusal of something that needs an experimental feature. */
export const notEnabled = (what: string, feature: string): ApiError =>
  new ApiError(
    'feature_not_enabled',
    `${what} requires enabling the \`${feature}\` experimental feature, see PATCH /experimental-features`,
  )

/**
 * The embedders after a patch: merged by name, then by field. Throws what can only be told against the
 * stored ones: `invalid_settings_embedders` for a field or a lack that does not fit the resulting source,
 * for undoing binary quantisation, or for too many embedders.
 */
export function mergeEmbedders(
  current: Readonly<Record<string, EmbedderFields>>,
  patch: Readonly<Record<string, EmbedderFields | null>>,
): Readonly<Record<string, EmbedderFields>> {
  const merged = new Map(Object.entries(current))
  for (const [name, fields] of Object.entries(patch)) {
    const at: At = { path: `.embedders.${name}`, code: 'invalid_settings_embedders' }
    if (fields === null) merged.delete(name)
    else merged.set(name, mergeEmbedder(merged.get(name), fields, at))
  }
  if (merged.size > EMBEDDERS_MAX) {
    const reason = `too many embedders: found ${merged.size}, an index can have ${EMBEDDERS_MAX}`
    throw new ApiError('invalid_settings_embedders', reason)
  }
  return sortedKeys(merged)
}

function mergeEmbedder(current: EmbedderFields | undefined, patch: EmbedderFields, at: At): EmbedderFields {
  const source = sourceOf(Object.hasOwn(patch, 'source') ? patch : (current ?? {}))
  const kept = current === undefined || sourceOf(current) === source ? (current ?? {}) : carried(current)
  const fields: Record<string, unknown> = { ...pick(kept, allowed[source]), source }
  for (const [name, value] of Object.entries(patch)) {
    if (name === 'source') continue
    if (value === null) delete fields[name]
    else if (fragmentFields.includes(name)) fields[name] = mergeFragments(fields[name], value)
    else if (name === 'indexingEmbedder') fields[name] = { ...(fields[name] as object), ...(value as object) }
    else if (name === 'apiKey' && value === maskSecret(String(fields[name] ?? ''))) continue
    else fields[name] = value
  }
  const sentInVain = Object.keys(patch).find((name) => !allowed[source].includes(name))
  if (sentInVain !== undefined) throw notForSource(at, sentInVain, source)
  if (current?.binaryQuantized === true && fields.binaryQuantized === false) {
    const where = { path: `${at.path}.binaryQuantized`, code: at.code }
    throw badValue('binary quantization cannot be undone, the originals are lost', where)
  }
  checkComplete(fields, at)
  requireFewFragments(fields, at)
  return { ...inOrder(fields), ...knownAfter(current, fields) }
}

function requireFewFragments(fields: EmbedderFields, at: At): void {
  const owners = [fields, fields.searchEmbedder, fields.indexingEmbedder] as (EmbedderFields | undefined)[]
  for (const name of fragmentFields) {
    const count = Math.max(...owners.map((owner) => Object.keys((owner?.[name] ?? {}) as object).length))
    if (count <= FRAGMENTS_MAX) continue
    const where = { path: `${at.path}.${name}`, code: at.code }
    throw badValue(`too many fragments: found ${count}, an embedder can have ${FRAGMENTS_MAX}`, where)
  }
}

/** What is known of an embedder that nobody set: kept beside its fields, never shown. */
export interface Known {
  /** Components of its vectors, as the provider answered. */
  readonly dimensions?: number
  /** Numbers of its indexing fragments, which tell their vectors apart. */
  readonly fragments?: Readonly<Record<string, number>>
}

/** Fragments keep their numbers; new ones get the lowest that are free. */
function knownAfter(current: EmbedderFields | undefined, fields: EmbedderFields): { known?: Known } {
  const { fragments: numbers = {}, ...known } = (current?.known ?? {}) as Known
  const names = Object.keys((indexingFields(fields).indexingFragments ?? {}) as object)
  const stillThere = new Set(names)
  const kept = new Map(Object.entries(numbers).filter(([name]) => stillThere.has(name)))
  const used = new Set(kept.values())
  let free = 0
  for (const name of names) {
    if (kept.has(name)) continue
    while (used.has(free)) free++
    used.add(free)
    kept.set(name, free)
  }
  const all = { ...known, ...(names.length > 0 && { fragments: Object.fromEntries(kept) }) }
  return Object.keys(all).length === 0 ? {} : { known: all }
}

const carried = (fields: EmbedderFields): EmbedderFields => pick(fields, keptOnSourceChange)

const pick = (fields: EmbedderFields, names: readonly string[]): EmbedderFields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)))

function mergeFragments(current: unknown, patch: unknown): unknown {
  const merged = Object.entries({ ...(current as object | undefined), ...(patch as object) })
  return sortedKeys(new Map(merged.filter(([, fragment]) => fragment !== null)))
}

/** What was set of an embedder, secrets in clear: what another instance needs to have it too. */
export function embedderAsSet({ known: _known, ...fields }: EmbedderFields): EmbedderFields {
  return fields
}

/** How an embedder looks in `GET /settings`: what was set, what the source defaults to, secrets masked. */
export function renderEmbedder(fields: EmbedderFields): EmbedderFields {
  const source = sourceOf(fields)
  const shown: Record<string, unknown> = { ...fields, source }
  if (source === 'openAi') shown.model ??= defaultModel.openAi
  if (source === 'huggingFace') {
    if (shown.model === undefined) shown.revision ??= defaultRevision
    shown.model ??= defaultModel.huggingFace
    shown.pooling ??= 'useModel'
  }
  if (source === 'rest') shown.headers ??= {}
  const usesTemplate = allowed[source].includes('documentTemplate')
  if (usesTemplate && fragmentFields.every((name) => shown[name] === undefined)) {
    shown.documentTemplate ??= defaultDocumentTemplate
    shown.documentTemplateMaxBytes ??= 400
  }
  return maskEmbedder(inOrder(shown))
}

/** The same fields with keys and secret headers unreadable, nested embedders included. */
export function maskEmbedder(fields: EmbedderFields): EmbedderFields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      if (value === null) return [name, value]
      if (name === 'apiKey') return [name, maskSecret(String(value))]
      if (name === 'headers') return [name, maskHeaders(value as Readonly<Record<string, string>>)]
      if (name === 'searchEmbedder' || name === 'indexingEmbedder') {
        return [name, maskEmbedder(value as EmbedderFields)]
      }
      return [name, value]
    }),
  )
}

/**
 * The mask of a secret of which nothing may be shown. It is what clients of the API expect, not a gap in the code.
 * Source: vectors §2.8.
 */
export const HIDDEN_SECRET = 'XXX...'

/** A hint of a secret, the longer the secret the more of its start: enough to recognise, not to use. */
export function maskSecret(secret: string): string {
  const bytes = Buffer.byteLength(secret)
  if (bytes < 10) return HIDDEN_SECRET
  if (bytes < 20) return `${head(secret, 2)}XXXX...`
  if (bytes < 30) return `${head(secret, 3)}XXXXX...`
  return `${head(secret, 5)}XXXXXX...`
}

/** The shortest run of whole characters that is at least `bytes` long. */
function head(text: string, bytes: number): string {
  let taken = ''
  for (const character of text) {
    if (Buffer.byteLength(taken) >= bytes) break
    taken += character
  }
  return taken
}

const secretHeader = /^(authorization|cookie)$|key|token|secret/i

const maskHeaders = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      secretHeader.test(name) ? maskSecret(value) : value,
    ]),
  )

const rendered = [
  'source',
  'model',
  'revision',
  'pooling',
  'apiKey',
  'dimensions',
  'binaryQuantized',
  'documentTemplate',
  'documentTemplateMaxBytes',
  'url',
  'indexingFragments',
  'searchFragments',
  'request',
  'response',
  'headers',
  'searchEmbedder',
  'indexingEmbedder',
  'distribution',
]

const inOrder = (fields: EmbedderFields): EmbedderFields =>
  Object.fromEntries(
    rendered.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]),
  )
