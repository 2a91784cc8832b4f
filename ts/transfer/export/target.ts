import { ApiError } from '../../errors/index.js'
import { type Outbound, OutboundError, type OutboundRequest } from '../../outbound/index.js'
import type { ExportTarget } from '../../tasks/index.js'
import {
  acceptedTask,
  caller,
  isText,
  object,
  type PeerCall,
  RefusedError,
  type SendCall,
  type Shape,
} from '../peer/index.js'
import {
  ANSWER_BYTES_MAX,
  ATTEMPTS_MAX,
  PAUSE_FIRST_MS,
  PAUSE_LAST_MS,
  REQUEST_MS_MAX,
  UPLOAD_MS_MAX,
} from './limits.js'

/** The instance that receives indexes. Methods throw an ApiError if it refuses the call. */
export class TargetInstance {
  readonly #send: SendCall

  constructor(outbound: Outbound, { url, apiKey, signal }: ExportTarget) {
    const retries = { attemptsMax: ATTEMPTS_MAX, firstMs: PAUSE_FIRST_MS, lastMs: PAUSE_LAST_MS }
    this.#send = caller(outbound, { url, key: apiKey, retries, signal })
  }

  async hasIndex(uid: string): Promise<boolean> {
    const path = `/indexes/${uid}`
    try {
      await this.#sent('GET', path, { uid: isText })
      return true
    } catch (error) {
      if (error instanceof RefusedError && error.status === 404) return false
      throw failure(error, `GET ${path}`)
    }
  }

  async createIndex(uid: string, primaryKey: string | null): Promise<void> {
    await this.#call('POST', '/indexes', { body: { uid, primaryKey } })
  }

  async putSettings(uid: string, settings: object): Promise<void> {
    await this.#call('PATCH', `/indexes/${uid}/settings`, { body: settings })
  }

  /** @param lines NDJSON */
  async addDocuments(uid: string, lines: Uint8Array, primaryKey: string | null): Promise<void> {
    const query = primaryKey === null ? '' : `?primaryKey=${encodeURIComponent(primaryKey)}`
    await this.#call('POST', `/indexes/${uid}/documents${query}`, {
      body: lines,
      isCompressed: true,
      timeoutMs: UPLOAD_MS_MAX,
    })
  }

  async #call(method: OutboundRequest['method'], path: string, call: PeerCall): Promise<void> {
    try {
      await this.#sent(method, path, acceptedTask, call)
    } catch (error) {
      throw failure(error, `${method} ${path.split('?', 1)[0]}`)
    }
  }

  /**
   * Every call may be repeated: settings and documents are replaced, and an index is created only once. Redirects are
   * refused: a redirected POST may become a GET, which has an answer too, and bodies have documents and secrets.
   * @throws ApiError for an answer that an instance would not give, so that a web page does not take the documents
   */
  async #sent(
    method: OutboundRequest['method'],
    path: string,
    answer: Shape,
    call: PeerCall = {},
  ): Promise<void> {
    const limits = {
      timeoutMs: REQUEST_MS_MAX,
      answerBytesMax: ANSWER_BYTES_MAX,
      redirects: 'refused',
    } as const
    const body = await this.#send(method, path, { ...limits, isRepeatable: true, ...call })
    if (!object(answer)(parsed(body)))
      throw new ApiError(
        'remote_bad_response',
        `${method} ${path.split('?', 1)[0]}: the answer has no valid \`${Object.keys(answer).join()}\`: is \`url\` the address of a search instance?`,
      )
  }
}

/** Parses JSON. Returns undefined if it is invalid. */
function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

function failure(error: unknown, call: string): unknown {
  if (error instanceof OutboundError) {
    const code = error.fault === 'timeout' ? 'remote_timeout' : 'remote_could_not_send_request'
    return new ApiError(code, `${call}: ${error.message}`)
  }
  if (!(error instanceof RefusedError)) return error
  const { status } = error
  const message = `${call}: the other instance answered ${error.summary}`
  if (status === 401 || status === 403) return new ApiError('remote_invalid_api_key', message)
  if (status === 413)
    return new ApiError(
      'remote_bad_request',
      `${message}; pass a smaller \`payloadSize\`, or raise its limit of bodies if one document is longer than that`,
    )
  const code = status >= 400 && status < 500 ? 'remote_bad_request' : 'remote_remote_error'
  return new ApiError(code, message)
}
