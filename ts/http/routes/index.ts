import type { FastifyPluginAsync } from 'fastify'
import type { RouteServices, SearchRouteServices } from '../route-services.js'
import { backupRoutes } from './backups.js'
import { chatRoutes } from './chats.js'
import { descriptionRoutes } from './descriptions.js'
import { documentRoutes, serveDocument } from './documents.js'
import { dynamicSearchRuleRoutes } from './dynamic-search-rules.js'
import { featureRoutes } from './features.js'
import { indexRoutes } from './indexes.js'
import { instanceRoutes, serveHealth } from './instance.js'
import { keyRoutes } from './keys.js'
import { logRoutes } from './logs.js'
import { mcpRoutes } from './mcp.js'
import { multiSearchRoutes } from './multi-search.js'
import { networkRoutes } from './network.js'
import { openApiRoutes } from './openapi.js'
import { queryStatisticsRoutes } from './query-statistics.js'
import { renderRoutes } from './render.js'
import { replicationRoutes } from './replication.js'
import { searchRoutes } from './search.js'
import { settingsRoutes } from './settings.js'
import { swapRoutes } from './swap.js'
import { taskStreamRoutes } from './task-streams.js'
import { taskRoutes } from './tasks.js'
import { webhookRoutes } from './webhooks.js'

const plugins: readonly FastifyPluginAsync<RouteServices>[] = [
  backupRoutes,
  chatRoutes,
  descriptionRoutes,
  documentRoutes,
  dynamicSearchRuleRoutes,
  featureRoutes,
  indexRoutes,
  instanceRoutes,
  keyRoutes,
  logRoutes,
  mcpRoutes,
  multiSearchRoutes,
  networkRoutes,
  openApiRoutes,
  queryStatisticsRoutes,
  renderRoutes,
  replicationRoutes,
  searchRoutes,
  settingsRoutes,
  swapRoutes,
  taskRoutes,
  taskStreamRoutes,
  webhookRoutes,
]

/** The routes that several threads answer. */
export const hotRoutes: FastifyPluginAsync<SearchRouteServices> = async (app, services) => {
  serveHealth(app, services)
  serveDocument(app, services)
  await app.register(searchRoutes, services)
  await app.register(multiSearchRoutes, services)
}

/** All routes of the API. */
export const routes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  for (const plugin of plugins) await app.register(plugin, services)
}
