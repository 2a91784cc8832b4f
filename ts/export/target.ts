import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { ApiError } from '../errors/index.js'
import {
  isTransientStatus,
  type Outbound,
  type OutboundAnswer,
  OutboundError,
  type OutboundRequest,
  retrying,
} from '../outbound/index.js'
import { withoutTrailing } from '../parse/index.js'
import type { ExportTarget } from '../tasks/index.js'
import {
  ANSWER_BYTES_MAX,
  ATTEMPTS_MAX,
  PAUSE_FIRST_MS,
  PAUSE_LAST_MS,
  REQUEST_MS_MAX,
  UPLOAD_MS_MAX,
} from './limits.js'

const compressed = promisify(gzip)

/** The other instance answered with an error status. */
class RefusedError extends Error {
  constructor(readonly answer: OutboundAnswer) {
    super(`status ${answer.status}`)
  }
}

/** The instance that receives indexes. Every method throws an ApiError if that instance refuses the call. */
export class TargetInstance {
  readonly #outbound: Outbound
  readonly #target: ExportTarget

  constructor(outbound: Outbound, target: ExportTarget) {
    this.#outbound = outbound
    this.#target = target
  }

  async hasIndex(uid: string): Promise<boolean> {
    const answer = await this.#call('GET', `/indexes/${uid}`)
    return answer !== null
  }

  async createIndex(uid: string, primaryKey: string | null): Promise<void> {
    await this.#call('POST', '/indexes', JSON.stringify({ uid, primaryKey }))
  }

  async putSettings(uid: string, settings: object): Promise<void> {
    await this.#call('PATCH', `/indexes/${uid}/settings`, JSON.stringify(settings))
  }

  /** @param lines NDJSON */
  async addDocuments(uid: string, lines: Uint8Array, primaryKey: string | null): Promise<void> {
    const query = primaryKey === null ? '' : `?primaryKey=${encodeURIComponent(primaryKey)}`
    await this.#call('POST', `/indexes/${uid}/documents${query}`, await compressed(lines), {
      'content-type': 'application/x-ndjson',
      'content-encoding': 'gzip',
    })
  }

  /** The answer; null for a 404 to a GET. */
  async #call(
    method: OutboundRequest['method'],
    path: string,
    body?: string | Uint8Array,
    headers: Readonly<Record<string, string>> = { 'content-type': 'application/json' },
  ): Promise<OutboundAnswer | null> {
    const { url, apiKey, signal } = this.#target
    try {
      return await retrying(
        () =>
          this.#attempt({
            method,
            url: `${withoutTrailing(url, '/')}${path}`,
            headers: { ...headers, ...(apiKey !== null && { authorization: `Bearer ${apiKey}` }) },
            ...(body !== undefined && { body }),
            timeoutMs: typeof body === 'string' || body === undefined ? REQUEST_MS_MAX : UPLOAD_MS_MAX,
            answerBytesMax: ANSWER_BYTES_MAX,
            signal,
          }),
        {
          attemptsMax: ATTEMPTS_MAX,
          firstMs: PAUSE_FIRST_MS,
          lastMs: PAUSE_LAST_MS,
          worthRetrying,
          signal,
        },
      )
    } catch (error) {
      if (error instanceof RefusedError && error.answer.status === 404 && method === 'GET') return null
      throw failure(error, `${method} ${path.split('?')[0]}`)
    }
  }

  async #attempt(request: OutboundRequest): Promise<OutboundAnswer> {
    const answer = await this.#outbound.call(request)
    if (answer.status < 200 || answer.status > 299) throw new RefusedError(answer)
    return answer
  }
}

function worthRetrying(error: unknown): boolean {
  if (error instanceof RefusedError) return isTransientStatus(error.answer.status)
  return error instanceof OutboundError && (error.fault === 'unreachable' || error.fault === 'timeout')
}

function failure(error: unknown, call: string): unknown {
  if (error instanceof OutboundError) {
    const code = error.fault === 'timeout' ? 'remote_timeout' : 'remote_could_not_send_request'
    return new ApiError(code, `${call}: ${error.message}`)
  }
  if (!(error instanceof RefusedError)) return error
  const { status, body } = error.answer
  const message = `${call}: the other instance answered ${status}: ${body.toString().slice(0, 500)}`
  if (status === 401 || status === 403) return new ApiError('remote_invalid_api_key', message)
  if (status === 413)
    return new ApiError(
      'remote_bad_request',
      `${message}; pass a smaller \`payloadSize\`, or raise its limit of bodies if one document is longer than that`,
    )
  return new ApiError(status >= 400 && status < 500 ? 'remote_bad_request' : 'remote_remote_error', message)
}
