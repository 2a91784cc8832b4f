import type { Features } from '../../instance/index.js'
import type { TaskContent } from '../../tasks/index.js'
import {
  anything,
  badValue,
  boolean,
  defaulted,
  indexPattern,
  integer,
  isUnsigned,
  mapOf,
  optional,
  refined,
  shallowFilter,
  shape,
  string,
  type Type,
  type Values,
} from '../requests/index.js'
import { EXPORT_PATTERNS_MAX } from './limits.js'

/** A size: bytes as an integer, or text with a unit such as `24MiB`. */
const payloadSize: Type<number> = {
  expected: 'a positive integer or a string such as `24MiB`',
  schema: { type: ['string', 'integer'] },
  json: (node, at) => (node.kind === 'string' ? payloadSize.text(node.value, at) : integer().json(node, at)),
  text(text, at) {
    const parts = /^(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?$/i.exec(text.trim())
    if (parts === null) throw badValue(`could not read \`${text}\` as a size such as \`24MiB\``, at)
    const power = ['', 'k', 'm', 'g', 't'].indexOf((parts[2]?.[0] ?? '').toLowerCase())
    const base = parts[2]?.length === 2 ? 1024 : 1000
    const bytes = Number(parts[1]) * base ** power
    if (!isUnsigned(String(Math.floor(bytes)))) throw badValue(`\`${text}\` is too large`, at)
    return Math.floor(bytes)
  },
}
const exportedIndex = shape({
  filter: optional(refined(anything, shallowFilter), 'invalid_export_index_filter'),
  overrideSettings: defaulted(boolean, false, 'invalid_export_index_override_settings'),
})
const exportFields = {
  url: defaulted(string, '', 'invalid_export_url'),
  apiKey: optional(string, 'invalid_export_api_key'),
  payloadSize: optional(payloadSize, 'invalid_export_payload_size'),
  indexes: optional(
    refined(
      mapOf(exportedIndex, { max: EXPORT_PATTERNS_MAX, what: 'patterns of indexes' }),
      (indexes, at) => {
        for (const pattern of indexes.keys()) indexPattern.text(pattern, at)
        return indexes
      },
    ),
    'bad_request',
  ),
}
/** Body of a request to copy indexes to another instance. */
export const exportBody = shape(exportFields)
export type ExportRequest = Values<typeof exportFields>

/** @param withSecrets true if the caller may read API keys of embedders */
export function exportContent(
  { url, apiKey, payloadSize: payloadBytesMax, indexes }: ExportRequest,
  { features: { flags }, withSecrets }: { readonly features: Features; readonly withSecrets: boolean },
): TaskContent {
  const patterns = [...(indexes ?? new Map([['*', everything]]))]
  return {
    kind: 'export',
    url,
    apiKey,
    payloadBytesMax,
    withSecrets,
    features: { foreignKeys: flags.foreignKeys, chatCompletions: flags.chatCompletions },
    indexes: patterns.map(([pattern, { filter, overrideSettings }]) => ({
      pattern,
      filter,
      overrideSettings,
    })),
  }
}

const everything = { filter: null, overrideSettings: false }
