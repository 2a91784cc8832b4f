import { isDeepStrictEqual } from 'node:util'
import { HIDDEN_SECRET } from '../settings/index.js'

/** An embedder as `GET /settings` shows it. */
export type Embedder = Readonly<Record<string, unknown>>
export type Embedders = Readonly<Record<string, Embedder>>

/** The secrets of an embedder that an instance masks, each as its path in the settings. */
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

/** Whether a text is a mask and not a secret. Source: vectors §2.8. */
export const isMasked = (value: unknown): boolean =>
  typeof value === 'string' && value.endsWith(HIDDEN_SECRET)

/** Whether two instances show the same embedder. `dimensions` count only if the source states them. */
export function isSameEmbedder(source: Embedder, target: Embedder | undefined): boolean {
  if (target === undefined) return false
  const { dimensions, ...shown } = target
  return isDeepStrictEqual(source, source.dimensions === undefined ? shown : { ...shown, dimensions })
}

export interface PushedEmbedder {
  /** null: it cannot be set on the target. */
  readonly embedder: Embedder | null
  /** Whether it only keeps the vectors, so that it must not replace what the user has set on the target since. */
  readonly isStandIn: boolean
  /** What the user has to know or do; null: nothing. */
  readonly remark: string | null
}

/**
 * An embedder as it is sent to the target, so that the settings task there calls no provider: it could not without the
 * secrets, and it need not, since the vectors come with the documents.
 *
 * Masked secrets are left out, because a mask would be stored as if it were the secret. Where the source found the
 * number of dimensions by asking the provider, the number is stated. Where neither helps, a `userProvided` embedder
 * stands in: a model that runs inside the reference, and a composite one whose halves would be compared by calls.
 * @param path the settings of the index, for the remark
 * @param dimensions of the vectors that the source holds; null: it holds none
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
        remark: `${reason} and has no vectors: it is left out; set it by ${where}`,
      }
    const { distribution, binaryQuantized } = embedder
    const standIn = { source: 'userProvided', dimensions, distribution, binaryQuantized }
    const remark = `${reason}: its vectors are kept in an embedder of source userProvided; to embed new documents and queries, set an embedder by ${where}`
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

function withoutSecrets(embedder: Embedder): Embedder {
  const left = Object.entries(embedder).flatMap(([name, value]) => {
    if (name === 'apiKey' && isMasked(value)) return []
    if (name !== 'headers') return [[name, value] as const]
    return [[name, Object.fromEntries(Object.entries(value as object).filter(([, text]) => !isMasked(text)))]]
  })
  return Object.fromEntries(left) as Embedder
}

const withoutUndefined = (fields: Embedder): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
