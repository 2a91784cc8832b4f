/**
 * Compares searches in many languages with the table in `__test__/golden/languages.json`: a query, a document, and whether
 * the query finds it. The rules are those of the reference, also where a reader of the language would expect another answer.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TestEngine } from '../../support/engine.js'
import type { TestedEngine } from '../../support/engines.js'
import { testNeeding } from '../../support/test-needing.js'

interface LanguageGroup {
  readonly language: string
  /** Locales of the documents; detected if absent. */
  readonly locales?: readonly string[]
  readonly cases: readonly (readonly [query: string, document: string, isFound: boolean])[]
}

// Compiled tests are in dist/, the cases next to the sources.
const path = join(dirname(fileURLToPath(import.meta.url)), '../../../../__test__/golden/languages.json')
const groups: readonly LanguageGroup[] = JSON.parse(readFileSync(path, 'utf8'))

/** Each document of a group has the number of its case as id. */
async function answered(engine: TestEngine, index: string, group: LanguageGroup): Promise<unknown> {
  const { locales } = group
  const localizedAttributes = locales === undefined ? null : [{ attributePatterns: ['*'], locales }]
  await engine.configure(index, {
    searchCutoffMs: 600_000,
    searchableAttributes: ['text'],
    filterableAttributes: ['id'],
    localizedAttributes,
  })
  const documents = group.cases.map(([, text], id) => ({ id, text }))
  await engine.outcome(index, await engine.upload(documents, { primaryKey: 'id' }))
  const cases = group.cases.map(async ([q, text], id) => {
    const { hits } = await engine.search(index, { q, matchingStrategy: 'all', filter: `id = ${id}` })
    return [q, text, hits.length > 0]
  })
  return Promise.all(cases)
}

export function languages({ name, open, needs }: TestedEngine): void {
  testNeeding(needs)(`${name}: the table of languages`, async (t) => {
    const engine = await TestEngine.start(t, open)
    for (const [at, group] of groups.entries())
      t.deepEqual(await answered(engine, `language-${at}`, group), group.cases, group.language)
  })
}
