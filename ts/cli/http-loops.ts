import { HttpLoops, type HttpOptions } from '../http/index.js'
import type { LaunchOptions } from '../launch/index.js'
import type { Logger } from '../telemetry/index.js'

interface LoopsRequest {
  readonly options: LaunchOptions
  /** True if the option was given. */
  readonly isGiven: boolean
  /** True if several threads can search in the engine. */
  readonly isShared: boolean
  readonly log: Logger
}

/** Returns the threads that answer searches, not started; null: the main thread answers everything. */
export function loopsOf({ options, isGiven, isShared, log }: LoopsRequest): HttpLoops | null {
  const { httpThreads, sslCertPath, bucket, otlpEndpoint } = options
  if (httpThreads === 1 || !isShared) return null
  const reason =
    process.platform === 'win32'
      ? 'Windows cannot share a listening socket among threads'
      : sslCertPath !== null
        ? 'with TLS one thread answers everything'
        : bucket !== null
          ? 'with a bucket one thread answers everything'
          : otlpEndpoint !== null
            ? 'with --otlp-endpoint one thread answers everything'
            : null
  if (reason === null) {
    try {
      return new HttpLoops(httpThreads)
    } catch (error) {
      log.warn({ err: error }, 'the main thread answers everything: the local socket of --http-threads fails')
      return null
    }
  }
  if (isGiven) log.warn(`--http-threads has no effect: ${reason}`)
  return null
}

/** Returns the options of one of several threads: an equal share of every limit for all requests together. */
export function shareOf(options: HttpOptions, threads: number): HttpOptions {
  const share = (limit: number): number => Math.max(1, Math.floor(limit / threads))
  return {
    ...options,
    bodiesBytesMax: share(options.bodiesBytesMax),
    unreadBytesMax: share(options.unreadBytesMax),
    searchesRunningMax: share(options.searchesRunningMax),
    searchesWaitingMax: options.searchesWaitingMax === 0 ? 0 : share(options.searchesWaitingMax),
  }
}
