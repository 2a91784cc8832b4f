import { type ChatTimes, serverStops, tookTooLong } from '../../chats/index.js'
import { ApiError } from '../../errors/index.js'
import { CHATS_MAX } from '../limits.js'

/** A chat that is being answered. */
interface RunningChat {
  /** Aborted with the reason why the answer must end. */
  readonly signal: AbortSignal
  abort(reason: Error): void
  /** Returns false if the chat had ended before. */
  end(): boolean
}

/** Bounds the number of chats, their time, and ends them when the server stops. */
export class RunningChats {
  readonly #totalMs: number
  readonly #running = new Set<AbortController>()
  #isStopped = false

  constructor({ totalMs }: ChatTimes) {
    this.#totalMs = totalMs
  }

  /** @throws ApiError `too_many_requests` */
  begin(): RunningChat {
    if (this.#running.size >= CHATS_MAX)
      throw new ApiError('too_many_requests', `${CHATS_MAX} chats are running, the maximum; try again later`)
    const controller = new AbortController()
    this.#running.add(controller)
    const timer = setTimeout(() => controller.abort(tookTooLong(this.#totalMs)), this.#totalMs)
    if (this.#isStopped) controller.abort(serverStops())
    return {
      signal: controller.signal,
      abort: (reason) => controller.abort(reason),
      end: () => {
        clearTimeout(timer)
        return this.#running.delete(controller)
      },
    }
  }

  stop(): void {
    this.#isStopped = true
    for (const controller of this.#running) controller.abort(serverStops())
  }
}
