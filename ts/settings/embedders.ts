import { Liquid } from 'liquidjs'
import { ApiError } from '../errors/index.js'
import {
  asBoolean,
  asChoice,
  asCount,
  asObject,
  asString,
  badValue,
  field,
  type JsonObject,
  missingField,
  type Place,
  readFields,
  sortedKeys,
  wrongType,
} from './decode.js'

/** Experimental features that settings depend on. */
export interface SettingsFeatures {
  readonly foreignKeys: boolean
  readonly chatCompletions: boolean
  readonly compositeEmbedders: boolean
  readonly multimodal: boolean
}

/** Fields of one embedder, in the order they are rendered. A patch may hold null: back to the default. */
export type EmbedderFields = Readonly<Record<string, unknown>>

const sources = ['openAi', 'huggingFace', 'ollama', 'userProvided', 'rest', 'composite'] as const
type Source = (typeof sources)[number]

/** Most embedders one index can have: internal ids are one byte, and zero means none. */
const embeddersMax = 255

const anywhere = ['source', 'distribution', 'binaryQuantized']
const template = ['documentTemplate', 'documentTemplateMaxBytes']
const fragments = ['indexingFragments', 'searchFragments']

const allowed: Readonly<Record<Source, readonly string[]>> = {
  openAi: [...anywhere, 'model', 'apiKey', 'url', 'dimensions', ...template],
  huggingFace: [...anywhere, 'model', 'revision', 'pooling', ...template],
  ollama: [...anywhere, 'model', 'url', 'apiKey', 'dimensions', ...template],
  userProvided: [...anywhere, 'dimensions'],
  rest: [
    ...anywhere,
    'url',
    'request',
    'response',
    'apiKey',
    'headers',
    'dimensions',
    ...template,
    ...fragments,
  ],
  composite: [...anywhere, 'searchEmbedder', 'indexingEmbedder'],
}

const mandatory: Readonly<Record<Source, readonly string[]>> = {
  openAi: [],
  huggingFace: [],
  ollama: ['model'],
  userProvided: ['dimensions'],
  rest: ['url', 'request', 'response'],
  composite: ['searchEmbedder', 'indexingEmbedder'],
}

/** What survives a change of source, where the new source takes it. */
const keptOnSourceChange = [...template, 'apiKey', 'distribution', 'binaryQuantized']

const openAiModels: Readonly<Record<string, { dimensions: number; mayShrink: boolean }>> = {
  'text-embedding-ada-002': { dimensions: 1536, mayShrink: false },
  'text-embedding-3-small': { dimensions: 1536, mayShrink: true },
  'text-embedding-3-large': { dimensions: 3072, mayShrink: true },
}

const defaultModel = { openAi: 'text-embedding-3-small', huggingFace: 'BAAI/bge-base-en-v1.5' } as const
const defaultRevision = '617ca489d9e86b49b8167676d8220688b99db36e'

/** Prints every searchable field of a document as `name: value`, one per line. */
export const defaultDocumentTemplate =
  '{% for field in fields %}{% if field.is_searchable and field.value != nil %}' +
  '{{ field.name }}: {{ field.value }}\n{% endif %}{% endfor %}'

const liquid = new Liquid()

type Role = 'top' | 'searchEmbedder' | 'indexingEmbedder'

const notInNested = ['distribution', 'binaryQuantized', 'searchEmbedder', 'indexingEmbedder']
const forbiddenByRole: Readonly<Record<Role, readonly string[]>> = {
  top: [],
  searchEmbedder: [...notInNested, ...template, 'indexingFragments'],
  indexingEmbedder: [...notInNested, 'searchFragments'],
}

/**
 * One embedder of a patch: known fields of the right types, in rendering order; null where sent.
 * Throws `invalid_settings_embedders`, or `vector_embedding_error` for a faulty request template.
 */
export function parseEmbedder(raw: unknown, at: Place, role: Role = 'top'): EmbedderFields {
  const sent: Record<string, unknown> = {}
  const nullable = (name: string, read: (value: unknown, at: Place) => unknown) =>
    [
      name,
      (value: unknown, place: Place) => {
        sent[name] = value === null ? null : read(value, place)
      },
    ] as const
  const anything = (value: unknown): unknown => value
  const readers = Object.fromEntries([
    nullable('source', (value, place) => asChoice(value, place, sources)),
    nullable('model', asString),
    nullable('revision', asString),
    nullable('pooling', (value, place) => asChoice(value, place, ['useModel', 'forceCls', 'forceMean'])),
    nullable('apiKey', asString),
    nullable('dimensions', asPositive),
    nullable('binaryQuantized', asBoolean),
    nullable('documentTemplate', asTemplate),
    nullable('documentTemplateMaxBytes', asPositive),
    nullable('url', asUrl),
    nullable('indexingFragments', asFragments),
    nullable('searchFragments', asFragments),
    nullable('request', anything),
    nullable('response', anything),
    nullable('headers', asHeaders),
    nullable('searchEmbedder', (value, place) => parseEmbedder(value, place, 'searchEmbedder')),
    nullable('indexingEmbedder', (value, place) => parseEmbedder(value, place, 'indexingEmbedder')),
    nullable('distribution', asDistribution),
  ])
  readFields(raw, at, readers)
  const fields = Object.fromEntries(
    Object.keys(readers)
      .filter((name) => Object.hasOwn(sent, name))
      .map((name) => [name, sent[name]]),
  )
  if (role !== 'top') checkNested(fields, at, role)
  // Without a source it may be a change to an embedder we cannot see from here: judged once merged.
  else if (Object.hasOwn(fields, 'source')) checkComplete(fields, at)
  checkPlaceholders(fields, at)
  return fields
}

/** Which features an embedder of a patch needs; throws `feature_not_enabled` for one that is off. */
export function requireEmbedderFeatures(fields: EmbedderFields, features: SettingsFeatures): void {
  const nested = ['searchEmbedder', 'indexingEmbedder'].map((name) => fields[name])
  if (fields.source === 'composite' && !features.compositeEmbedders) {
    throw notEnabled('using `"composite"` as source of an embedder', 'composite embedders')
  }
  const used = fragments.find((name) => fields[name] !== undefined && fields[name] !== null)
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
    const at: Place = { path: `.embedders.${name}`, code: 'invalid_settings_embedders' }
    if (fields === null) merged.delete(name)
    else merged.set(name, mergeEmbedder(merged.get(name), fields, at))
  }
  if (merged.size > embeddersMax) {
    const reason = `too many embedders: found ${merged.size}, an index can have ${embeddersMax}`
    throw new ApiError('invalid_settings_embedders', reason)
  }
  return sortedKeys(Object.fromEntries(merged))
}

function mergeEmbedder(
  current: EmbedderFields | undefined,
  patch: EmbedderFields,
  at: Place,
): EmbedderFields {
  const source = sourceOf(Object.hasOwn(patch, 'source') ? patch : (current ?? {}))
  const kept = current === undefined || sourceOf(current) === source ? (current ?? {}) : carried(current)
  const fields: Record<string, unknown> = { ...pick(kept, allowed[source]), source }
  for (const [name, value] of Object.entries(patch)) {
    if (name === 'source') continue
    if (value === null) delete fields[name]
    else if (fragments.includes(name)) fields[name] = mergeFragments(fields[name], value)
    else if (name === 'indexingEmbedder') fields[name] = { ...(fields[name] as object), ...(value as object) }
    else if (name === 'apiKey' && value === maskSecret(String(fields[name] ?? ''))) continue
    else fields[name] = value
  }
  const sentInVain = Object.keys(patch).find((name) => !allowed[source].includes(name))
  if (sentInVain !== undefined) throw notForSource(at, sentInVain, source)
  if (current?.binaryQuantized === true && fields.binaryQuantized === false) {
    throw badValue(
      field(at, 'binaryQuantized'),
      'binary quantization cannot be undone, the originals are lost',
    )
  }
  checkComplete(fields, at)
  return inOrder(fields)
}

const carried = (fields: EmbedderFields): EmbedderFields => pick(fields, keptOnSourceChange)

const pick = (fields: EmbedderFields, names: readonly string[]): EmbedderFields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)))

function mergeFragments(current: unknown, patch: unknown): unknown {
  const merged = Object.entries({ ...(current as object | undefined), ...(patch as object) })
  return sortedKeys(Object.fromEntries(merged.filter(([, fragment]) => fragment !== null)))
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
  if (usesTemplate && fragments.every((name) => shown[name] === undefined)) {
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

/** A hint of a secret, the longer the secret the more of its start: enough to recognise, not to use. */
export function maskSecret(secret: string): string {
  const bytes = Buffer.byteLength(secret)
  if (bytes < 10) return 'XXX...'
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

const sourceOf = (fields: EmbedderFields): Source => (fields.source ?? 'openAi') as Source

function notForSource(at: Place, name: string, source: Source): ApiError {
  const fitting = sources.filter((candidate) => allowed[candidate].includes(name))
  return new ApiError(
    at.code,
    `\`${at.path.slice(1)}\`: field \`${name}\` is not available for source \`${source}\` ` +
      `(only for ${fitting.join(', ')}); available fields: ${allowed[source].join(', ')}`,
  )
}

/** Judges an embedder whose source is known: nothing forbidden, nothing missing, a model that exists. */
function checkComplete(fields: EmbedderFields, at: Place): void {
  const source = sourceOf(fields)
  const forbidden = Object.keys(fields).find((name) => !allowed[source].includes(name))
  if (forbidden !== undefined) throw notForSource(at, forbidden, source)
  const lacking = mandatory[source].find((name) => fields[name] === undefined || fields[name] === null)
  if (lacking !== undefined) throw missingField(at, lacking)
  if (source === 'openAi') checkOpenAi(fields, at)
}

function checkOpenAi(fields: EmbedderFields, at: Place): void {
  const name = (fields.model ?? defaultModel.openAi) as string
  const model = Object.hasOwn(openAiModels, name) ? openAiModels[name] : undefined
  if (model === undefined) {
    const known = Object.keys(openAiModels).join(', ')
    throw badValue(field(at, 'model'), `unknown OpenAI model \`${name}\`, known ones: ${known}`)
  }
  const dimensions = (fields.dimensions ?? model.dimensions) as number
  if (dimensions > model.dimensions || (!model.mayShrink && dimensions !== model.dimensions)) {
    const wanted = model.mayShrink ? `at most ${model.dimensions}` : `exactly ${model.dimensions}`
    throw badValue(field(at, 'dimensions'), `model \`${name}\` has ${wanted} dimensions, found ${dimensions}`)
  }
}

function checkNested(fields: EmbedderFields, at: Place, role: Role): void {
  if (fields.source === undefined || fields.source === null) throw missingField(at, 'source')
  if (fields.source === 'composite' || fields.source === 'userProvided') {
    const reason = `a nested embedder cannot have source \`${fields.source}\``
    throw badValue(field(at, 'source'), reason)
  }
  const forbidden = Object.keys(fields).find((name) => forbiddenByRole[role].includes(name))
  if (forbidden !== undefined) throw badValue(at, `field \`${forbidden}\` is not available in \`${role}\``)
  checkComplete(fields, at)
}

/** `rest` only: without its placeholders a request carries no text and an answer yields no vector. */
function checkPlaceholders(fields: EmbedderFields, at: Place): void {
  const usesFragments = fragments.some((name) => fields[name] !== undefined && fields[name] !== null)
  if (usesFragments && fields.documentTemplate !== undefined && fields.documentTemplate !== null) {
    throw placeholderError(at, 'fragments and `documentTemplate` exclude each other')
  }
  const input = usesFragments ? '{{fragment}}' : '{{text}}'
  if (fields.request !== undefined && fields.request !== null && !holds(fields.request, input)) {
    throw placeholderError(field(at, 'request'), `there is no \`"${input}"\` in it`)
  }
  if (fields.response !== undefined && fields.response !== null && !holds(fields.response, '{{embedding}}')) {
    throw placeholderError(field(at, 'response'), 'there is no `"{{embedding}}"` in it')
  }
}

const placeholderError = (at: Place, reason: string): ApiError =>
  badValue({ path: at.path, code: 'vector_embedding_error' }, reason)

/** Looks at most 64 levels deep: no provider's request is deeper, and the stack is not endless. */
function holds(value: unknown, placeholder: string, levels = 64): boolean {
  if (typeof value === 'string') return value === placeholder
  if (typeof value !== 'object' || value === null || levels === 0) return false
  return Object.values(value).some((inner) => holds(inner, placeholder, levels - 1))
}

function asPositive(value: unknown, at: Place): number {
  const count = asCount(value, at)
  if (count === 0) throw badValue(at, 'must be at least 1')
  return count
}

function asUrl(value: unknown, at: Place): string {
  const text = asString(value, at)
  if (!URL.canParse(text)) throw badValue(at, `\`${text}\` is not an absolute URL`)
  return text
}

/** A Liquid template that parses. */
export function asTemplate(value: unknown, at: Place): string {
  const text = asString(value, at)
  try {
    liquid.parse(text)
  } catch (error) {
    throw badValue(at, `the template does not parse: ${error instanceof Error ? error.message : error}`)
  }
  return text
}

function asHeaders(value: unknown, at: Place): Readonly<Record<string, string>> {
  const headers = Object.entries(asObject(value, at))
  return sortedKeys(
    Object.fromEntries(headers.map(([name, text]) => [name, asString(text, field(at, name))])),
  )
}

function asFragments(value: unknown, at: Place): JsonObject {
  const named = Object.entries(asObject(value, at)).map(([name, raw]): [string, unknown] => {
    if (raw === null) return [name, null]
    const place = field(at, name)
    let content: { value: unknown } | undefined
    readFields(raw, place, {
      value: (inner) => {
        content = { value: inner }
      },
    })
    if (content === undefined) throw missingField(place, 'value')
    return [name, content]
  })
  return sortedKeys(Object.fromEntries(named))
}

function asDistribution(value: unknown, at: Place): { mean: number; sigma: number } {
  let mean: number | undefined
  let sigma: number | undefined
  readFields(value, at, {
    mean: (inner, place) => {
      mean = asRatio(inner, place)
    },
    sigma: (inner, place) => {
      sigma = asRatio(inner, place)
      if (sigma === 0) throw badValue(place, 'must be above 0')
    },
  })
  if (mean === undefined) throw missingField(at, 'mean')
  if (sigma === undefined) throw missingField(at, 'sigma')
  return { mean, sigma }
}

function asRatio(value: unknown, at: Place): number {
  if (typeof value !== 'number') throw wrongType(at, value, 'number')
  if (!(value >= 0 && value <= 1)) throw badValue(at, `must be between 0 and 1, found ${value}`)
  return value
}
