import { PassThrough } from 'node:stream'
import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../errors/index.js'
import { type LogTarget, readLogTarget } from '../../launch/index.js'
import {
  badValue,
  boolean,
  defaulted,
  oneOf,
  refined,
  shape,
  string,
  type Type,
} from '../../operations/index.js'
import { humanLine } from '../../telemetry/index.js'
import { text } from '../answers/index.js'
import { serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'
import { closeIfUnread } from '../transport/index.js'

/** Log levels: `level` or `module=level`, comma-separated. */
const target: Type<LogTarget> = refined(string, (text, at) => {
  // As in Meilisearch, unlisted modules are off, and unknown module names are ignored.
  const target = readLogTarget(text, 'off')
  if (target === null) throw badValue(`\`${text}\` is not a list of \`level\` or \`module=level\``, at)
  return target
})
const allAtInfo: LogTarget = { others: 'info', modules: {} }
const streamBody = refined(
  shape({
    target: defaulted(target, allAtInfo, 'bad_request'),
    mode: defaulted(oneOf(['human', 'json', 'profile']), 'human', 'bad_request'),
    profileMemory: defaulted(boolean, false, 'bad_request'),
  }),
  (body) => {
    if (body.profileMemory && body.mode !== 'profile') {
      // Source: the API uses this code, although it belongs to settings.
      throw new ApiError('invalid_settings_typo_tolerance', '`profileMemory` needs the mode `profile`')
    }
    return body
  },
)
const stderrBody = shape({ target: defaulted(target, allAtInfo, 'bad_request') })

const actions = ['metrics.get'] as const

/** Bytes of log lines buffered for a slow client. Lines are dropped while the buffer is full. */
const WAITING_BYTES_MAX = 1_000_000

/** Streams the log, and sets the log level of the console. */
export const logRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { auth, features, options, outlets } = services
  /** Ends the open stream; null: no stream is open. */
  let endStream: (() => void) | null = null
  let isClosing = false

  serve(
    app,
    services,
    {
      method: 'POST',
      url: '/logs/stream',
      summary: 'Stream the log',
      actions,
      body: streamBody,
      answers: { 200: text },
      answersAs: 'application/octet-stream',
    },
    ({ request, reply, body: { target: wanted, mode } }) => {
      features.require('logsRoute', 'streaming the logs')
      if (mode === 'profile')
        throw new ApiError('bad_request', 'this service makes no profiles; use `human` or `json`')
      if (endStream !== null) {
        throw new ApiError(
          'bad_request',
          'the log is being streamed to another client; one stream is open at a time',
        )
      }
      const stream = new PassThrough()
      let isUnread = false
      const show = (line: string): void => {
        if (stream.writableEnded) return
        if (stream.writableLength < WAITING_BYTES_MAX)
          stream.write(mode === 'json' ? line : humanLine(line, false))
        else if (!isUnread) {
          isUnread = true
          // A client that stopped reading must not block others.
          closeIfUnread(reply.raw, options.unreadMsMax)
        }
      }
      const { authorization } = request.headers
      const stopFollowing = outlets.follow({
        target: wanted,
        // The key may have been deleted or have expired since the last line.
        write: (line) =>
          void mayRead(authorization).then((isAllowed) => {
            if (isAllowed) show(line)
            else if (endStream === end) end()
          }),
      })
      stream.on('drain', () => {
        isUnread = false
        reply.raw.setTimeout(0)
      })
      endStream = () => {
        endStream = null
        stopFollowing()
        stream.end()
      }
      const end = endStream
      reply.raw.once('close', () => {
        if (endStream === end) end()
      })
      // Send the head now: the client waits for it, and the first line may come much later.
      setImmediate(() => reply.raw.flushHeaders())
      if (isClosing) end()
      return reply.header('x-accel-buffering', 'no').type('application/octet-stream').send(stream)
    },
  )

  serve(
    app,
    services,
    {
      method: 'DELETE',
      url: '/logs/stream',
      summary: 'End the stream of the log',
      actions: ['metrics.get'],
      answers: { 204: null },
    },
    ({ reply }) => {
      features.require('logsRoute', 'ending a stream of logs')
      endStream?.()
      return reply.code(204).send()
    },
  )

  serve(
    app,
    services,
    {
      method: 'POST',
      url: '/logs/stderr',
      summary: 'Choose what is logged',
      actions: ['metrics.get'],
      body: stderrBody,
      answers: { 204: null },
    },
    ({ reply, body: { target: wanted } }) => {
      features.require('logsRoute', 'changing the log level')
      outlets.setConsoleTarget(wanted)
      return reply.code(204).send()
    },
  )

  /** Returns true while the feature is on and the key may read the log. */
  async function mayRead(authorization: string | undefined): Promise<boolean> {
    const access = await auth.require(authorization, actions).catch(() => null)
    return access !== null && features.flags.logsRoute
  }

  // An open stream would prevent shutdown.
  app.addHook('preClose', async () => {
    isClosing = true
    endStream?.()
  })
}
