import { ApiError } from '../errors/index.js'
import { type At, badValue } from '../parse/index.js'
import { sortedKeys } from './common-types.js'
import {
  allowed,
  checkComplete,
  defaultModel,
  defaultRevision,
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

/** The fields that are kept when the source of an embedder changes, if the new source allows them. */
const independentOfSource = [...templateFields, 'apiKey', 'distribution', 'binaryQuantized']

/** A template that writes every searchable field of a document as `name: value`, one field per line. */
export const defaultDocumentTemplate =
  '{% for field in fields %}{% if field.is_searchable and field.value != nil %}' +
  '{{ field.name }}: {{ field.value }}\n{% endif %}{% endfor %}'

/** Checks that the features needed by an embedder are on. @throws ApiError `feature_not_enabled` */
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

/** Returns the error for something that needs an experimental feature. */
export const notEnabled = (what: string, feature: string): ApiError =>
  new ApiError(
    'feature_not_enabled',
    `${what} requires enabling the \`${feature}\` experimental feature, see PATCH /experimental-features`,
  )

/**
 * Returns the embedders after a patch, merged by name and then by field.
 * @throws ApiError `invalid_settings_embedders` for fields that the resulting source forbids or lacks, undoing binary
 * quantization, or too many embedders
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
  const fields: Record<string, unknown> = { ...keptFor(source, current), source }
  for (const [name, value] of Object.entries(withSecretsOf(fields, patch))) {
    if (name === 'source') continue
    if (value === null) delete fields[name]
    else if (name === 'searchEmbedder') fields[name] = mergeNested(undefined, value)
    else if (name === 'indexingEmbedder') fields[name] = mergeNested(fields[name], value)
    else setField(fields, name, value)
  }
  const unsupported = Object.keys(patch).find((name) => !allowed[source].includes(name))
  if (unsupported !== undefined) throw notForSource(at, unsupported, source)
  if (current?.binaryQuantized === true && fields.binaryQuantized !== true) {
    const where = { path: `${at.path}.binaryQuantized`, code: at.code }
    throw badValue(
      'binary quantization cannot be undone, the original vectors are lost; remove the embedder and set it again',
      where,
    )
  }
  checkComplete(fields, at)
  requireFewFragments(fields, at)
  return { ...inOrder(fields), ...knownAfter(current, fields) }
}

/** Merges an embedder inside a composite one. `patch` states its source. */
function mergeNested(current: unknown, patch: unknown): EmbedderFields {
  const sent = patch as EmbedderFields
  const source = sourceOf(sent)
  const fields: Record<string, unknown> = {
    ...keptFor(source, current as EmbedderFields | undefined),
    source,
  }
  for (const [name, value] of Object.entries(sent)) {
    if (value === null) delete fields[name]
    else setField(fields, name, value)
  }
  return inOrder(fields)
}

/** Sets a field to a value other than null. Fragments are merged by name; none at all are as good as unset. */
function setField(fields: Record<string, unknown>, name: string, value: unknown): void {
  const merged = fragmentFields.includes(name) ? mergeFragments(fields[name], value) : value
  if (fragmentFields.includes(name) && Object.keys(merged as object).length === 0) delete fields[name]
  else fields[name] = merged
}

/** Returns the fields of `current` that an embedder of `source` keeps. */
function keptFor(source: ReturnType<typeof sourceOf>, current: EmbedderFields = {}): EmbedderFields {
  return pick(sourceOf(current) === source ? current : sourceIndependent(current), allowed[source])
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

/** Facts about an embedder that the service found out. They are stored with its fields but never shown. */
export interface Known {
  /** The number of components of the vectors from its provider. */
  readonly dimensions?: number
  /** The numbers of its indexing fragments. They identify the vectors of each fragment. */
  readonly fragments?: Readonly<Record<string, number>>
}

/** Number of components of an embedder's vectors; null if unknown. */
export function dimensionsOf(fields: EmbedderFields): number | null {
  const known = (fields.known ?? {}) as Known
  return dimensionsSet(indexingFields(fields)) ?? known.dimensions ?? null
}

/** Number of components in the settings; null if they have none. */
export const dimensionsSet = (fields: EmbedderFields): number | null =>
  (fields.dimensions as number | undefined) ?? openAiDimensions(fields)

/** Number of components of OpenAI's models; null for other sources. Source: vectors §2.3. */
const openAiDimensions = (fields: EmbedderFields): number | null =>
  sourceOf(fields) !== 'openAi' ? null : fields.model === 'text-embedding-3-large' ? 3072 : 1536

/** Returns the facts after a change. Fragments keep their numbers, and new fragments get the lowest free numbers. */
function knownAfter(current: EmbedderFields | undefined, fields: EmbedderFields): { known?: Known } {
  const { fragments: numbers = {}, ...known } = (current?.known ?? {}) as Known
  const names = Object.keys((indexingFields(fields).indexingFragments ?? {}) as object)
  const stillThere = new Set(names)
  const assigned = new Map(Object.entries(numbers).filter(([name]) => stillThere.has(name)))
  const used = new Set(assigned.values())
  let free = 0
  for (const name of names) {
    if (assigned.has(name)) continue
    while (used.has(free)) free++
    used.add(free)
    assigned.set(name, free)
  }
  const all = { ...known, ...(names.length > 0 && { fragments: Object.fromEntries(assigned) }) }
  return Object.keys(all).length === 0 ? {} : { known: all }
}

const sourceIndependent = (fields: EmbedderFields): EmbedderFields => pick(fields, independentOfSource)

const pick = (fields: EmbedderFields, names: readonly string[]): EmbedderFields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)))

function mergeFragments(current: unknown, patch: unknown): unknown {
  const merged = Object.entries({ ...(current as object | undefined), ...(patch as object) })
  return sortedKeys(new Map(merged.filter(([, fragment]) => fragment !== null)))
}

/** Returns the fields for setting the embedder on another instance, with secrets in clear. */
export function embedderAsSet({ known: _known, ...fields }: EmbedderFields): EmbedderFields {
  return fields
}

/** Removes API keys and secret headers, also in nested embedders. */
export function embedderWithoutSecrets(fields: EmbedderFields): EmbedderFields {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]): [string, unknown][] => {
      if (value === null) return [[name, value]]
      if (name === 'apiKey') return []
      if (name === 'headers') return [[name, withoutSecretHeaders(value as Readonly<Record<string, string>>)]]
      return [[name, isNestedEmbedder(name) ? embedderWithoutSecrets(value as EmbedderFields) : value]]
    }),
  )
}

const isNestedEmbedder = (name: string): boolean => name === 'searchEmbedder' || name === 'indexingEmbedder'

const withoutSecretHeaders = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !isSecretHeader(name)))

/** Returns an embedder for `GET /settings`: with the defaults of its source, and masked secrets. */
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

/** Masks API keys and secret headers, also in nested embedders. */
export function maskEmbedder(fields: EmbedderFields): EmbedderFields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      if (value === null) return [name, value]
      if (name === 'apiKey') return [name, maskSecret(String(value))]
      if (name === 'headers') return [name, maskHeaders(value as Readonly<Record<string, string>>)]
      if (isNestedEmbedder(name)) {
        return [name, maskEmbedder(value as EmbedderFields)]
      }
      return [name, value]
    }),
  )
}

/**
 * Masks secrets for the details of a task, user names and passwords in URLs too: a key that reads tasks may not read
 * settings.
 */
export const maskSentEmbedder = (fields: EmbedderFields): EmbedderFields =>
  withMaskedUrls(maskEmbedder(fields))

const withMaskedUrls = (fields: EmbedderFields): EmbedderFields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      if (name === 'url' && typeof value === 'string') return [name, maskUserInfo(value)]
      const isNested = isNestedEmbedder(name) && value !== null
      return [name, isNested ? withMaskedUrls(value as EmbedderFields) : value]
    }),
  )

/**
 * Replaces the masks in a patch by the secrets of `current` that they stand for. A client may send back what an answer
 * showed.
 */
export function withSecretsOf(current: EmbedderFields, patch: EmbedderFields): EmbedderFields {
  return Object.fromEntries(
    Object.entries(patch).map(([name, value]) => {
      const held = Object.hasOwn(current, name) ? (current[name] ?? null) : null
      if (held === null || value === null) return [name, value]
      if (name === 'apiKey') return [name, value === maskSecret(String(held)) ? held : value]
      if (name === 'headers') return [name, { ...(value as object), ...shownHeaders(value, held) }]
      const isNested = isNestedEmbedder(name)
      return [name, isNested ? withSecretsOf(held as EmbedderFields, value as EmbedderFields) : value]
    }),
  )
}

/** Returns the headers of `held` whose masks are in `sent`. */
function shownHeaders(sent: unknown, held: unknown): Readonly<Record<string, string>> {
  const masks = new Map(Object.entries(maskHeaders(held as Readonly<Record<string, string>>)))
  const shown = Object.entries(sent as Readonly<Record<string, string>>)
    .filter(([name, value]) => masks.get(name) === value)
    .map(([name]) => [name, (held as Readonly<Record<string, string>>)[name]!] as const)
  return Object.fromEntries(shown)
}

/** The mask of a secret without any visible character. The text is the same as in the API. Source: vectors §2.8. */
export const HIDDEN_SECRET = 'XXX...'

/**
 * Returns the start of a secret and a mask. The visible part grows with the length of the secret, so that users can
 * recognise but not guess it.
 */
export function maskSecret(secret: string): string {
  const bytes = Buffer.byteLength(secret)
  if (bytes < 10) return HIDDEN_SECRET
  if (bytes < 20) return `${head(secret, 2)}XXXX...`
  if (bytes < 30) return `${head(secret, 3)}XXXXX...`
  return `${head(secret, 5)}XXXXXX...`
}

/** Masks the user name and password of a URL. Other texts are returned unchanged. */
export const maskUserInfo = (url: string): string =>
  url.replace(/^([a-z][a-z0-9+.-]*:[\\/]*)[^\\/?#]*@/i, `$1${HIDDEN_SECRET}@`)

/** Returns the shortest prefix of `text` with at least `bytes` bytes. */
function head(text: string, bytes: number): string {
  let taken = ''
  for (const character of text) {
    if (Buffer.byteLength(taken) >= bytes) break
    taken += character
  }
  return taken
}

const secretHeader = /^(authorization|cookie)$|key|token|secret/i

/** Returns true if the name of a header indicates that its value is a secret. */
export const isSecretHeader = (name: string): boolean => secretHeader.test(name)

/** Masks the values of secret headers. */
export const maskHeaders = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, isSecretHeader(name) ? maskSecret(value) : value]),
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
