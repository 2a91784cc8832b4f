import type { FastifyPluginAsync } from 'fastify'
import { requireWorkspaceUid, settingsPatch, shownSettings, WorkspaceBook } from '../../chats/index.js'
import { defaulted, integer } from '../../operations/index.js'
import { chatWorkspace, chatWorkspaceSettings, pageOf, sendJson } from '../answers/index.js'
import { recordUse } from '../metrics/index.js'
import { param, serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'
import { completionRoutes } from './chat-completions.js'

const listParameters = {
  offset: defaulted(integer(), 0, 'invalid_index_offset'),
  limit: defaulted(integer(), 20, 'invalid_index_limit'),
}
const one = '/chats/:workspace'
const settingsUrl = `${one}/settings`

/** Chats: workspaces with their settings, and completions. */
export const chatRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { features, instance } = services
  const book = new WorkspaceBook(instance)
  const requireFeature = (): void => features.require('chatCompletions', 'using chats')

  serve(
    app,
    services,
    {
      method: 'GET',
      url: '/chats',
      summary: 'List the chat workspaces',
      actions: ['chats.get'],
      query: listParameters,
      answers: { 200: pageOf(chatWorkspace) },
    },
    async ({ reply, query: { offset, limit } }) => {
      requireFeature()
      const uids = await book.uids()
      const results = uids.slice(offset, offset + limit).map((uid) => ({ uid }))
      return sendJson(reply, { results, offset, limit, total: uids.length })
    },
  )

  serve(
    app,
    services,
    {
      method: 'GET',
      url: one,
      summary: 'Get a chat workspace',
      actions: ['chats.get'],
      answers: { 200: chatWorkspace },
    },
    async ({ request, reply }) => {
      requireFeature()
      const uid = requireWorkspaceUid(param(request, 'workspace'))
      await book.settings(uid)
      return sendJson(reply, { uid })
    },
  )

  serve(
    app,
    services,
    {
      method: 'DELETE',
      url: one,
      summary: 'Delete a chat workspace',
      actions: ['chats.delete'],
      answers: { 204: null },
    },
    async ({ request, reply }) => {
      requireFeature()
      await book.delete(requireWorkspaceUid(param(request, 'workspace')))
      return reply.code(204).send()
    },
  )

  serve(
    app,
    services,
    {
      method: 'GET',
      url: settingsUrl,
      summary: 'Get the settings of a chat workspace',
      actions: ['chatsSettings.get'],
      answers: { 200: chatWorkspaceSettings },
    },
    async ({ request, reply }) => {
      requireFeature()
      const settings = await book.settings(requireWorkspaceUid(param(request, 'workspace')))
      return sendJson(reply, shownSettings(settings))
    },
  )

  serve(
    app,
    services,
    {
      method: 'PATCH',
      url: settingsUrl,
      summary: 'Change the settings of a chat workspace, and create it if there is none',
      actions: ['chatsSettings.update'],
      body: settingsPatch,
      answers: { 200: chatWorkspaceSettings },
    },
    async ({ request, reply, body }) => {
      requireFeature()
      const settings = await book.change(requireWorkspaceUid(param(request, 'workspace')), body)
      recordUse(services, request, 'chatSettingsUpdated', { source: [settings.source] })
      return sendJson(reply, shownSettings(settings))
    },
  )

  serve(
    app,
    services,
    {
      method: 'DELETE',
      url: settingsUrl,
      summary: 'Reset the settings of a chat workspace',
      actions: ['chatsSettings.update'],
      answers: { 200: chatWorkspaceSettings },
    },
    async ({ request, reply }) => {
      requireFeature()
      const settings = await book.reset(requireWorkspaceUid(param(request, 'workspace')))
      return sendJson(reply, shownSettings(settings))
    },
  )

  await app.register(completionRoutes(book), services)
}
