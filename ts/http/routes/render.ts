import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../errors/index.js'
import { jsonBody } from '../body.js'
import { anything, integer, oneOf, optional, required, shape, string } from '../parse/index.js'
import type { RouteServices } from '../services.js'

const template = 'invalid_render_template'
const input = 'invalid_render_input'
const body = shape({
  template: required(
    shape({
      kind: required(
        oneOf([
          'documentTemplate',
          'chatDocumentTemplate',
          'indexingFragment',
          'searchFragment',
          'inlineDocumentTemplate',
          'inlineFragment',
        ]),
        template,
      ),
      indexUid: optional(string, template),
      embedder: optional(string, template),
      fragment: optional(string, template),
      inline: optional(anything, template),
      documentTemplateMaxBytes: optional(integer(), template),
    }),
    template,
  ),
  input: optional(
    shape({
      kind: required(oneOf(['indexDocument', 'inlineDocument', 'inlineSearch']), input),
      indexUid: optional(string, input),
      id: optional(anything, input),
      inline: optional(anything, input),
    }),
    input,
  ),
})

/** Trying out the templates of embedders: requests are checked; nothing renders yet. */
export const renderRoutes: FastifyPluginAsync<RouteServices> = async (app, { auth, features, options }) => {
  app.post('/render-template', async (request) => {
    await auth.require(request.headers.authorization, 'settings.get')
    await auth.require(request.headers.authorization, 'documents.get')
    await jsonBody(request, options.payloadBytesMax, body)
    features.require('renderRoute', 'rendering a template')
    throw new ApiError('feature_not_enabled', 'this build cannot render templates')
  })
}
