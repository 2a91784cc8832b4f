import { certificateFault, type Outbound, OutboundError, type OutboundRequest } from '../../outbound/index.js'
import { isWithin } from '../../parse/index.js'
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

/** The command line option that names an instance, without dashes. */
export type PeerFlag = 'from' | 'to' | 'left' | 'right' | 'url' | 'db-path'

/** An instance as given on the command line. */
export interface PeerAddress {
  readonly flag: PeerFlag
  readonly url: string
  readonly key: string | null
  /** Name of the instance in messages. Default: the URL without user name, password and path. */
  readonly shownAs?: string
}

export interface PeerSetup {
  /** Attempts of a repeatable call. Default: retries for about a minute. */
  readonly attemptsMax?: number
  /** Aborts calls and the pauses between them. */
  readonly signal?: AbortSignal | undefined
}

/** Another running instance. Methods throw a PeerError if the instance cannot be reached or refuses the call. */
export interface Peer {
  readonly flag: PeerFlag
  /** The URL without user name, password and path. */
  readonly origin: string
  /** Returns the body of a successful answer. */
  bytes(method: OutboundRequest['method'], path: string, call?: PeerCall): Promise<Buffer>
  /**
   * Returns the answer as a JSON object.
   * @typeParam T type of the answer; only the members of `shape` are checked
   */
  json<T>(method: OutboundRequest['method'], path: string, call?: PeerCall & { shape?: Shape }): Promise<T>
  /** Checks that the instance answers, in one attempt. */
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
  const send = caller(outbound, { url, key, retries, signal })

  const failure = (error: unknown, call: string): unknown => {
    if (error instanceof OutboundError) {
      const advice =
        error.fault === 'unreachable'
          ? '; is it running, and is the address right?'
          : isUnknownAuthority(error)
            ? '; if you trust it, give the certificate of its authority by --ca FILE'
            : ''
      return new PeerError(`${shown}: ${call} failed: ${error.message}${advice}`, null, null, {
        cause: error,
      })
    }
    if (!(error instanceof RefusedError)) return error
    const { status, code } = error
    const isAboutKey = status === 401 || status === 403
    const advice = isAboutKey && code !== 'missing_master_key' ? adviceOnKey(flag, key) : ''
    // The advice continues the sentence.
    const reason = advice === '' ? error.summary : error.summary.replace(/\.$/, '')
    return new PeerError(`${shown}: ${call} was refused: ${reason}${advice}`, status, code, {
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
      mistake === '' ? 'not answered with a JSON object' : `answered with an invalid \`${mistake}\``
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

/** True if the certificate of an authority would help. */
const isUnknownAuthority = ({ fault, cause }: OutboundError): boolean =>
  fault === 'certificate' && certificateFault((cause as { code?: unknown }).code)?.isUnknownAuthority === true

/** Parses JSON. Returns undefined if it is invalid or exceeds the limits. */
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
    : `; the key of --${flag} is wrong, has expired or lacks the permission: give the master key or an admin key`
