/**
 * Compares searches with the tables in `__test__/golden/languages.json`, `pinyin.json` and `korean.json`: a query, a document, and if the
 * query finds it. The rules are those of the reference, also where a reader of the language would expect another answer; `why`
 * says so. Korean is cut by the words of `@siftd/words-ko` that occur in its table; `scripts/table-words.mjs` selects them.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Document, type PartialSettings, TestEngine } from '../../support/engine.js'
import type { TestedEngine } from '../../support/engines.js'
import { testNeeding } from '../../support/test-needing.js'

interface CaseNotes {
  /** The document with its matches marked. */
  readonly highlight?: string
  readonly why?: string
}

type LanguageCase = readonly [query: string, document: string, isFound: boolean, notes?: CaseNotes]

interface LanguageGroup {
  readonly language: string
  /** Locales of the documents; detected if absent. */
  readonly locales?: readonly string[]
  readonly stopWords?: readonly string[]
  readonly stopWordLists?: readonly string[]
  readonly pinyin?: boolean
  readonly cases?: readonly LanguageCase[]
  /** Documents in the order in which the query finds them. */
  readonly orders?: readonly (readonly [query: string, documents: readonly string[]])[]
  /** Words that are found by each of their beginnings. */
  readonly prefixes?: readonly string[]
}

// Compiled tests are in dist/, the cases next to the sources.
const folder = join(dirname(fileURLToPath(import.meta.url)), '../../../../__test__')
const read = (name: string): readonly LanguageGroup[] =>
  JSON.parse(readFileSync(join(folder, 'golden', name), 'utf8'))

const tables = [
  { title: 'the table of languages', groups: read('languages.json'), dictionaries: [] },
  { title: 'the table of pinyin', groups: read('pinyin.json'), dictionaries: [] },
  {
    title: 'the table of Korean',
    groups: read('korean.json'),
    dictionaries: [join(folder, 'support', 'words', 'table-ko.bin')],
  },
]

interface TextDocument extends Document {
  readonly id: number
  readonly text: string
}

async function fill(
  engine: TestEngine,
  index: string,
  { locales, stopWords = [], stopWordLists = [], pinyin = false }: LanguageGroup,
  documents: readonly TextDocument[],
): Promise<void> {
  const localizedAttributes = locales === undefined ? null : [{ attributePatterns: ['*'], locales }]
  const settings: PartialSettings = {
    searchCutoffMs: 600_000,
    searchableAttributes: ['text'],
    filterableAttributes: ['id'],
    localizedAttributes,
    stopWords,
    stopWordLists,
    pinyin,
  }
  await engine.configure(index, settings)
  await engine.outcome(index, await engine.upload(documents, { primaryKey: 'id' }))
}

/** Each document of a group has the number of its case as id. */
async function answered(engine: TestEngine, index: string, group: LanguageGroup): Promise<unknown> {
  const cases = group.cases ?? []
  await fill(
    engine,
    index,
    group,
    cases.map(([, text], id) => ({ id, text })),
  )
  const answers = cases.map(async ([q, text, , notes], id) => {
    const { hits } = await engine.search(index, {
      q,
      matchingStrategy: 'all',
      filter: `id = ${id}`,
      attributesToHighlight: ['text'],
    })
    const [hit] = hits
    const found = [q, text, hit !== undefined]
    if (notes === undefined) return found
    if (notes.highlight === undefined) return [...found, notes]
    const { text: highlight } = (hit?._formatted ?? {}) as { text?: string }
    return [...found, { ...notes, highlight }]
  })
  return Promise.all(answers)
}

async function ordered(engine: TestEngine, index: string, group: LanguageGroup): Promise<unknown> {
  const orders: [string, unknown][] = []
  for (const [at, [q, texts]] of (group.orders ?? []).entries()) {
    const uid = `${index}-order-${at}`
    // Documents that are equal to all rules come by ascending id.
    await fill(
      engine,
      uid,
      group,
      texts.toReversed().map((text, id) => ({ id, text })),
    )
    const { hits } = await engine.search(uid, { q, matchingStrategy: 'all' })
    orders.push([q, hits.map(({ text }) => text)])
  }
  return orders
}

/** Beginnings of words that do not find them. */
async function unfound(
  engine: TestEngine,
  index: string,
  group: LanguageGroup,
  words: readonly string[],
): Promise<readonly string[]> {
  const documents = words.map((text, id) => ({ id, text }))
  await fill(engine, index, group, documents)
  const missed: string[] = []
  for (const { id, text } of documents)
    for (let length = 1; length <= text.length; length++) {
      const q = text.slice(0, length)
      const { hits } = await engine.search(index, { q, matchingStrategy: 'all', filter: `id = ${id}` })
      if (hits.length === 0) missed.push(q)
    }
  return missed
}

export function languages({ name, openWith, needs }: TestedEngine): void {
  for (const { title, groups, dictionaries } of tables)
    testNeeding(needs)(`${name}: ${title}`, async (t) => {
      const engine = await TestEngine.start(t, openWith(dictionaries))
      for (const [at, group] of groups.entries()) {
        const index = `language-${at}`
        if (group.cases !== undefined)
          t.deepEqual(await answered(engine, index, group), group.cases, group.language)
        if (group.orders !== undefined)
          t.deepEqual(await ordered(engine, index, group), group.orders, group.language)
        if (group.prefixes !== undefined)
          t.deepEqual(await unfound(engine, index, group, group.prefixes), [], group.language)
      }
    })
}
