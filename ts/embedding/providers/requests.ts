/** Finds the vectors of document inputs in the spool, and requests the others. */
import { ApiError } from '../../errors/index.js'
import { NAMED_DOCUMENTS_MAX } from '../limits.js'
import { type SpooledVector, type SpooledVectors, spoolKey } from '../vector-spool.js'
import { type CallCounts, type CallSetup, callProvider, type EmbedOptions, wasRefused } from './calls.js'
import type { Provider } from './providers.js'
import type { NoteAnswer, RequestWindow } from './request-window.js'

/** A text or fragment of a document. */
interface DocumentInput {
  readonly id: string
  readonly input: unknown
}

/** A distinct input of a batch. */
interface Wanted {
  readonly input: unknown
  readonly key: string
  /** Ids of documents with this input. */
  readonly ids: string[]
  readonly vector: Promise<Float32Array | null>
  /** Resolves `vector`. */
  readonly settle: (vector: Float32Array | null) => void
  readonly fail: (error: unknown) => void
}

/** The requests of one batch. Sends equal inputs once. */
export class BatchRequests {
  readonly #calls: CallSetup
  readonly #window: RequestWindow
  readonly #spooled: SpooledVectors
  readonly #counts: CallCounts | undefined
  /** Inputs that were sent but not answered yet. */
  readonly #underWay = new Map<string, Wanted>()

  constructor(
    calls: CallSetup,
    window: RequestWindow,
    { spooled, counts }: Pick<EmbedOptions, 'counts'> & { readonly spooled: SpooledVectors },
  ) {
    this.#calls = calls
    this.#window = window
    this.#spooled = spooled
    this.#counts = counts
  }

  /**
   * Returns the vectors of `inputs`, in order; null where a failure is ignored.
   * @param dimensions components of each vector; null: unknown
   */
  async vectors(
    provider: Provider,
    inputs: readonly DocumentInput[],
    dimensions: number | null,
  ): Promise<readonly (Float32Array | null)[]> {
    const found: Promise<Float32Array | null>[] = []
    const wanted: Wanted[] = []
    for (const { id, input } of inputs) {
      const key = spoolKey(provider.identity, JSON.stringify(input))
      const same = this.#underWay.get(key)
      same?.ids.push(id)
      const vector = same?.vector ?? (await this.#spooledVector(key, dimensions))
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

  async #spooledVector(key: string, dimensions: number | null): Promise<Float32Array | null> {
    const vector = await this.#spooled.get(key)
    return vector === null || vector.length !== (dimensions ?? vector.length) ? null : vector
  }

  /** Sends one request and settles all `wanted` vectors. */
  async #send(provider: Provider, wanted: readonly Wanted[], dimensions: number | null): Promise<void> {
    try {
      const vectors = await this.#window.run(async (note) => {
        const made = await this.#made(provider, wanted, dimensions, note)
        // The next request waits until these vectors are spooled, so that a crash only loses running requests.
        await this.#spooled.put(wanted.flatMap(({ key }, at) => spooledVector(key, made[at] ?? null)))
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
   * Sends one request. If the provider refuses it because a text may be too long, shortens each text and sends it
   * alone. Source: vectors §5.4.
   */
  async #made(
    provider: Provider,
    wanted: readonly Wanted[],
    dimensions: number | null,
    note: NoteAnswer,
  ): Promise<readonly (Float32Array | null)[]> {
    const calls = this.#calls
    const options = { signal: this.#window.signal, note, dimensions, counts: this.#counts }
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

  /** Returns no vectors if failures are ignored. @throws ApiError that lists documents */
  #refused(error: unknown, wanted: readonly Wanted[]): readonly null[] {
    if (!(error instanceof ApiError)) throw error
    if (this.#calls.failureModes.ignoreProviders && !this.#window.signal.aborted)
      return wanted.map(() => null)
    throw new ApiError(error.code, `${namedOf(wanted)}: ${error.message}`)
  }
}

const spooledVector = (key: string, vector: Float32Array | null): readonly SpooledVector[] =>
  vector === null ? [] : [{ key, vector }]

function wantedInput(input: unknown, key: string, id: string): Wanted {
  let settle: Wanted['settle'] = () => undefined
  let fail: Wanted['fail'] = () => undefined
  const vector = new Promise<Float32Array | null>((resolve, reject) => {
    settle = resolve
    fail = reject
  })
  // The page that waits for the vector handles a failure, possibly later than it occurs.
  vector.catch(() => undefined)
  return { input, key, ids: [id], vector, settle, fail }
}

/** Lists the documents of a request, up to `NAMED_DOCUMENTS_MAX` by name. */
function namedOf(wanted: readonly Wanted[]): string {
  const ids = [...new Set(wanted.flatMap((one) => one.ids))]
  const named = ids.slice(0, NAMED_DOCUMENTS_MAX).map((id) => `\`${id}\``)
  const more = ids.length - named.length
  const [noun, rest] = [ids.length === 1 ? 'document' : 'documents', more > 0 ? ` and ${more} more` : '']
  return `${noun} ${named.join(', ')}${rest} cannot be embedded`
}
