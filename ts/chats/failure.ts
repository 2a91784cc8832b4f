import { randomUUID } from 'node:crypto'
import { ApiError } from '../errors/index.js'
import { OutboundError } from '../outbound/index.js'
import { cutText } from '../parse/index.js'
import { maskSecret } from '../settings/index.js'
import { MESSAGE_CHARS_MAX, QUOTED_CHARS_MAX } from './limits.js'

/** A failure in the form of OpenAI. */
export interface Fault {
  readonly type: string
  readonly code: string | null
  readonly message: string
  readonly param: string | null
}

/** A chat that cannot go on. */
export class ChatFailure extends Error {
  readonly fault: Fault
  /** The error for a client that gets one answer. */
  readonly apiError: ApiError

  constructor(fault: Fault, apiError: ApiError) {
    super(fault.message)
    this.fault = fault
    this.apiError = apiError
  }
}

/** Types of failures that this server finds itself. */
type FaultType =
  | 'transport_error'
  | 'invalid_utf8_error'
  | 'parser_error'
  | 'json_deserialize_error'
  | 'stream_ended'
  | 'answer_too_large'

const fault = (type: FaultType | 'provider_error' | 'server_stopping', message: string): Fault => ({
  type,
  code: null,
  message,
  param: null,
})

/** Returns the failure for an answer of the provider that cannot be used. */
export const badAnswer = (type: FaultType, message: string): ChatFailure =>
  new ChatFailure(fault(type, message), new ApiError('remote_bad_response', message))

/** Returns the failure for a call without an answer. Other errors are returned unchanged. */
export function callFailure(error: unknown): unknown {
  if (!(error instanceof OutboundError)) return error
  const code = error.fault === 'timeout' ? 'remote_timeout' : 'remote_could_not_send_request'
  const message = `the provider: ${error.message}`
  return new ChatFailure(
    fault('transport_error', message),
    new ApiError(code, message, error.fault === 'timeout' ? 504 : undefined),
  )
}

export const tookTooLong = (ms: number): ChatFailure => {
  const message = `the answer took longer than ${ms / 1000} seconds`
  return new ChatFailure(fault('transport_error', message), new ApiError('remote_timeout', message, 504))
}

export const serverStops = (): ChatFailure => {
  const message = 'the server stops; send the request again'
  return new ChatFailure(fault('server_stopping', message), new ApiError('too_many_requests', message))
}

/** Returns the failure for an error answer of the provider. @param secret is masked in its message */
export function errorAnswer(status: number, body: string, secret: string | null): ChatFailure {
  const found = faultIn(parsed(body))
  const shown =
    found ??
    fault('provider_error', `the provider answered with status ${status}: ${cutText(body, QUOTED_CHARS_MAX)}`)
  return failureOf(shown, status, secret)
}

/** Returns the failure for an error inside a stream; null if the event has none. */
export function errorEvent(event: unknown, secret: string | null): ChatFailure | null {
  const { error } = event as { readonly error?: unknown }
  if (error === undefined || error === null) return null
  return failureOf(faultIn(event) ?? fault('provider_error', JSON.stringify(error)), 500, secret)
}

function failureOf(found: Fault, status: number, secret: string | null): ChatFailure {
  const cleaned = (text: string): string =>
    (secret === null || secret === '' ? text : text.replaceAll(secret, maskSecret(secret))).slice(
      0,
      MESSAGE_CHARS_MAX,
    )
  const shown = { ...found, message: cleaned(found.message) }
  const message = `the provider: ${shown.message}`
  if (status === 401 || status === 403)
    return new ChatFailure(shown, new ApiError('remote_invalid_api_key', message))
  if (status === 429) return new ChatFailure(shown, new ApiError('too_many_requests', message))
  return new ChatFailure(shown, new ApiError('remote_remote_error', message))
}

/** Reads `{error: {type, code, message, param}}`, `{error: text}`, and these members without `error`. */
function faultIn(body: unknown): Fault | null {
  if (!isObject(body)) return null
  const { error = body } = body
  if (typeof error === 'string') return fault('provider_error', error)
  if (!isObject(error) || typeof error.message !== 'string') return null
  return {
    type: textOf(error.type) ?? 'provider_error',
    code: textOf(error.code),
    message: error.message,
    param: textOf(error.param),
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

const textOf = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'number' ? cutText(String(value), QUOTED_CHARS_MAX) : null

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The event that reports a failure. */
export const failureEvent = ({ type, code, message, param }: Fault): string =>
  JSON.stringify({
    event_id: randomUUID(),
    type: 'error',
    error: { type, code, message, param, event_id: null },
  })
