import { type Outbound, OutboundError, type OutboundRequest } from '../outbound/index.js'
import { isWithin } from '../parse/index.js'
import { mistakeIn, type Shape } from './answers.js'
import { caller, type PeerCall } from './calls.js'
import {
  ANSWER_BYTES_MAX,
  ATTEMPTS_MAX,
  answerJsonLimits,
  CALL_MS_MAX,
  PAUSE_FIRST_MS,
  PAUSE_LAST_MS,
} from './limits.js'
import { PeerError } from './peer-error.js'
import { RefusedError } from './refused-error.js'

/** The flag that names an instance on a command line, without its dashes. */
export type PeerFlag = 'from' | 'to' | 'left' | 'right' | 'url' | 'db-path'

/** An instance as a command line names it. */
export interface PeerAddress {
  readonly flag: PeerFlag
  readonly url: string
  readonly key: string | null
  /** What messages call the instance. Default: the URL without user name, password and path. */
  readonly shownAs?: string
}

export interface PeerSetup {
  /** Attempts of a call that does no harm when repeated. Default: about a minute of them. */
  readonly attemptsMax?: number
  /** Ends calls and the pauses between them. */
  readonly signal?: AbortSignal
}

/** Another running instance. Every method throws a PeerError if the instance cannot be reached or refuses the call. */
export interface Peer {
  readonly flag: PeerFlag
  /** The URL without user name, password and path. */
  readonly origin: string
  /** The body of an answer with a status of success. */
  bytes(method: OutboundRequest['method'], path: string, call?: PeerCall): Promise<Buffer>
  /**
   * The same as an object of JSON.
   * @typeParam T what the API answers there; only the members of `shape` are checked
   */
  json<T>(method: OutboundRequest['method'], path: string, call?: PeerCall & { shape?: Shape }): Promise<T>
  /** Checks that the instance is there, in one attempt. */
  greet(): Promise<void>
}

export function openPeer(
  outbound: Pick<Outbound, 'call'>,
  { flag, url, key, shownAs }: PeerAddress,
  { attemptsMax = ATTEMPTS_MAX, signal }: PeerSetup = {},
): Peer {
  const { origin } = new URL(url)
  const shown = `--${flag} ${shownAs ?? origin}`
  const retries = { attemptsMax, firstMs: PAUSE_FIRST_MS, lastMs: PAUSE_LAST_MS }
  const send = caller(outbound, { url, key, retries, ...(signal !== undefined && { signal }) })

  const failure = (error: unknown, call: string): unknown => {
    if (error instanceof OutboundError) {
      const advice = error.fault === 'unreachable' ? '; is it running, and is the address right?' : ''
      return new PeerError(`${shown}: ${call} failed: ${error.message}${advice}`, null, null, {
        cause: error,
      })
    }
    if (!(error instanceof RefusedError)) return error
    const { status, code } = error
    const isAboutKey = status === 401 || status === 403
    const advice = isAboutKey && code !== 'missing_master_key' ? adviceOnKey(flag, key) : ''
    return new PeerError(`${shown}: ${call} was refused: ${error.summary}${advice}`, status, code, {
      cause: error,
    })
  }

  const bytes: Peer['bytes'] = async (method, path, call = {}) => {
    try {
      return await send(method, path, {
        ...call,
        timeoutMs: call.timeoutMs ?? CALL_MS_MAX,
        answerBytesMax: call.answerBytesMax ?? ANSWER_BYTES_MAX,
      })
    } catch (error) {
      throw failure(error, `${method} ${path.split('?', 1)[0]}`)
    }
  }

  const json: Peer['json'] = async <T>(
    method: OutboundRequest['method'],
    path: string,
    { shape = {}, ...call }: PeerCall & { shape?: Shape } = {},
  ): Promise<T> => {
    const body = await bytes(method, path, call)
    const value = parsed(body)
    const mistake = mistakeIn(value, shape)
    if (mistake === null) return value as T
    const where =
      mistake === '' ? 'not answered with an object of JSON' : `answered with a wrong \`${mistake}\``
    throw new PeerError(`${shown}: ${method} ${path.split('?', 1)[0]} is ${where}: is it a search instance?`)
  }

  return {
    flag,
    origin,
    bytes,
    json,
    async greet() {
      await json('GET', '/health', { isRepeatable: false })
    },
  }
}

/** Undefined for anything but JSON within the limits. */
function parsed(body: Buffer): unknown {
  if (!isWithin(body, answerJsonLimits)) return undefined
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

const keyFlag = (flag: PeerFlag): string => (flag === 'url' ? '--key' : `--${flag}-key`)

const adviceOnKey = (flag: PeerFlag, key: string | null): string =>
  key === null
    ? `; give its master key or an admin key by ${keyFlag(flag)}-file or ${keyFlag(flag)}`
    : `; the key of --${flag} is wrong, has expired or may not do this: give the master key or an admin key`
