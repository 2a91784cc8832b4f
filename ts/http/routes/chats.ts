import type { FastifyPluginAsync } from 'fastify'
import type { Action } from '../../auth/index.js'
import { ApiError } from '../../errors/index.js'
import { serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'

const chatRoutesAndActions: readonly (readonly ['GET' | 'POST' | 'PATCH' | 'DELETE', string, Action])[] = [
  ['GET', '/chats', 'chats.get'],
  ['GET', '/chats/:workspace', 'chats.get'],
  ['DELETE', '/chats/:workspace', 'chats.delete'],
  ['GET', '/chats/:workspace/settings', 'chatsSettings.get'],
  ['PATCH', '/chats/:workspace/settings', 'chatsSettings.update'],
  ['DELETE', '/chats/:workspace/settings', 'chatsSettings.update'],
  ['POST', '/chats/:workspace/chat/completions', 'chatCompletions'],
]

/** Chats are not supported. Their routes refuse every request, and give the reason while the feature is on. */
export const chatRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  for (const [method, url, action] of chatRoutesAndActions) {
    const operation = { method, url, summary: 'Not part of this service', actions: [action], answers: {} }
    serve(app, services, operation, () => {
      services.features.require('chatCompletions', 'using chats')
      throw new ApiError(
        'feature_not_enabled',
        'chats are not part of this service, with the feature `chat completions` on or off',
      )
    })
  }
}
