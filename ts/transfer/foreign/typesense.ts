/** Reads collections of a running Typesense over HTTP. Source: the documentation of its API, versions 0.25 to 30. */
import { type Outbound, OutboundError } from '../../outbound/index.js'
import { SplitError, ValueSplitter, withoutTrailing } from '../../parse/index.js'
import { type Foreign, ForeignError, type ForeignIndex, named, objectOf, objectsOf } from './foreign.js'
import {
  ANSWER_BYTES_MAX,
  CALL_MS_MAX,
  DOCUMENT_BYTES_MAX,
  EXPORT_IDLE_MS,
  PAGE_COLLECTIONS,
} from './limits.js'
import { rulesOf, synonymsOf } from './typesense-curation.js'
import { type Collection, collectionOf, schemaOf } from './typesense-schema.js'

interface TypesenseAddress {
  readonly url: string
  readonly key: string | null
}

type Json = Readonly<Record<string, unknown>>

/**
 * Reads everything but the documents, which are read while they are copied.
 * @param wanted names of collections; null: all
 * @throws ForeignError
 */
export async function openTypesense(
  outbound: Pick<Outbound, 'call' | 'stream'>,
  address: TypesenseAddress,
  wanted: readonly string[] | null,
): Promise<Foreign> {
  const typesense = new Typesense(outbound, address)
  const collections = await typesense.collections()
  const missing = (wanted ?? []).find((name) => collections.every((one) => one.name !== name))
  if (missing !== undefined)
    throw new ForeignError(
      `Typesense has no collection \`${missing}\`; it has ${named(collections.map(({ name }) => name))}`,
    )
  // Version 30 moved synonyms and overrides out of the collections into sets.
  const synonymSets = await typesense.list('/synonym_sets')
  const curationSets = await typesense.list('/curation_sets')
  const indexes: ForeignIndex[] = []
  for (const collection of collections) {
    const { name } = collection
    if (wanted !== null && !wanted.includes(name)) continue
    const path = `/collections/${encodeURIComponent(name)}`
    const schema = schemaOf(collection)
    const synonyms = synonymsOf([
      ...objectsOf((await typesense.maybe(`${path}/synonyms`))?.synonyms),
      ...itemsOf(synonymSets, collection.synonymSets),
    ])
    const uid = indexUid(name)
    if (indexes.some((index) => index.uid === uid))
      throw new ForeignError(
        `two collections would become the index \`${uid}\`: copy them one by one with --index`,
      )
    const rules = rulesOf(uid, [
      ...objectsOf((await typesense.maybe(`${path}/overrides`))?.overrides),
      ...itemsOf(curationSets, collection.curationSets),
    ])
    const hasSynonyms = Object.keys(synonyms.synonyms).length > 0
    indexes.push({
      uid,
      primaryKey: 'id',
      settings: { ...schema.settings, ...(hasSynonyms && { synonyms: synonyms.synonyms }) },
      form: schema.form,
      rules: rules.rules,
      expected: collection.documents,
      leftOut: [
        ...(uid === name ? [] : [`its name \`${name}\`, which an index cannot have`]),
        ...schema.leftOut,
        ...synonyms.leftOut,
        ...rules.leftOut,
      ],
      documents: () => typesense.documents(`${path}/documents/export`),
    })
  }
  return { indexes, leftOut: await globals(typesense) }
}

/** Returns the uid for a collection, whose name may have more characters. */
const indexUid = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, '_')

const itemsOf = (sets: readonly Json[], names: readonly string[]): readonly Json[] =>
  sets.filter(({ name }) => names.includes(String(name))).flatMap(({ items }) => objectsOf(items))

/** Lists parts of the instance that belong to no collection. */
async function globals(typesense: Typesense): Promise<readonly string[]> {
  const parts = [
    ['aliases', 'name', 'aliases: use the name of the collection, or swap indexes'],
    ['stopwords', 'id', 'sets of stop words, which searches name: see the setting `stopWords`'],
    ['presets', 'name', 'presets: send their parameters with each search'],
  ] as const
  const lines: string[] = []
  for (const [part, key, advice] of parts) {
    const found = objectsOf((await typesense.maybe(`/${part}`))?.[part])
    if (found.length > 0) lines.push(`${named(found.map((one) => String(one[key])))}: ${advice}`)
  }
  return [...lines, 'API keys: Typesense shows only their beginnings; create keys with `siftd keys create`']
}

class Typesense {
  readonly #outbound: Pick<Outbound, 'call' | 'stream'>
  readonly #url: string
  readonly #key: string | null

  constructor(outbound: Pick<Outbound, 'call' | 'stream'>, { url, key }: TypesenseAddress) {
    this.#outbound = outbound
    this.#url = withoutTrailing(url, '/')
    this.#key = key
  }

  get #headers(): Readonly<Record<string, string>> {
    return this.#key === null ? {} : { 'x-typesense-api-key': this.#key }
  }

  async collections(): Promise<readonly Collection[]> {
    const all: Collection[] = []
    for (;;) {
      const found = await this.#json(`/collections?limit=${PAGE_COLLECTIONS}&offset=${all.length}`)
      if (!Array.isArray(found))
        throw new ForeignError(`${this.#shown} answers GET /collections without a list: is it Typesense?`)
      const known = new Set(all.map(({ name }) => name))
      const added = found.map(collectionOf).filter(({ name }) => !known.has(name))
      all.push(...added)
      // Versions before 0.25 do not page and list everything again.
      if (added.length < PAGE_COLLECTIONS) return all
    }
  }

  /** Returns an object; null if this version does not have the route. */
  async maybe(path: string): Promise<Json | null> {
    const found = await this.#json(path, true)
    return found === null ? null : objectOf(found, `the answer to GET ${path}`)
  }

  /** Returns a list; empty if this version does not have the route. */
  async list(path: string): Promise<readonly Json[]> {
    return objectsOf(await this.#json(path, true))
  }

  async *documents(path: string): AsyncGenerator<Buffer> {
    const call = `GET ${path}`
    try {
      const { status, body, discard } = await this.#outbound.stream({
        url: `${this.#url}${path}`,
        headers: this.#headers,
        redirects: 'refused',
        idleMs: EXPORT_IDLE_MS,
      })
      if (status !== 200) {
        discard()
        throw new ForeignError(`${this.#shown}: ${call} was refused with status ${status}`)
      }
      const splitter = new ValueSplitter('ndjson')
      for await (const chunk of body) {
        for (const { bytes } of splitter.feed(chunk)) yield bytes
        if (splitter.openBytes > DOCUMENT_BYTES_MAX)
          throw new ForeignError(
            `${this.#shown}: ${call} has a document of more than ${DOCUMENT_BYTES_MAX} bytes`,
          )
      }
      for (const { bytes } of splitter.finish()) yield bytes
    } catch (error) {
      if (error instanceof SplitError)
        throw new ForeignError(`${this.#shown}: ${call} is no list of documents: ${error.message}`)
      throw this.#failure(error, call)
    }
  }

  /** @param mayBeMissing true to return null if there is no such route */
  async #json(path: string, mayBeMissing = false): Promise<unknown> {
    const call = `GET ${path.split('?', 1)[0]}`
    try {
      const { status, body } = await this.#outbound.call({
        method: 'GET',
        url: `${this.#url}${path}`,
        headers: this.#headers,
        redirects: 'refused',
        timeoutMs: CALL_MS_MAX,
        answerBytesMax: ANSWER_BYTES_MAX,
      })
      if (status === 404 && mayBeMissing) return null
      if (status === 401 || status === 403)
        throw new ForeignError(
          `${this.#shown}: ${call} was refused: give an admin key by --from-key-file or --from-key`,
        )
      if (status !== 200) throw new ForeignError(`${this.#shown}: ${call} was refused with status ${status}`)
      return JSON.parse(body.toString())
    } catch (error) {
      if (error instanceof SyntaxError)
        throw new ForeignError(`${this.#shown}: ${call} is not answered with JSON: is it Typesense?`)
      throw this.#failure(error, call)
    }
  }

  get #shown(): string {
    return `--from-typesense ${new URL(this.#url).origin}`
  }

  #failure(error: unknown, call: string): unknown {
    return error instanceof OutboundError
      ? new ForeignError(`${this.#shown}: ${call} failed: ${error.message}`, { cause: error })
      : error
  }
}
