/**
 * Compares a document before and after a change: determines the vectors to keep and the input to embed.
 *
 * Source: vectors §2.10, §3.
 */
import { ApiError } from '../errors/index.js'
import { ownValue } from '../parse/index.js'
import {
  defaultDocumentTemplate,
  type EmbedderFields,
  indexingFields,
  type Known,
} from '../settings/index.js'
import { documentContext, renderFragment, renderText, TemplateError } from './templates/templates.js'

type Document = Readonly<Record<string, unknown>>

/** The settings that determine the input of an embedder for a document. */
export interface EmbedderView {
  readonly fields: EmbedderFields
  readonly searchableAttributes: readonly string[]
}

/** A document that may need new vectors, as reported by the engine. */
export interface Subject {
  readonly id: string
  readonly document: Document
  readonly before: Document | null
  readonly keeps: boolean
}

/** A vector of a document after the change. */
export interface Slot {
  /** The document id, for messages. */
  readonly id: string
  /** The number of the fragment; null for a vector of the complete document. */
  readonly fragment: number | null
  /** The input to embed; undefined: keeps the present vector of this fragment. */
  readonly input: unknown
}

/**
 * Returns the vectors that a document needs; null to keep all present vectors.
 * @throws ApiError `invalid_document_fields` if its template fails
 */
export async function slotsOf(
  subject: Subject,
  after: EmbedderView,
  before: EmbedderView,
): Promise<readonly Slot[] | null> {
  const fragments = indexingFields(after.fields).indexingFragments
  return fragments === undefined ? textSlots(subject, after, before) : fragmentSlots(subject, after, before)
}

async function textSlots(
  { id, document, before }: Subject,
  after: EmbedderView,
  shownBefore: EmbedderView,
): Promise<readonly Slot[] | null> {
  let input: string
  try {
    input = await textOf(document, after)
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    throw new ApiError('invalid_document_fields', `document \`${id}\`: its template fails: ${error.message}`)
  }
  if (before !== null && (await attempted(textOf(before, shownBefore))) === input) return null
  return [{ id, fragment: null, input }]
}

function textOf(document: Document, { fields, searchableAttributes }: EmbedderView): Promise<string> {
  const { documentTemplate = defaultDocumentTemplate, documentTemplateMaxBytes = 400 } =
    indexingFields(fields)
  const context = documentContext(document, searchableAttributes)
  return renderText(String(documentTemplate), context, Number(documentTemplateMaxBytes))
}

async function fragmentSlots(
  { id, document, before, keeps }: Subject,
  after: EmbedderView,
  shownBefore: EmbedderView,
): Promise<readonly Slot[] | null> {
  const now = await renderedFragments(document, after)
  const then = before === null ? new Map<string, unknown>() : await renderedFragments(before, shownBefore)
  const same = (name: string): boolean =>
    before !== null && then.has(name) && JSON.stringify(then.get(name)) === JSON.stringify(now.get(name))
  const names = [...now.keys()]
  if (before !== null && then.size === now.size && names.every(same)) return null
  const numbers = ((after.fields.known ?? {}) as Known).fragments ?? {}
  return names
    .map((name) => ({
      id,
      fragment: ownValue(numbers, name) ?? 0,
      input: keeps && same(name) ? undefined : now.get(name),
    }))
    .sort((a, b) => a.fragment - b.fragment)
}

/** Renders the fragments of a document, by name. Leaves out those that fail because the document lacks a field. */
async function renderedFragments(
  document: Document,
  { fields, searchableAttributes }: EmbedderView,
): Promise<Map<string, unknown>> {
  const fragments = (indexingFields(fields).indexingFragments ?? {}) as Readonly<
    Record<string, { value: unknown }>
  >
  const { doc } = documentContext(document, searchableAttributes) as { doc: Document }
  const rendered = new Map<string, unknown>()
  for (const [name, { value }] of Object.entries(fragments)) {
    const input = await attempted(renderFragment(value, { doc }))
    if (input !== null) rendered.set(name, input)
  }
  return rendered
}

/** Returns the result of rendering; null if the template fails. */
async function attempted<T>(rendering: Promise<T>): Promise<T | null> {
  try {
    return await rendering
  } catch (error) {
    if (error instanceof TemplateError) return null
    throw error
  }
}

/**
 * Returns the input for a search: the only search fragment that can be rendered with it.
 * @throws ApiError `vector_embedding_error` if no fragment can be rendered, or more than one
 */
export async function searchInput(
  fragments: Readonly<Record<string, { readonly value: unknown }>>,
  search: { readonly q: string | null; readonly media: unknown },
): Promise<unknown> {
  const { q, media } = search
  const context = { ...(q !== null && { q }), ...(media !== null && { media }) }
  const rendering: { readonly name: string; readonly input: unknown }[] = []
  for (const [name, { value }] of Object.entries(fragments)) {
    const input = await attempted(renderFragment(value, context))
    if (input !== null) rendering.push({ name, input })
  }
  const [only, another] = rendering
  if (only !== undefined && another === undefined) return only.input
  const names = (rendering.length === 0 ? Object.keys(fragments) : rendering.map(({ name }) => name)).join(
    '`, `',
  )
  const found =
    rendering.length === 0 ? 'none of the search fragments fits' : 'more than one search fragment fits'
  throw new ApiError('vector_embedding_error', `${found} the query: \`${names}\``)
}
