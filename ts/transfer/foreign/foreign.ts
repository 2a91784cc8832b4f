/** The seam between the importer and engines with another API: everything is already in terms of this API. */
import { createHash } from 'node:crypto'
import { LaunchError } from '../../launch/index.js'
import { printable } from '../../parse/index.js'

/** An index of another engine. */
export interface ForeignIndex {
  readonly uid: string
  /** Field with the document id. */
  readonly primaryKey: string
  /** Body of PATCH /settings. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly rules: readonly ForeignRule[]
  readonly form: DocumentForm
  /** Number of documents, if the source tells it; null: unknown. */
  readonly expected: number | null
  /** Everything about the index that is not carried over, one line each. */
  readonly leftOut: readonly string[]
  /** Yields the JSON of each document as the source has it. */
  documents(): AsyncIterable<Buffer>
}

/** A dynamic search rule: its uid and the body of its PATCH. */
export interface ForeignRule {
  readonly uid: string
  readonly body: Readonly<Record<string, unknown>>
}

/** How documents of the source differ from documents of this API. */
export interface DocumentForm {
  readonly idField: string
  /** Fields that the source adds and that are not part of a document. */
  readonly removed: readonly string[]
  /** Field with a place, which `_geo` replaces; null: none. */
  readonly geo: { readonly field: string; readonly order: 'pair' | 'object' } | null
  /** Fields with vectors, which become embedders of the same name. */
  readonly vectors: readonly string[]
}

/** Everything that an engine has. */
export interface Foreign {
  readonly indexes: readonly ForeignIndex[]
  /** Everything outside of indexes that is not carried over, one line each. */
  readonly leftOut: readonly string[]
}

/** The source cannot be read, or is not what its documentation promises. The message is one line. */
export class ForeignError extends LaunchError {
  override readonly name = 'ForeignError'

  constructor(message: string, options?: ErrorOptions) {
    super(printable(message.replaceAll(/\s+/g, ' ')), 1, options)
  }
}

/** @throws ForeignError */
export function objectOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>
  throw new ForeignError(`${what} is not a JSON object`)
}

export const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []

export const objectsOf = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value)
    ? value.filter((one): one is Record<string, unknown> => typeof one === 'object' && one !== null)
    : []

/** Names in a sentence, at most a few of them. */
export function named(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_SHOWN).map((name) => `\`${name}\``)
  const rest = names.length - shown.length
  return rest > 0 ? `${shown.join(', ')} and ${rest} more` : shown.join(', ')
}

const NAMES_SHOWN = 8

/**
 * Returns the uid of a rule. Rules of all indexes share one list, so a uid that other names could have too gets a hash.
 * The same names give the same uid in every run.
 * @param id that the source gave it
 * @param parts numbers of a rule that is one of several with this id
 */
export function ruleUid(indexUid: string, id: string, parts: readonly number[] = []): string {
  const names = [indexUid, id, ...parts]
  const wanted = names.join('-')
  const uid = wanted.replaceAll(/[^A-Za-z0-9_-]+/g, '-').slice(0, RULE_UID_CHARS_MAX)
  if (uid === wanted && parts.length === 0 && !indexUid.includes('-')) return uid
  return `${uid}-${createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, HASH_CHARS)}`
}

const RULE_UID_CHARS_MAX = 200
const HASH_CHARS = 8

/** Returns an RFC 3339 date; null: not given. Times outside the years that such a date has become the nearest one in them. */
export function momentOf(seconds: unknown): string | null {
  if (typeof seconds !== 'number') return null
  const [first, last] = [Date.parse('0000-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59Z')]
  return new Date(Math.min(Math.max(seconds * 1000, first), last)).toISOString()
}

/** Synonyms by word: a search for a word also finds its synonyms. */
export class Synonyms {
  readonly #words = new Map<string, Set<string>>()

  /** Adds synonyms in one direction. */
  add(from: string, to: readonly string[]): void {
    const known = this.#words.get(from) ?? new Set()
    for (const one of to) if (one !== from) known.add(one)
    if (known.size > 0) this.#words.set(from, known)
  }

  get setting(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries([...this.#words].map(([from, to]) => [from, [...to]]))
  }
}
