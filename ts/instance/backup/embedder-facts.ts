/**
 * Finds the number of vector components of each embedder in a dump.
 *
 * If the settings lack it, the instance had asked the provider. An import does not ask again: a dump of this service
 * has the number in a separate entry. A dump of another service shows it in the first vector.
 */
import { ownValue } from '../../parse/index.js'
import {
  defaultOwnSettings,
  type EmbedderFields,
  embedderAsSet,
  type IndexSettings,
  type Known,
} from '../../settings/index.js'
import type { Unpacked } from './archive-reader.js'
import { jsonOf, linesOf } from './entries.js'
import { fieldsOf } from './fields.js'
import { lengthsForm } from './instance-forms.js'
import { VECTORLESS_LINES_MAX } from './limits.js'

type Dimensions = ReadonlyMap<string, number>

/**
 * Returns the settings in the form of the API, with secrets in clear. Settings that only siftd has are left out at their
 * default, because other services refuse a dump with them.
 */
export const settingsAsSet = (settings: IndexSettings): object => ({
  ...withoutNames(settings, defaultOwnSettings(settings)),
  embedders: Object.fromEntries(
    Object.entries(settings.embedders).map(([name, fields]) => [name, embedderAsSet(fields)]),
  ),
})

const withoutNames = (settings: IndexSettings, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => !names.includes(name)))

/** Returns the number of components by embedder, for embedders whose settings lack it. */
export function learnedDimensions({ embedders }: IndexSettings): Readonly<Record<string, number>> {
  const lengths = Object.entries(embedders).map(([name, { known }]) => [
    name,
    (known as Known | undefined)?.dimensions,
  ])
  return Object.fromEntries(lengths.filter(([, length]) => length !== undefined))
}

/**
 * Adds the number of components of each embedder to the settings, as far as the dump shows it.
 * @param path `indexes/{folder}`
 * @throws ArchiveError
 */
export async function withDimensions(
  settings: IndexSettings,
  unpacked: Unpacked,
  path: string,
): Promise<IndexSettings> {
  const unknown = Object.entries(settings.embedders)
    .filter(([, { source, dimensions }]) => source !== 'openAi' && dimensions === undefined)
    .map(([name]) => name)
  if (unknown.length === 0) return settings
  const at = `${path}/embedders.json`
  const stored = lengthsForm.read((await jsonOf(unpacked, at)) ?? {}, at)
  const missing = new Set(unknown.filter((name) => !Object.hasOwn(stored, name)))
  const found = await dimensionsIn(unpacked, `${path}/documents.jsonl`, missing)
  const lengths = new Map([...found, ...Object.entries(stored)])
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

/** Reads documents until each embedder in `missing` has a vector. */
async function dimensionsIn(unpacked: Unpacked, path: string, missing: Set<string>): Promise<Dimensions> {
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
 * Returns the number of components of an embedder's first vector; null without a vector. The engine reports malformed
 * vectors.
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
