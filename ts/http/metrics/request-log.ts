import type { FastifyInstance } from 'fastify'
import { isUuid } from '../../operations/index.js'
import { maskSecret } from '../../settings/index.js'
import type { Logger } from '../../telemetry/index.js'

/**
 * Logs an INFO line per answered request, with the error code if there is one. The line never holds the `Authorization`
 * header, a body, or an API key.
 */
export function logRequests(app: FastifyInstance, log: Logger): void {
  app.addHook('onResponse', (request, reply, done) => {
    done()
    if (request.isHandedOver || !log.isLevelEnabled('info')) return
    const question = request.url.indexOf('?')
    log.info(
      {
        reqId: request.id,
        method: request.method,
        host: request.host,
        route: shownPath(question === -1 ? request.url : request.url.slice(0, question)),
        query_parameters: question === -1 ? '' : request.url.slice(question + 1),
        user_agent: request.headers['user-agent'] ?? '',
        status_code: reply.statusCode,
        ...(reply.errorCode !== null && { error: reply.errorCode }),
      },
      'HTTP request',
    )
  })
}

/** Returns the path with a masked key: `/keys/{key}` accepts the value of a key instead of its uid. */
function shownPath(path: string): string {
  // A quick test for most requests. A letter may be percent-encoded.
  if (!/keys|%/.test(path)) return path
  const segments = path.split('/')
  // The router ignores repeated slashes.
  const [at, next] = [...segments.keys()].filter((position) => segments[position] !== '')
  if (at === undefined || next === undefined || decoded(segments[at]) !== 'keys') return path
  const key = decoded(segments[next])
  return isUuid(key) ? path : segments.with(next, maskSecret(key)).join('/')
}

function decoded(segment = ''): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
