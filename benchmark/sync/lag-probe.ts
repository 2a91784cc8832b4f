/** Measures the time from a commit until searches and reads see the document. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { client } from '../daemon.js'
import { UID } from './products.js'

/** Milliseconds between two reads of the waiting documents: the error of a time is at most this and one read. */
const READ_MS = 10
/** Documents that are read at once. */
const WAITING_MAX = 200

interface Sample {
  /** Version that must be visible, or a newer one; null: the document must not exist. */
  readonly version: number | null
  readonly committedMs: number
}

export class LagProbe {
  readonly #call: ReturnType<typeof client>
  readonly #waiting = new Map<number, Sample>()
  readonly #lagsMs: number[] = []
  /** Milliseconds between the starts of two consecutive reads. */
  readonly #readsMs: number[] = []
  readonly #done: Promise<void>
  #isStopped = false

  constructor(call: ReturnType<typeof client>) {
    this.#call = call
    this.#done = this.#run()
  }

  /** True if the document is awaited, and must not change meanwhile. */
  isAwaited(id: number): boolean {
    return this.#waiting.has(id)
  }

  add(id: number, sample: Sample): void {
    if (this.#waiting.size < WAITING_MAX) this.#waiting.set(id, sample)
  }

  /** Waits for the remaining documents, and returns all times in milliseconds. */
  async finished(): Promise<{ readonly lagsMs: readonly number[]; readonly readsMs: readonly number[] }> {
    this.#isStopped = true
    await this.#done
    return { lagsMs: this.#lagsMs, readsMs: this.#readsMs }
  }

  async #run(): Promise<void> {
    let before: number | null = null
    while (!this.#isStopped || this.#waiting.size > 0) {
      const began = performance.now()
      if (this.#waiting.size > 0) {
        if (before !== null) this.#readsMs.push(began - before)
        before = began
        await this.#read()
      } else before = null
      await sleep(Math.max(0, READ_MS - (performance.now() - began)))
    }
  }

  async #read(): Promise<void> {
    const samples = [...this.#waiting]
    const body = { ids: samples.map(([id]) => id), fields: ['id', 'version'], limit: samples.length }
    const { status, text } = await this.#call('POST', `/indexes/${UID}/documents/fetch`, JSON.stringify(body))
    if (status !== 200) throw new Error(text)
    const now = performance.now()
    const { results } = JSON.parse(text) as { results: { id: number; version: number }[] }
    const found = new Map(results.map(({ id, version }) => [id, version]))
    for (const [id, { version, committedMs }] of samples) {
      const visible = found.get(id)
      if (version === null ? visible !== undefined : (visible ?? -1) < version) continue
      this.#waiting.delete(id)
      this.#lagsMs.push(now - committedMs)
    }
  }
}
