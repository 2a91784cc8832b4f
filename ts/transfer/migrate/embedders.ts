import { isDeepStrictEqual } from 'node:util'
import { HIDDEN_SECRET } from '../../settings/index.js'

/** An embedder as in `GET /settings`. */
type Embedder = Readonly<Record<string, unknown>>
export type Embedders = Readonly<Record<string, Embedder>>

export function maskedSecrets(embedder: Embedder): readonly string[] {
  return Object.entries(embedder).flatMap(([name, value]) => {
    if (name === 'apiKey') return isMasked(value) ? [name] : []
    if (name === 'headers') {
      const headers = Object.entries(value as object)
      return headers.filter(([, text]) => isMasked(text)).map(([header]) => `headers.${header}`)
    }
    if (name === 'searchEmbedder' || name === 'indexingEmbedder')
      return maskedSecrets(value as Embedder).map((path) => `${name}.${path}`)
    return []
  })
}

/** Returns true if a text is a mask, not a secret. Source: vectors §2.8. */
export const isMasked = (value: unknown): boolean =>
  typeof value === 'string' && value.endsWith(HIDDEN_SECRET)

/** Returns true if both embedders are equal. `dimensions` are compared only if the source states them. */
export function isSameEmbedder(source: Embedder, target: Embedder | undefined): boolean {
  if (target === undefined) return false
  const { dimensions, ...shown } = target
  return isDeepStrictEqual(source, source.dimensions === undefined ? shown : { ...shown, dimensions })
}

interface PushedEmbedder {
  /** null: the embedder cannot be set on the target. */
  readonly embedder: Embedder | null
  /**
   * True for a substitute that only keeps the vectors. It must not replace an embedder that the user has set on the
   * target.
   */
  readonly isStandIn: boolean
  /** Note for the user; null: none. */
  readonly remark: string | null
}

/**
 * Returns the embedder to send to the target. Its settings task must not call the provider: the secrets are missing,
 * and the vectors are copied with the documents.
 *
 * Masked secrets are omitted, since the target would store a mask as the secret. If the source found the number of
 * dimensions by a call of the provider, the number is set. A `userProvided` embedder replaces embedders for which this
 * is not enough: a model that runs inside the source, and a composite embedder, whose halves would be compared by
 * calls.
 * @param path settings of the index, for the remark
 * @param dimensions of the vectors in the source; null: it has none
 */
export function pushedEmbedder(
  { path, embedder }: { readonly path: string; readonly embedder: Embedder },
  dimensions: number | null,
): PushedEmbedder {
  const secrets = maskedSecrets(embedder)
  const isLocal = [embedder, embedder.searchEmbedder, embedder.indexingEmbedder].some(
    (part) => (part as Embedder | undefined)?.source === 'huggingFace',
  )
  const where = `PATCH ${path}/embedders`
  if (isLocal || (embedder.source === 'composite' && secrets.length > 0)) {
    const reason = isLocal ? 'runs a model inside the source' : 'has halves whose secrets the source masks'
    if (dimensions === null)
      return {
        embedder: null,
        isStandIn: true,
        remark: `${reason} and has no vectors: it is not copied; set it with ${where}`,
      }
    const { distribution, binaryQuantized } = embedder
    const standIn = { source: 'userProvided', dimensions, distribution, binaryQuantized }
    const remark = `${reason}: its vectors are kept in an embedder of source userProvided; to embed new documents and queries, set an embedder with ${where}`
    return { embedder: withoutUndefined(standIn), isStandIn: true, remark }
  }
  const isAsked = embedder.source === 'rest' || embedder.source === 'ollama'
  const found = isAsked && embedder.dimensions === undefined && dimensions !== null
  const sent = { ...withoutSecrets(embedder), ...(found && { dimensions }) }
  return {
    embedder: sent,
    isStandIn: false,
    remark:
      secrets.length === 0 ? null : `needs ${secrets.join(' and ')} again, which the source masks: ${where}`,
  }
}

/** Returns an embedder or a reranker without masked secrets. */
export function withoutSecrets(embedder: Embedder): Embedder {
  const left = Object.entries(embedder).flatMap(([name, value]) => {
    if (name === 'apiKey' && isMasked(value)) return []
    if (name !== 'headers') return [[name, value] as const]
    return [[name, Object.fromEntries(Object.entries(value as object).filter(([, text]) => !isMasked(text)))]]
  })
  return Object.fromEntries(left) as Embedder
}

const withoutUndefined = (fields: Embedder): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
