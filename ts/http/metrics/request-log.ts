import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { isUuid } from '../../operations/index.js'
import { maskSecret } from '../../settings/index.js'
import type { Logger } from '../../telemetry/index.js'

type Bindings = Parameters<Logger['child']>[0]
type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
type Write = (...given: unknown[]) => void

/**
 * A logger whose children are made when they log their first line. fastify makes a child for every request, and most
 * requests log nothing through it.
 */
export class LazyLog implements FastifyBaseLogger {
  readonly #make: () => Logger
  #made: Logger | null = null

  constructor(make: () => Logger) {
    this.#make = make
  }

  child(bindings: Bindings): LazyLog {
    return new LazyLog(() => this.#log.child(bindings))
  }

  get level(): string {
    return this.#log.level
  }

  fatal(...given: unknown[]): void {
    this.#write('fatal', given)
  }

  error(...given: unknown[]): void {
    this.#write('error', given)
  }

  warn(...given: unknown[]): void {
    this.#write('warn', given)
  }

  info(...given: unknown[]): void {
    this.#write('info', given)
  }

  debug(...given: unknown[]): void {
    this.#write('debug', given)
  }

  trace(...given: unknown[]): void {
    this.#write('trace', given)
  }

  silent(...given: unknown[]): void {
    this.#write('silent', given)
  }

  get #log(): Logger {
    this.#made ??= this.#make()
    return this.#made
  }

  #write(level: Level, given: unknown[]): void {
    const log = this.#log
    ;(log[level] as Write).apply(log, given)
  }
}

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
  // The router skips the beginning of an absolute URL.
  const origin = /^https?:\/\/.*?(?=\/)/i.exec(path)?.[0] ?? ''
  const segments = path.slice(origin.length).split('/')
  // The router ignores repeated slashes.
  const [at, next] = [...segments.keys()].filter((position) => segments[position] !== '')
  if (at === undefined || next === undefined || decoded(segments[at]) !== 'keys') return path
  const key = decoded(segments[next])
  return isUuid(key) ? path : origin + segments.with(next, maskSecret(key)).join('/')
}

function decoded(segment = ''): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
