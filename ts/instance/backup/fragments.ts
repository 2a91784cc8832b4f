/**
 * Prepares documents with a vector per fragment for a dump.
 *
 * A dump does not say which fragment a vector belongs to, so after an import the vectors count as sent by a user.
 * Source: vectors §3.4.
 */

import { type JsonNode, readJsonText, toText } from '../../parse/index.js'
import { type IndexSettings, indexingFields } from '../../settings/index.js'

/** Names of the embedders that embed documents by fragments. */
export const fragmentEmbedders = ({ embedders }: IndexSettings): ReadonlySet<string> =>
  new Set(
    Object.entries(embedders)
      .filter(([, fields]) => indexingFields(fields).indexingFragments !== undefined)
      .map(([name]) => name),
  )

/** Returns the NDJSON with `regenerate: false` in the vectors of the embedders `names`. */
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

/** Replaces the values of some keys of an object; returns other values unchanged. */
function changed(node: JsonNode, keys: readonly string[], change: (value: JsonNode) => JsonNode): JsonNode {
  if (node.kind !== 'object') return node
  return {
    kind: 'object',
    entries: node.entries.map(([key, value]) => [key, keys.includes(key) ? change(value) : value]),
  }
}
