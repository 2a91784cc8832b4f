import type { FastifyPluginAsync } from 'fastify'
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
  shape,
  string,
  type Type,
  type Values,
} from '../../requests/index.js'
import type { Facts } from '../../telemetry/index.js'
import { serveTask } from '../following/index.js'
import { recordUse } from '../metrics/index.js'
import type { RouteServices } from '../route-services.js'
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
  filter: optional(anything, 'invalid_export_index_filter'),
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
const exportBody = shape(exportFields)
type ExportRequest = Values<typeof exportFields>

/** Dumps, snapshots and exports: copies of the data for elsewhere. */
export const backupRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { tasks } = services

  serveTask(
    app,
    services,
    {
      method: 'POST',
      url: '/dumps',
      summary: 'Write a dump',
      actions: ['dumps.create'],
    },
    async ({ request }) => {
      recordUse(services, request, 'dumpCreated', {})
      const content = { kind: 'dumpCreation' } as const
      return tasks.enqueue({ indexUid: null, type: 'dumpCreation', content })
    },
  )

  serveTask(
    app,
    services,
    {
      method: 'POST',
      url: '/snapshots',
      summary: 'Write a snapshot',
      actions: ['snapshots.create'],
    },
    async ({ request }) => {
      recordUse(services, request, 'snapshotCreated', {})
      const content = { kind: 'snapshotCreation' } as const
      return tasks.enqueue({ indexUid: null, type: 'snapshotCreation', content })
    },
  )

  serveTask(
    app,
    services,
    {
      method: 'POST',
      url: '/export',
      summary: 'Copy indexes to another instance',
      actions: ['export'],
      body: exportBody,
      acceptedAs: 200,
    },
    async ({ request, body }) => {
      const { url, apiKey, payloadSize: payloadBytesMax, indexes } = body
      recordUse(services, request, 'exported', exportFacts(body))
      const patterns = [...(indexes ?? new Map([['*', everything]]))]
      const content = {
        kind: 'export',
        url,
        apiKey,
        payloadBytesMax,
        indexes: patterns.map(([pattern, { filter, overrideSettings }]) => ({
          pattern,
          filter,
          overrideSettings,
        })),
      } as const
      return tasks.enqueue({ indexUid: null, type: 'export', content })
    },
  )
}

const everything = { filter: null, overrideSettings: false }

function exportFacts({ apiKey, indexes, payloadSize: size }: ExportRequest): Facts<'exported'> {
  const patterns = [...(indexes?.values() ?? [])]
  return {
    'export.total_received': 1,
    'export.has_api_key': apiKey !== null,
    'export.avg_index_patterns': patterns.length,
    'export.avg_patterns_with_filter': patterns.filter(({ filter }) => filter !== null).length,
    'export.avg_patterns_with_override_settings': patterns.filter((one) => one.overrideSettings).length,
    ...(size !== null && { 'export.avg_payload_size': size }),
  }
}
