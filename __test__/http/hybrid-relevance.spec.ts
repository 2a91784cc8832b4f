/**
 * Hybrid searches whose words are ranked by `relevance`. Rules:
 * 1. The page is the merge of both halves by weighted scores, also if words alone fill it and vectors are not searched.
 * 2. With its best ratio, a hybrid search is not worse than words or vectors alone.
 */
import test from 'ava'
import { ndcg } from '../../ts/judge/index.js'
import { startServer } from '../support/server.js'

const DIMENSIONS = 64
const TOPICS = 10
const ratios = [0.1, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.8]

/** Numbers from 0 to below 1, always the same. */
function numbers(): () => number {
  let state = 3
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

const hashOf = (word: string): number => {
  let hash = 5381
  for (const char of word) hash = (Math.imul(hash, 33) ^ char.charCodeAt(0)) >>> 0
  return hash
}

/** Bag of words: each word adds 1 or −1 to one dimension. */
function vectorOf(text: string): readonly number[] {
  const vector = Array<number>(DIMENSIONS).fill(0)
  for (const word of text.split(' ')) {
    const hash = hashOf(word)
    vector[hash % DIMENSIONS]! += (hash >>> 16) % 2 === 0 ? 1 : -1
  }
  return vector
}

/**
 * Documents of a topic have words of it and of others. Good answers have a word of the query, fair ones the topic. The
 * first document of a topic repeats the query, so that words alone suffice for it.
 */
function world() {
  const random = numbers()
  const wordOf = (topic: number): string => `t${topic}w${Math.floor(random() * 9)}x`
  const anyTopic = (): number => Math.floor(random() * TOPICS)
  const asked = Array.from({ length: TOPICS }, (_, topic) => [wordOf(topic), wordOf(topic), wordOf(topic)])
  const documents = Array.from({ length: 120 }, (_, id) => {
    const repeated = asked[id]
    const words =
      repeated === undefined
        ? Array.from({ length: 9 }, (_word, at) => wordOf(at < 4 ? id % TOPICS : anyTopic()))
        : [...repeated, ...repeated, ...repeated]
    return { id, text: words.join(' '), _vectors: { bag: vectorOf(words.join(' ')) } }
  })
  const queries = asked.map((words, topic) => {
    const relevant = documents.filter(({ id }) => id % TOPICS === topic)
    const isGood = (text: string): boolean => words.some((word) => text.split(' ').includes(word))
    return {
      q: words.join(' '),
      grades: new Map(relevant.map(({ id, text }) => [String(id), isGood(text) ? 2 : 1])),
    }
  })
  return { documents, queries }
}

interface Hits {
  readonly ids: readonly string[]
  readonly scores: readonly number[]
  readonly semanticHitCount: number | undefined
}

/** Merges both halves by weighted scores; hits of vectors win ties. */
function merged(words: Hits, vectors: Hits, ratio: number, limit: number): readonly string[] {
  const weighted = (half: Hits, weight: number) =>
    half.ids.map((id, at) => ({ id, score: half.scores[at]! * weight }))
  const all = [...weighted(vectors, ratio), ...weighted(words, 1 - ratio)].sort((a, b) => b.score - a.score)
  return [...new Set(all.map(({ id }) => id))].slice(0, limit)
}

test('a hybrid search with relevance is the merge of both halves, and not worse than either', async (t) => {
  const server = await startServer(t)
  const { documents, queries } = world()
  const settings = {
    rankingRules: ['relevance'],
    matchingStrategy: 'any',
    searchableAttributes: ['text'],
    typoTolerance: { enabled: false },
    embedders: { bag: { source: 'userProvided', dimensions: DIMENSIONS } },
  }
  await server.settle(t, server.patch('/indexes/i/settings', settings))
  await server.settle(t, server.post('/indexes/i/documents', documents))
  const search = async (q: string, semanticRatio: number, limit: number): Promise<Hits> => {
    const hybrid = { embedder: 'bag', semanticRatio }
    const { body } = await server.post('/indexes/i/search', {
      ...{ q, limit, hybrid, vector: vectorOf(q), showRankingScore: true },
    })
    return {
      ids: body.hits.map(({ id }) => String(id)),
      scores: body.hits.map(({ _rankingScore }) => Number(_rankingScore)),
      semanticHitCount: body.semanticHitCount as number | undefined,
    }
  }
  const sums = new Map<number, number>()
  const add = (ratio: number, { ids }: Hits, grades: ReadonlyMap<string, number>): void =>
    void sums.set(ratio, (sums.get(ratio) ?? 0) + ndcg(ids, grades))
  let [shortcuts, mixed] = [0, 0]
  for (const { q, grades } of queries) {
    const [words, vectors] = [await search(q, 0, 120), await search(q, 1, 120)]
    add(0, words, grades)
    add(1, vectors, grades)
    for (const ratio of ratios)
      for (const limit of [1, 3, 10]) {
        const found = await search(q, ratio, limit)
        t.deepEqual(found.ids, merged(words, vectors, ratio, limit), `${q}, ratio ${ratio}, limit ${limit}`)
        // Vectors are not searched if the weighted scores of a page of words reach 0.45.
        const page = words.scores.slice(0, limit)
        const isShortcut = page.length === limit && page.every((score) => score * (1 - ratio) >= 0.45)
        if (isShortcut) t.is(found.semanticHitCount, 0)
        if (isShortcut) shortcuts++
        if ((found.semanticHitCount ?? 0) > 0 && found.semanticHitCount! < limit) mixed++
        if (limit === 10) add(ratio, found, grades)
      }
  }
  t.true(shortcuts >= 10 && mixed >= 10, `${shortcuts} shortcuts, ${mixed} pages from both halves`)
  const best = Math.max(...ratios.map((ratio) => sums.get(ratio)!))
  const figures = JSON.stringify([...sums])
  t.true(best >= Math.max(sums.get(0)!, sums.get(1)!), figures)
})
