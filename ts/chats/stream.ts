/** An answer as a stream of server-sent events. */
import { ApiError } from '../errors/index.js'
import type { Part } from './conversation.js'
import { ChatFailure, type Fault, failureEvent } from './failure.js'

const event = (json: string): string => `data: ${json}\n\n`

/** A comment, which clients ignore. Proxies close silent connections. */
const HEARTBEAT = ': still here\n\n'

interface StreamOptions {
  /** Milliseconds of silence after which a comment is sent. */
  readonly heartbeatMs: number
  /** Returns true if the client has left. Then the stream ends without an error event. */
  readonly hasLeft: () => boolean
  /** Called with errors that are ours. */
  readonly report: (error: unknown) => void
}

/** Yields the events of an answer. Ends with an error event if the answer fails. */
export async function* streamed(
  parts: AsyncGenerator<Part>,
  { heartbeatMs, hasLeft, report }: StreamOptions,
): AsyncGenerator<string> {
  try {
    for await (const part of withHeartbeats(parts, heartbeatMs))
      yield part === null ? HEARTBEAT : event(part.kind === 'chunk' ? part.text : failureEvent(part.fault))
  } catch (error) {
    if (hasLeft()) return
    if (!(error instanceof ChatFailure) && !(error instanceof ApiError)) report(error)
    yield event(failureEvent(shownFault(error)))
  }
  yield event('[DONE]')
}

function shownFault(error: unknown): Fault {
  if (error instanceof ChatFailure) return error.fault
  const known =
    error instanceof ApiError
      ? error
      : new ApiError('internal', 'an internal error happened; see the log of the server')
  return { type: 'response_error', code: known.code, message: known.message, param: null }
}

/** Yields null whenever nothing came for `ms`. */
async function* withHeartbeats<T>(items: AsyncGenerator<T>, ms: number): AsyncGenerator<T | null> {
  try {
    for (;;) {
      const next = items.next()
      for (;;) {
        const result = await within(next, ms)
        if (result === null) yield null
        else if (result.done) return
        else {
          yield result.value
          break
        }
      }
    }
  } finally {
    // A reader that stops early also ends the call to the provider.
    await items.return(undefined)
  }
}

/** Returns null if the promise takes longer than `ms`. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, ms, null)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
