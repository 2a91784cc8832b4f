import type { FastifyPluginAsync } from 'fastify'
import type { RouteServices } from '../services.js'
import { featureRoutes } from './features.js'
import { indexRoutes } from './indexes.js'
import { instanceRoutes } from './instance.js'
import { keyRoutes } from './keys.js'
import { swapRoutes } from './swap.js'
import { taskRoutes } from './tasks.js'

const plugins: readonly FastifyPluginAsync<RouteServices>[] = [
  featureRoutes,
  indexRoutes,
  instanceRoutes,
  keyRoutes,
  swapRoutes,
  taskRoutes,
]

/** Every resource of the API. */
export const routes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  for (const plugin of plugins) await app.register(plugin, services)
}
