/** Here are the inputs of documents: which of their vectors have been paid for, and which requests make the rest? */
import { ApiError } from '../errors/index.js'
import { type CallCounts, type CallSetup, callProvider, type FailureModes, wasRefused } from './calls.js'
import { NAMED_DOCUMENTS_MAX } from './limits.js'
import { type PaidVector, type PaidVectors, paidKey } from './paid-vectors.js'
import type { Provider } from './providers.js'
import type { NoteAnswer, RequestWindow } from './request-window.js'

/** A text or fragment of a document. */
export interface DocumentInput {
  readonly id: string
  readonly input: unknown
}

export interface RequestsSetup {
  readonly calls: CallSetup
  readonly window: RequestWindow
  readonly paid: PaidVectors
  readonly counts?: CallCounts
  readonly failureModes: FailureModes
}

/** A distinct input of a batch. */
interface Wanted {
  readonly input: unknown
  readonly key: string
  /** Ids of documents with this input. */
  readonly ids: string[]
  readonly vector: Promise<Float32Array | null>
  /** Ends `vector`. */
  readonly settle: (vector: Float32Array | null) => void
  readonly fail: (error: unknown) => void
}

/** The requests of one batch. Equal inputs are sent once. */
export class BatchRequests {
  readonly #setup: RequestsSetup
  /** Inputs that have been sent and not been answered. */
  readonly #underWay = new Map<string, Wanted>()

  constructor(setup: RequestsSetup) {
    this.#setup = setup
  }

  /**
   * The vectors of `inputs`, in their order; null where a failure is to be ignored.
   * @param dimensions components of each vector; null: not known
   */
  async vectors(
    provider: Provider,
    inputs: readonly DocumentInput[],
    dimensions: number | null,
  ): Promise<readonly (Float32Array | null)[]> {
    const found: Promise<Float32Array | null>[] = []
    const wanted: Wanted[] = []
    for (const { id, input } of inputs) {
      const key = paidKey(provider.identity, JSON.stringify(input))
      const same = this.#underWay.get(key)
      same?.ids.push(id)
      const vector = same?.vector ?? (await this.#paid(key, dimensions))
      if (vector !== null) {
        found.push(Promise.resolve(vector))
        continue
      }
      const one = wantedInput(input, key, id)
      this.#underWay.set(key, one)
      wanted.push(one)
      found.push(one.vector)
    }
    for (let from = 0; from < wanted.length; from += provider.inputsPerRequest) {
      void this.#send(provider, wanted.slice(from, from + provider.inputsPerRequest), dimensions)
    }
    return Promise.all(found)
  }

  async #paid(key: string, dimensions: number | null): Promise<Float32Array | null> {
    const vector = await this.#setup.paid.get(key)
    return vector === null || vector.length !== (dimensions ?? vector.length) ? null : vector
  }

  /** Ends the vectors of `wanted`, whatever happens. */
  async #send(provider: Provider, wanted: readonly Wanted[], dimensions: number | null): Promise<void> {
    const { window, paid } = this.#setup
    try {
      const vectors = await window.run(async (note) => {
        const made = await this.#made(provider, wanted, dimensions, note)
        // The next request waits until these vectors are noted, so that no more are lost than are under way.
        await paid.put(wanted.flatMap(({ key }, at) => paidVector(key, made[at] ?? null)))
        return made
      })
      for (const [at, { settle }] of wanted.entries()) settle(vectors[at] ?? null)
    } catch (error) {
      for (const { fail } of wanted) fail(error)
    } finally {
      for (const { key } of wanted) this.#underWay.delete(key)
    }
  }

  /**
   * One request. If the provider refuses it because a text may be too long, each text is shortened and sent alone.
   * Source: vectors §5.4.
   */
  async #made(
    provider: Provider,
    wanted: readonly Wanted[],
    dimensions: number | null,
    note: NoteAnswer,
  ): Promise<readonly (Float32Array | null)[]> {
    const { calls, counts, window } = this.#setup
    const { signal } = window
    const options = { signal, note, dimensions, ...(counts !== undefined && { counts }) }
    const texts = wanted.map(({ input }) => input)
    try {
      return await callProvider(calls, provider, texts, options)
    } catch (error) {
      const shortened = 'shortened' in provider ? provider.shortened : undefined
      if (shortened === undefined || !wasRefused(error)) return this.#refused(error, wanted)
      const vectors: (Float32Array | null)[] = []
      for (const one of wanted) {
        try {
          const text = await shortened(String(one.input))
          vectors.push(...(await callProvider(calls, provider, [text], options)))
        } catch (alone) {
          vectors.push(...this.#refused(alone, [one]))
        }
      }
      return vectors
    }
  }

  /** No vectors, if failures are to be ignored. @throws ApiError that names documents */
  #refused(error: unknown, wanted: readonly Wanted[]): readonly null[] {
    if (!(error instanceof ApiError)) throw error
    const { failureModes, window } = this.#setup
    if (failureModes.ignoreProviders && !window.signal.aborted) return wanted.map(() => null)
    throw new ApiError(error.code, `${namedOf(wanted)}: ${error.message}`)
  }
}

const paidVector = (key: string, vector: Float32Array | null): readonly PaidVector[] =>
  vector === null ? [] : [{ key, vector }]

function wantedInput(input: unknown, key: string, id: string): Wanted {
  let settle: Wanted['settle'] = () => undefined
  let fail: Wanted['fail'] = () => undefined
  const vector = new Promise<Float32Array | null>((resolve, reject) => {
    settle = resolve
    fail = reject
  })
  // The page that asked for the vector handles a failure, which may come before it looks.
  vector.catch(() => undefined)
  return { input, key, ids: [id], vector, settle, fail }
}

/** The documents of a request, the first of them by name. */
function namedOf(wanted: readonly Wanted[]): string {
  const ids = [...new Set(wanted.flatMap((one) => one.ids))]
  const named = ids.slice(0, NAMED_DOCUMENTS_MAX).map((id) => `\`${id}\``)
  const more = ids.length - named.length
  const [noun, rest] = [ids.length === 1 ? 'document' : 'documents', more > 0 ? ` and ${more} more` : '']
  return `${noun} ${named.join(', ')}${rest} cannot be embedded`
}
