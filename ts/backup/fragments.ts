/**
 * Here is a document whose vectors stand for fragments of it: how does it travel?
 *
 * Which vector stood for which fragment is not told, so the vectors count as sent by hand from then on.
 * Source: vectors §3.4.
 */

import { type JsonNode, readJsonText, toText } from '../parse/index.js'
import { type IndexSettings, indexingFields } from '../settings/index.js'

/** Names of the embedders that show documents by fragments. */
export const fragmentEmbedders = ({ embedders }: IndexSettings): ReadonlySet<string> =>
  new Set(
    Object.entries(embedders)
      .filter(([, fields]) => indexingFields(fields).indexingFragments !== undefined)
      .map(([name]) => name),
  )

/** NDJSON in which nothing is to be made anew for these embedders. */
export function withoutRegeneration(lines: Buffer, names: ReadonlySet<string>): Buffer {
  const kept = lines
    .toString()
    .split('\n')
    .map((line) => (line === '' ? '' : toText(document(readJsonText(line), names))))
  return Buffer.from(kept.join('\n'))
}

const document = (node: JsonNode, names: ReadonlySet<string>): JsonNode =>
  changed(node, ['_vectors'], (vectors) =>
    changed(vectors, [...names], (entry) =>
      changed(entry, ['regenerate'], () => ({ kind: 'boolean', value: false })),
    ),
  )

/** The object with the values of some keys replaced; anything else as it is. */
function changed(node: JsonNode, keys: readonly string[], change: (value: JsonNode) => JsonNode): JsonNode {
  if (node.kind !== 'object') return node
  return {
    kind: 'object',
    entries: node.entries.map(([key, value]) => [key, keys.includes(key) ? change(value) : value]),
  }
}
