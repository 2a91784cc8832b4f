import type { FastifyPluginAsync } from 'fastify'
import { type FeatureFlags, featureNames } from '../../instance/index.js'
import { featuresBody, sentFeatures } from '../../operations/index.js'
import { flag, record, sendJson } from '../answers/index.js'
import { recordUse } from '../metrics/index.js'
import { serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'

const answers = {
  200: record(Object.fromEntries(featureNames.map((name) => [name, flag])), [
    'tasksStreamingRoute',
    'mcpRoute',
  ]),
} as const
const url = '/experimental-features'
const get = {
  method: 'GET',
  url,
  summary: 'List the experimental features',
  actions: ['experimental.get'],
  answers,
} as const
const update = {
  method: 'PATCH',
  url,
  summary: 'Switch experimental features on or off',
  actions: ['experimental.update'],
  body: featuresBody,
  answers,
} as const

/** Experimental features, switched on and off while the service runs. */
export const featureRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { features } = services

  serve(app, services, get, ({ reply }) => sendJson(reply, shown(features.flags)))

  serve(app, services, update, async ({ request, reply, body }) => {
    const changed = await features.patch(sentFeatures(body))
    recordUse(
      services,
      request,
      'featuresUpdated',
      Object.fromEntries(Object.entries(changed).map(([name, isOn]) => [snakeCase(name), isOn])),
    )
    return sendJson(reply, shown(changed))
  })
}

/** Returns the flags for answers. Source: recorded answers lack the newest flags, which appear only while they are on. */
function shown({ tasksStreamingRoute, mcpRoute, ...others }: FeatureFlags): Partial<FeatureFlags> {
  return { ...others, ...(tasksStreamingRoute && { tasksStreamingRoute }), ...(mcpRoute && { mcpRoute }) }
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
