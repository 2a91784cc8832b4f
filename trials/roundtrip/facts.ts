/** Reads the content of an instance as texts, for comparison with a copy. */
import { createHash } from 'node:crypto'
import type { Search } from './corpus.js'
import type { Instance } from './instance.js'

/** Content of an instance, each part as a list of texts. */
export interface Facts {
  readonly answers: readonly string[]
  /** Ids found by approximate searches. */
  readonly approximate: readonly (readonly unknown[])[]
  /** For each index, its uid and a checksum of its documents with vectors, in order. */
  readonly documents: readonly string[]
  readonly settings: readonly string[]
  readonly indexes: readonly string[]
  readonly rules: readonly string[]
  readonly tasks: readonly string[]
  readonly batches: readonly string[]
  readonly keys: readonly string[]
  readonly webhooks: readonly string[]
  readonly features: readonly string[]
}

const PAGE = 1_000

type Entry = Readonly<Record<string, unknown>>
interface List {
  readonly results: readonly Entry[]
  readonly total: number
  readonly next?: number | null
}

export async function factsOf(instance: Instance, searches: readonly Search[]): Promise<Facts> {
  const { json } = instance
  const indexes = await listed(instance, '/indexes')
  const uids = indexes.map(({ uid }) => String(uid)).sort()
  const documents: string[] = []
  const settings: string[] = []
  for (const uid of uids) {
    documents.push(`${uid} ${await checksumOf(instance, uid)}`)
    settings.push(`${uid} ${JSON.stringify(await json('GET', `/indexes/${uid}/settings`))}`)
  }
  const exact = searches.filter(({ isApproximate }) => !isApproximate)
  const rules = await json<List>('POST', '/dynamic-search-rules', { limit: PAGE })
  const webhooks = await json<List>('GET', '/webhooks')
  return {
    answers: await Promise.all(exact.map((search) => answerOf(instance, search))),
    approximate: await Promise.all(
      searches.filter(({ isApproximate }) => isApproximate).map((search) => idsOf(instance, search)),
    ),
    documents,
    settings,
    indexes: indexes.map(({ updatedAt: _date, ...index }) => JSON.stringify(index)).sort(),
    rules: rules.results.map(({ lastUpdatedAt: _date, ...rule }) => JSON.stringify(rule)).sort(),
    tasks: (await history(instance, '/tasks')).map((task) => JSON.stringify(task)),
    batches: (await history(instance, '/batches')).map((batch) => JSON.stringify(batch)),
    keys: (await listed(instance, '/keys'))
      .map(({ updatedAt: _updated, createdAt: _created, ...key }) => JSON.stringify(key))
      .sort(),
    webhooks: webhooks.results.map(({ uuid: _uuid, ...webhook }) => JSON.stringify(webhook)).sort(),
    features: [JSON.stringify(await json('GET', '/experimental-features'))],
  }
}

/** Returns the answer without its duration and request id. */
async function answerOf({ json }: Instance, { index, body }: Search): Promise<string> {
  const answer = await json<Entry>('POST', `/indexes/${index}/search`, body)
  const { processingTimeMs: _time, requestUid: _uid, ...rest } = answer
  return JSON.stringify(rest)
}

async function idsOf({ json }: Instance, { index, body }: Search): Promise<readonly unknown[]> {
  const { hits } = await json<{ hits: readonly Entry[] }>('POST', `/indexes/${index}/search`, body)
  return hits.map(({ id }) => id)
}

async function listed({ json }: Instance, path: string): Promise<readonly Entry[]> {
  const all: Entry[] = []
  for (;;) {
    const { results, total } = await json<List>('GET', `${path}?offset=${all.length}&limit=${PAGE}`)
    all.push(...results)
    if (results.length === 0 || all.length >= total) return all
  }
}

/** Lists tasks or batches, oldest first. */
async function history({ json }: Instance, path: string): Promise<readonly Entry[]> {
  const all: Entry[] = []
  for (let from: number | null = 0; from !== null; ) {
    const page: List = await json<List>('GET', `${path}?limit=${PAGE}&reverse=true&from=${from}`)
    all.push(...page.results)
    from = page.next ?? null
  }
  return all
}

async function checksumOf({ text }: Instance, uid: string): Promise<string> {
  const hash = createHash('sha256')
  for (let offset = 0; ; offset += PAGE) {
    const page = await text('POST', `/indexes/${uid}/documents/fetch`, {
      offset,
      limit: PAGE,
      retrieveVectors: true,
    })
    hash.update(page)
    if ((JSON.parse(page) as List).results.length < PAGE) return hash.digest('hex')
  }
}
