import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { matchesAny } from '../../auth/index.js'
import { ApiError } from '../../errors/index.js'
import { hasMoved, type Schema } from '../../operations/index.js'
import type { Finding, IndexEntry } from '../../tasks/index.js'
import {
  instanceStats,
  listOf,
  record,
  replicationFigures,
  sendJson,
  text,
  warnings,
} from '../answers/index.js'
import { CELL_HEADER, gathered, mergedStats } from '../cells/index.js'
import { recordUse } from '../metrics/index.js'
import { rawQuery, serve } from '../operations/index.js'
import { Page } from '../page/index.js'
import type { RouteServices, SearchRouteServices } from '../route-services.js'
import { indexStats, outdatedIndexes, type StatsOptions, size, statsParameters } from '../views/index.js'

const word = (text: string): Schema => record({ status: { type: 'string', enum: [text] } })
const readRoot = {
  method: 'GET',
  url: '/',
  summary: 'Report that the service runs',
  actions: [],
  answers: { 200: word('siftd is running') },
} as const
const describeErrors = {
  method: 'GET',
  url: '/errors',
  summary: 'Describe the error codes that only siftd has',
  actions: [],
  answers: { 200: text },
  answersAs: 'text/html',
} as const
const available = record(
  { status: { type: 'string', enum: ['available'] }, replication: replicationFigures, warnings },
  ['replication', 'warnings'],
)
const readHealth = {
  method: 'GET',
  url: '/health',
  summary: 'Report that the service is available',
  actions: [],
  answers: { 200: available },
} as const
const readReadiness = {
  method: 'GET',
  url: '/ready',
  summary: 'Report whether clients may use this server: a follower must not lag too far behind',
  actions: [],
  answers: { 200: available },
} as const
const readVersion = {
  method: 'GET',
  url: '/version',
  summary: 'Name the build of the server',
  actions: ['version'],
  answers: { 200: record({ commitSha: text, commitDate: text, pkgVersion: text }) },
} as const
const readMetrics = {
  method: 'GET',
  url: '/metrics',
  summary: 'Report figures for Prometheus',
  actions: ['metrics.get'],
  answers: { 200: text },
  answersAs: 'text/plain',
} as const
const readStats = {
  method: 'GET',
  url: '/stats',
  summary: 'Count what the instance holds',
  actions: ['stats.get'],
  query: statsParameters,
  answers: { 200: instanceStats },
} as const

const finding = record({
  indexUid: { type: ['string', 'null'] },
  file: text,
  problem: text,
  cost: text,
  isHarmful: { type: 'boolean' },
})
const readVerification = {
  method: 'GET',
  url: '/verify',
  summary: 'Read every file and name those that are damaged',
  actions: ['*'],
  answers: { 200: record({ findings: listOf(finding) }) },
} as const

/** Health, version, metrics, statistics and verification of the instance. */
export const instanceRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { tasks, version, cells = null } = services
  const page = new Page()
  if (services.options.page) await app.register(page.routes)

  serve(app, services, readRoot, ({ request, reply }) => {
    const answer = services.options.page ? page.answer(request, reply) : null
    return answer ?? sendJson(reply, { status: 'siftd is running' })
  })

  serve(app, services, describeErrors, ({ request, reply }) => page.answerErrorCodes(request, reply))

  serveHealth(app, services)

  serve(app, services, readReadiness, async ({ reply }) => {
    const answer = await availability(services)
    if (services.replicated?.isTooStale() === true) {
      const { staleSeconds, problem } = answer.replication ?? {}
      throw new ApiError(
        'follower_behind',
        `this server has not reached the end of the log for ${staleSeconds ?? 'unknown'} seconds; ${problem ?? 'check its log and the bucket'}`,
      )
    }
    return sendJson(reply, answer)
  })

  serve(app, services, readVersion, ({ reply }) => {
    const { commitSha, commitDate, pkgVersion } = version
    return sendJson(reply, { commitSha, commitDate, pkgVersion })
  })

  serve(app, services, readMetrics, async ({ reply }) => {
    services.features.require('metrics', 'reading the metrics')
    return reply.type(services.metrics.contentType).send(await services.metrics.text())
  })

  serve(app, services, readStats, async ({ request, reply, access, query: options }) => {
    recordUse(services, request, 'statsSeen', { per_index_uid: false })
    const { visibleIndexes } = access
    const indexes: [string, unknown][] = []
    const damagedIndexes: [string, string][] = []
    let bytes = await tasks.bytes()
    let lastUpdate = visibleIndexes === null ? tasks.lastUpdate() : null
    for (const entry of tasks.indexes()) {
      const stats = await statsIfReadable(entry, options)
      const damage = stats === null ? services.engine.damage(entry.id) : null
      if (stats === null && damage === null) continue
      // The size includes indexes that the key must not see.
      bytes += stats?.bytes ?? 0
      if (visibleIndexes !== null && !matchesAny(visibleIndexes, entry.uid)) continue
      if (stats !== null) indexes.push([entry.uid, stats.view])
      else if (damage !== null) damagedIndexes.push([entry.uid, damage])
      if (visibleIndexes !== null && (lastUpdate === null || isLater(entry.updatedAt, lastUpdate))) {
        lastUpdate = entry.updatedAt
      }
    }
    const replication = (await services.replicated?.figures()) ?? null
    const own = {
      databaseSize: bytes,
      usedDatabaseSize: bytes,
      lastUpdate,
      indexes: Object.fromEntries(indexes),
      ...(damagedIndexes.length > 0 && { damagedIndexes: Object.fromEntries(damagedIndexes) }),
    }
    const others = await gathered(request, services, `/stats?${rawQuery(request)}`)
    const { damagedIndexes: damaged, ...stats } = others.length === 0 ? own : mergedStats(own, others)
    // Another cell adds these sizes up.
    const isPart = cells !== null && request.headers[CELL_HEADER] !== undefined
    const format = isPart ? 'raw' : options.sizeFormat
    return sendJson(reply, {
      ...stats,
      databaseSize: size(stats.databaseSize, format),
      usedDatabaseSize: size(stats.usedDatabaseSize, format),
      ...(replication !== null && { replication }),
      ...(damaged !== undefined && { damagedIndexes: damaged }),
    })
  })

  /** The running verification. It reads all files, so concurrent requests share it. */
  let verifying: Promise<readonly Finding[]> | null = null

  serve(app, services, readVerification, async ({ reply, access }) => {
    // The findings name files and indexes of the complete instance.
    if (access.visibleIndexes !== null)
      throw new ApiError('invalid_api_key', 'only a key for all indexes may verify the instance')
    verifying ??= tasks.verify().finally(() => {
      verifying = null
    })
    return sendJson(reply, { findings: await verifying })
  })

  /** Returns the statistics of an index; null if it is damaged, or was deleted since the list of indexes was read. */
  async function statsIfReadable(
    entry: IndexEntry,
    options: StatsOptions,
  ): Promise<Awaited<ReturnType<typeof indexStats>> | null> {
    try {
      return await indexStats(services, entry, options)
    } catch (error) {
      if (hasMoved(tasks, entry) || services.engine.damage(entry.id) !== null) return null
      throw error
    }
  }
}

type Health = Pick<RouteServices, 'auth' | 'options' | 'replicated'> & Pick<SearchRouteServices, 'analysis'>

async function availability({ replicated, analysis }: Health) {
  const replication = (await replicated?.figures()) ?? null
  const outdated = (await analysis?.count()) ?? 0
  return {
    status: 'available',
    ...(replication !== null && { replication }),
    ...(outdated > 0 && { warnings: [outdatedIndexes(outdated)] }),
  }
}

/** The health check. A restart does not help a server that lags, so the check succeeds there. */
export function serveHealth(app: FastifyInstance, services: Health): void {
  serve(app, services, readHealth, async ({ reply }) => sendJson(reply, await availability(services)))
}

const isLater = (a: string, b: string): boolean => Date.parse(a) > Date.parse(b)
