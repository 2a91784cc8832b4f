/**
 * Here is a document with a vector per fragment: how is it written into a dump?
 *
 * A dump does not say which vector belongs to which fragment, so that after an import the vectors count as sent by a
 * user. Source: vectors §3.4.
 */

import { type JsonNode, readJsonText, toText } from '../parse/index.js'
import { type IndexSettings, indexingFields } from '../settings/index.js'

/** Names of the embedders that embed documents by fragments. */
export const fragmentEmbedders = ({ embedders }: IndexSettings): ReadonlySet<string> =>
  new Set(
    Object.entries(embedders)
      .filter(([, fields]) => indexingFields(fields).indexingFragments !== undefined)
      .map(([name]) => name),
  )

/** NDJSON with `regenerate: false` in the vectors of the embedders `names`. */
export function withoutRegeneration(lines: Buffer, names: ReadonlySet<string>): Buffer {
  const changedLines = lines
    .toString()
    .split('\n')
    .map((line) => (line === '' ? '' : toText(document(readJsonText(line), names))))
  return Buffer.from(changedLines.join('\n'))
}

const document = (node: JsonNode, names: ReadonlySet<string>): JsonNode =>
  changed(node, ['_vectors'], (vectors) =>
    changed(vectors, [...names], (entry) =>
      changed(entry, ['regenerate'], () => ({ kind: 'boolean', value: false })),
    ),
  )

/** An object with the values of some keys replaced; any other value as it is. */
function changed(node: JsonNode, keys: readonly string[], change: (value: JsonNode) => JsonNode): JsonNode {
  if (node.kind !== 'object') return node
  return {
    kind: 'object',
    entries: node.entries.map(([key, value]) => [key, keys.includes(key) ? change(value) : value]),
  }
}
