import type { FastifyPluginAsync } from 'fastify'
import { sendJsonBytes } from '../answers/index.js'
import { serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'

const read = {
  method: 'GET',
  url: '/openapi.json',
  summary: 'Describe this API',
  actions: [],
  answers: { 200: { type: 'object' } },
} as const

/** The OpenAPI description, made from the served operations. */
export const openApiRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { apiDocument } = services

  serve(app, services, read, ({ reply }) => sendJsonBytes(reply, apiDocument.bytes()))
}
