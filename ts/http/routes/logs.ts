import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../errors/index.js'
import { jsonBody } from '../body.js'
import { badValue, boolean, defaulted, oneOf, refined, shape, string, type Type } from '../parse/index.js'
import type { RouteServices } from '../services.js'

/** `level` or `module=level`, comma-separated. */
const target: Type<string> = refined(string, (text, at) => {
  const level = /^([\w:-]+=)?(off|error|warn|info|debug|trace)$/i
  if (!text.split(',').every((part) => level.test(part.trim()))) {
    throw badValue(`\`${text}\` is not a list of \`level\` or \`module=level\``, at)
  }
  return text
})
const streamBody = refined(
  shape({
    target: defaulted(target, 'info', 'bad_request'),
    mode: defaulted(oneOf(['human', 'json', 'profile']), 'human', 'bad_request'),
    profileMemory: defaulted(boolean, false, 'bad_request'),
  }),
  (body) => {
    if (body.profileMemory && body.mode !== 'profile') {
      // The code is the reference's, odd as it is.
      throw new ApiError('invalid_settings_typo_tolerance', '`profileMemory` needs the mode `profile`')
    }
    return body
  },
)
const stderrBody = shape({ target: defaulted(target, 'info', 'bad_request') })

/** Logs over HTTP. */
export const logRoutes: FastifyPluginAsync<RouteServices> = async (app, { auth, features, options }) => {
  app.post('/logs/stream', async (request) => {
    await auth.require(request.headers.authorization, 'metrics.get')
    await jsonBody(request, options.payloadBytesMax, streamBody)
    return refuse('streaming the logs')
  })

  app.delete('/logs/stream', async (request) => {
    await auth.require(request.headers.authorization, 'metrics.get')
    return refuse('ending a stream of logs')
  })

  app.post('/logs/stderr', async (request) => {
    await auth.require(request.headers.authorization, 'metrics.get')
    await jsonBody(request, options.payloadBytesMax, stderrBody)
    return refuse('changing the log level')
  })

  function refuse(doing: string): never {
    features.require('logsRoute', doing)
    throw new ApiError('feature_not_enabled', `this build has no route for ${doing}`)
  }
}
