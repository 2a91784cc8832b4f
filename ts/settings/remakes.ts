/**
 * Finds the embedders that must embed documents again after a change of settings.
 *
 * Vectors with `regenerate: false` stay in any case. Source: vectors §2.10.
 */
import { ownValue } from '../parse/index.js'
import { type EmbedderFields, indexingFields, sourceOf } from './embedder-rules.js'
import { defaultDocumentTemplate } from './embedders.js'
import type { IndexSettings } from './index-settings.js'

/** The documents to embed again. `changed`: documents whose input differs under the new settings. */
export type Remake = 'all' | 'changed'

/** By name of the embedder. An embedder without an entry embeds no document again. */
export type Remakes = Readonly<Record<string, Remake>>

/** The fields that determine every vector of an embedder, in addition to its source. */
const vectorFields: Readonly<Record<string, readonly string[]>> = {
  openAi: ['model', 'dimensions'],
  huggingFace: ['model', 'revision', 'pooling'],
  ollama: ['model', 'url'],
  rest: ['url', 'request', 'response'],
  userProvided: [],
}

/** Returns the embedders in both settings that must embed documents again. */
export function remakesBetween(before: IndexSettings, after: IndexSettings): Remakes {
  const searchable = !same(before.searchableAttributes, after.searchableAttributes)
  const remakes: [string, Remake][] = []
  for (const [name, fields] of Object.entries(after.embedders)) {
    const old = ownValue(before.embedders, name)
    if (old === undefined) continue
    const remake = remakeOf(indexingFields(old), indexingFields(fields), searchable)
    if (remake !== null) remakes.push([name, remake])
  }
  return Object.fromEntries(remakes)
}

function remakeOf(before: EmbedderFields, after: EmbedderFields, searchable: boolean): Remake | null {
  const source = sourceOf(after)
  if (source === 'userProvided') return null
  const differs = (name: string): boolean => !same(before[name], after[name])
  if (sourceOf(before) !== source || vectorFields[source]?.some(differs)) return 'all'
  const [hadFragments, hasFragments] = [before, after].map((fields) => fields.indexingFragments !== undefined)
  if (hadFragments !== hasFragments) return 'all'
  if (hasFragments) return differs('indexingFragments') ? 'changed' : null
  const [oldTemplate, template] = [templateOf(before), templateOf(after)]
  if (oldTemplate !== template || bytesMaxOf(after) > bytesMaxOf(before)) return 'changed'
  // Only a template that iterates over `fields` can test if a field is searchable.
  return searchable && template.includes('fields') ? 'changed' : null
}

const templateOf = (fields: EmbedderFields): string =>
  (fields.documentTemplate ?? defaultDocumentTemplate) as string

const bytesMaxOf = (fields: EmbedderFields): number => (fields.documentTemplateMaxBytes ?? 400) as number

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
