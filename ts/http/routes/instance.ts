import type { FastifyPluginAsync } from 'fastify'
import { matchesAny } from '../../auth/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import { hasMoved, rawQuery, sendJson } from '../exchange.js'
import { readQuery } from '../parse/index.js'
import type { RouteServices } from '../services.js'
import { size } from '../sizes.js'
import { indexStats, type StatsOptions, statsParameters } from '../stats.js'

/** Whether the service is up, which build it is, how much it holds. */
export const instanceRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { auth, tasks, version } = services

  app.get('/', async (_request, reply) => sendJson(reply, { status: 'siftd is running' }))

  app.get('/health', async (_request, reply) => sendJson(reply, { status: 'available' }))

  app.get('/version', async (request, reply) => {
    await auth.require(request.headers.authorization, 'version')
    const { commitSha, commitDate, pkgVersion } = version
    return sendJson(reply, { commitSha, commitDate, pkgVersion })
  })

  app.get('/metrics', async (request, reply) => {
    await auth.require(request.headers.authorization, 'metrics.get')
    services.features.require('metrics', 'reading the metrics')
    return reply.type(services.metrics.contentType).send(await services.metrics.text())
  })

  app.get('/stats', async (request, reply) => {
    const { visibleIndexes } = await auth.require(request.headers.authorization, 'stats.get')
    const options = readQuery(rawQuery(request), statsParameters)
    const indexes: Record<string, unknown> = {}
    let bytes = await tasks.bytes()
    let lastUpdate = visibleIndexes === null ? tasks.lastUpdate() : null
    for (const entry of tasks.indexes()) {
      const stats = await statsUnlessGone(entry, options)
      if (stats === null) continue
      const { view, bytes: indexBytes } = stats
      // Sizes cover the whole instance, whatever the key may see.
      bytes += indexBytes
      if (visibleIndexes !== null && !matchesAny(visibleIndexes, entry.uid)) continue
      indexes[entry.uid] = view
      if (visibleIndexes !== null && (lastUpdate === null || isLater(entry.updatedAt, lastUpdate))) {
        lastUpdate = entry.updatedAt
      }
    }
    const shown = size(bytes, options.sizeFormat)
    return sendJson(reply, { databaseSize: shown, usedDatabaseSize: shown, lastUpdate, indexes })
  })

  /** null for an index that was deleted while the list was gone through. */
  async function statsUnlessGone(
    entry: IndexEntry,
    options: StatsOptions,
  ): Promise<Awaited<ReturnType<typeof indexStats>> | null> {
    try {
      return await indexStats(services, entry, options)
    } catch (error) {
      if (hasMoved(tasks, entry)) return null
      throw error
    }
  }
}

const isLater = (a: string, b: string): boolean => Date.parse(a) > Date.parse(b)
