/**
 * Here are embedders and the documents that came with them: how long are their vectors?
 *
 * Settings need not say it; the provider was asked then. An import does not ask again: our dumps tell it in an
 * entry of their own, and those of others by the first vector.
 */
import { ownValue } from '../parse/index.js'
import { type EmbedderFields, embedderAsSet, type IndexSettings, type Known } from '../settings/index.js'
import type { Unpacked } from './archive-reader.js'
import { jsonOf, linesOf } from './entries.js'
import { fieldsOf } from './fields.js'
import { lengthsForm } from './instance-forms.js'
import { VECTORLESS_LINES_MAX } from './limits.js'

type Lengths = ReadonlyMap<string, number>

/** Settings as other instances take them, secrets in clear. */
export const settingsAsSet = (settings: IndexSettings): object => ({
  ...settings,
  embedders: Object.fromEntries(
    Object.entries(settings.embedders).map(([name, fields]) => [name, embedderAsSet(fields)]),
  ),
})

/** Components of the vectors of those embedders whose settings do not tell. */
export function learnedLengths({ embedders }: IndexSettings): Readonly<Record<string, number>> {
  const lengths = Object.entries(embedders).map(([name, { known }]) => [
    name,
    (known as Known | undefined)?.dimensions,
  ])
  return Object.fromEntries(lengths.filter(([, length]) => length !== undefined))
}

/** The settings, with what is known of their embedders. @param place `indexes/{folder}` @throws DumpError */
export async function withLengths(
  settings: IndexSettings,
  unpacked: Unpacked,
  place: string,
): Promise<IndexSettings> {
  const unknown = Object.entries(settings.embedders)
    .filter(([, { source, dimensions }]) => source !== 'openAi' && dimensions === undefined)
    .map(([name]) => name)
  if (unknown.length === 0) return settings
  const at = `${place}/embedders.json`
  const told = lengthsForm.read((await jsonOf(unpacked, at)) ?? {}, at)
  const missing = new Set(unknown.filter((name) => !Object.hasOwn(told, name)))
  const shown = await lengthsIn(unpacked, `${place}/documents.jsonl`, missing)
  const lengths = new Map([...shown, ...Object.entries(told)])
  const embedders = unknown.map((name): readonly [string, EmbedderFields] => {
    const fields = settings.embedders[name] as EmbedderFields
    const dimensions = lengths.get(name)
    return [
      name,
      dimensions === undefined ? fields : { ...fields, known: { ...(fields.known as Known), dimensions } },
    ]
  })
  return { ...settings, embedders: { ...settings.embedders, ...Object.fromEntries(embedders) } }
}

/** Reads documents until each embedder of `missing` has shown a vector. */
async function lengthsIn(unpacked: Unpacked, path: string, missing: Set<string>): Promise<Lengths> {
  const lengths = new Map<string, number>()
  let lines = 0
  if (missing.size === 0) return lengths
  for await (const { value, at } of linesOf(unpacked, path)) {
    const { _vectors } = fieldsOf(value, at)
    for (const name of missing) {
      const length = firstLength(_vectors, name)
      if (length === null) continue
      lengths.set(name, length)
      missing.delete(name)
    }
    if (missing.size === 0 || ++lines === VECTORLESS_LINES_MAX) break
  }
  return lengths
}

/** Components of the first vector of that embedder, null if there is none. Malformed ones are the engine's to name. */
function firstLength(vectors: unknown, name: string): number | null {
  const entry = ownValue((vectors ?? {}) as Readonly<Record<string, unknown>>, name)
  const sent = Array.isArray(entry)
    ? entry
    : (entry as { embeddings?: unknown } | null | undefined)?.embeddings
  if (!Array.isArray(sent) || sent.length === 0) return null
  const first: unknown = Array.isArray(sent[0]) ? sent[0] : sent
  return (first as readonly unknown[]).length
}
