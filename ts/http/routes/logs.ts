import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../errors/index.js'
import { text } from '../answers.js'
import { jsonBody } from '../body.js'
import { described } from '../endpoint.js'
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
export const logRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { auth, features, log, options } = services

  app.post(
    '/logs/stream',
    described({
      method: 'POST',
      url: '/logs/stream',
      summary: 'Stream the log',
      actions: ['metrics.get'],
      body: streamBody,
      answers: { 200: text },
    }),
    async (request) => {
      await auth.require(request.headers.authorization, 'metrics.get')
      await jsonBody(request, options.payloadBytesMax, streamBody)
      features.require('logsRoute', 'streaming the logs')
      throw new ApiError('feature_not_enabled', 'this build cannot stream its logs')
    },
  )

  app.delete(
    '/logs/stream',
    described({
      method: 'DELETE',
      url: '/logs/stream',
      summary: 'End the stream of the log',
      actions: ['metrics.get'],
      answers: { 204: null },
    }),
    async (request, reply) => {
      await auth.require(request.headers.authorization, 'metrics.get')
      features.require('logsRoute', 'ending a stream of logs')
      // No stream can be open; the route answers the same when one was.
      return reply.code(204).send()
    },
  )

  app.post(
    '/logs/stderr',
    described({
      method: 'POST',
      url: '/logs/stderr',
      summary: 'Choose what is logged',
      actions: ['metrics.get'],
      body: stderrBody,
      answers: { 204: null },
    }),
    async (request, reply) => {
      await auth.require(request.headers.authorization, 'metrics.get')
      const { target: wanted } = await jsonBody(request, options.payloadBytesMax, stderrBody)
      features.require('logsRoute', 'changing the log level')
      const level = levelOf(wanted)
      if (level !== null) log.level = level
      return reply.code(204).send()
    },
  )
}

/** The level for everything, null if only single modules are named: this service has no levels by module. */
function levelOf(target: string): string | null {
  const bare = target.split(',').map((part) => part.trim().toLowerCase())
  const level = bare.findLast((part) => !part.includes('='))
  return level === undefined ? null : level === 'off' ? 'silent' : level
}
