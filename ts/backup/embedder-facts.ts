/**
 * Here are embedders and the documents of a dump: how many components do their vectors have?
 *
 * Where the settings do not say, the instance had asked the provider. An import does not ask again: a dump of this
 * service has the number in an entry of its own, and a dump of another one shows it by the first vector.
 */
import { ownValue } from '../parse/index.js'
import { type EmbedderFields, embedderAsSet, type IndexSettings, type Known } from '../settings/index.js'
import type { Unpacked } from './archive-reader.js'
import { jsonOf, linesOf } from './entries.js'
import { fieldsOf } from './fields.js'
import { lengthsForm } from './instance-forms.js'
import { VECTORLESS_LINES_MAX } from './limits.js'

type Lengths = ReadonlyMap<string, number>

/** The settings in the form that the API accepts, with secrets in clear. */
export const settingsAsSet = (settings: IndexSettings): object => ({
  ...settings,
  embedders: Object.fromEntries(
    Object.entries(settings.embedders).map(([name, fields]) => [name, embedderAsSet(fields)]),
  ),
})

/** The number of components by embedder, of those embedders whose settings do not say it. */
export function learnedLengths({ embedders }: IndexSettings): Readonly<Record<string, number>> {
  const lengths = Object.entries(embedders).map(([name, { known }]) => [
    name,
    (known as Known | undefined)?.dimensions,
  ])
  return Object.fromEntries(lengths.filter(([, length]) => length !== undefined))
}

/**
 * The settings, with the number of components of each embedder as far as the dump tells.
 * @param path `indexes/{folder}`
 * @throws ArchiveError
 */
export async function withLengths(
  settings: IndexSettings,
  unpacked: Unpacked,
  path: string,
): Promise<IndexSettings> {
  const unknown = Object.entries(settings.embedders)
    .filter(([, { source, dimensions }]) => source !== 'openAi' && dimensions === undefined)
    .map(([name]) => name)
  if (unknown.length === 0) return settings
  const at = `${path}/embedders.json`
  const told = lengthsForm.read((await jsonOf(unpacked, at)) ?? {}, at)
  const missing = new Set(unknown.filter((name) => !Object.hasOwn(told, name)))
  const shown = await lengthsIn(unpacked, `${path}/documents.jsonl`, missing)
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

/** Reads documents until it has found a vector of each embedder in `missing`. */
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

/**
 * The number of components of the first vector of an embedder; null without one. The engine reports malformed vectors.
 */
function firstLength(vectors: unknown, name: string): number | null {
  const entry = ownValue((vectors ?? {}) as Readonly<Record<string, unknown>>, name)
  const sent = Array.isArray(entry)
    ? entry
    : (entry as { embeddings?: unknown } | null | undefined)?.embeddings
  if (!Array.isArray(sent) || sent.length === 0) return null
  const first: unknown = Array.isArray(sent[0]) ? sent[0] : sent
  return (first as readonly unknown[]).length
}
