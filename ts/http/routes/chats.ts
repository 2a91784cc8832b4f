import type { FastifyPluginAsync } from 'fastify'
import type { Action } from '../../auth/index.js'
import { featureNotEnabled } from '../../instance/index.js'
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

/** Chats are not part of this service. Their routes answer as if the feature were switched off. */
export const chatRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  for (const [method, url, action] of chatRoutesAndActions) {
    const operation = { method, url, summary: 'Not part of this service', actions: [action], answers: {} }
    serve(app, services, operation, () => {
      throw featureNotEnabled('chatCompletions', 'using chats')
    })
  }
}
