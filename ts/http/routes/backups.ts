import type { FastifyPluginAsync } from 'fastify'
import { type ExportRequest, exportBody, exportContent } from '../../operations/index.js'
import type { Facts } from '../../telemetry/index.js'
import { serveTask } from '../following/index.js'
import { recordUse } from '../metrics/index.js'
import type { RouteServices } from '../route-services.js'

/** Dumps, snapshots and exports. */
export const backupRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { tasks, features } = services

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
    async ({ request, access, body }) => {
      recordUse(services, request, 'exported', exportFacts(body))
      const content = exportContent(body, { features, withSecrets: access.isMaster })
      return tasks.enqueue({ indexUid: null, type: 'export', content })
    },
  )
}

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
