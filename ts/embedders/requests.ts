import { type CallOptions, type CallSetup, callProvider, wasRefused } from './calls.js'
import { REQUESTS_AT_ONCE } from './limits.js'
import type { Provider } from './providers.js'

/** Vectors of `inputs`, in their order. Several requests run at a time, and equal inputs are sent once. */
export async function embedded(
  setup: CallSetup,
  provider: Provider,
  inputs: readonly unknown[],
  options: CallOptions,
): Promise<readonly Float32Array[]> {
  const distinct = new Map<string, { readonly input: unknown; vector: Float32Array | null }>()
  const keys = inputs.map((input) => JSON.stringify(input))
  for (const [at, key] of keys.entries()) {
    if (!distinct.has(key)) distinct.set(key, { input: inputs[at], vector: null })
  }
  const wanted = [...distinct.values()]
  const failure = new AbortController()
  const signal =
    options.signal === undefined ? failure.signal : AbortSignal.any([options.signal, failure.signal])
  let next = 0
  const sendRequests = async (): Promise<void> => {
    while (next < wanted.length) {
      const some = wanted.slice(next, next + provider.inputsPerRequest)
      next += some.length
      const texts = some.map(({ input }) => input)
      const vectors = await request(setup, provider, texts, { ...options, signal })
      for (const [at, one] of some.entries()) one.vector = vectors[at] ?? null
    }
  }
  const requests = Math.ceil(wanted.length / provider.inputsPerRequest)
  try {
    await Promise.all(Array.from({ length: Math.min(REQUESTS_AT_ONCE, requests) }, sendRequests))
  } finally {
    // After the first failure the results of all other requests are useless.
    failure.abort()
  }
  return keys.map((key) => {
    const vector = distinct.get(key)?.vector
    if (!vector) throw new TypeError('a text was left without a vector')
    return vector
  })
}

/**
 * One request. If the provider refuses it because a text may be too long, each text is shortened and sent alone.
 * Source: vectors §5.4.
 */
async function request(
  setup: CallSetup,
  provider: Provider,
  inputs: readonly unknown[],
  options: CallOptions,
): Promise<readonly Float32Array[]> {
  try {
    return await callProvider(setup, provider, inputs, options)
  } catch (error) {
    const { shortened } = provider
    if (shortened === undefined || !wasRefused(error)) throw error
    const vectors: Float32Array[] = []
    for (const input of inputs) {
      vectors.push(...(await callProvider(setup, provider, [await shortened(String(input))], options)))
    }
    return vectors
  }
}
