/** docs/search-parameters.md names every parameter of the search routes. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { similarFields } from '../../ts/operations/index.js'
import {
  facetSearchFields,
  multiSearchQueryFields,
  searchFields,
  searchParameters,
} from '../../ts/operations/requests/search-fields.js'
import { inlineCode, root } from './markdown.js'

const text = readFileSync(join(root, 'docs/search-parameters.md'), 'utf8')

/** Names in the first column of the tables below a heading. */
const rowsBelow = (heading: string): ReadonlySet<string> => {
  const section = text.split(/^## /m).find((part) => part.startsWith(heading)) ?? ''
  const cells = section.split('\n').flatMap((line) => (line.startsWith('|') ? [line.split('|')[1]!] : []))
  return new Set(cells.flatMap((cell) => inlineCode(cell).map(({ code }) => code)))
}

const searchSections = ['The query', 'Which documents', 'The order of hits', 'Pages', 'What an answer shows']
const inSearches = new Set(searchSections.flatMap((heading) => [...rowsBelow(heading)]))

const missing = (fields: object, rows: ReadonlySet<string>): readonly string[] =>
  Object.keys(fields).filter((name) => !rows.has(name))

test('docs/search-parameters.md has a row for each parameter, and no other rows', (t) => {
  t.deepEqual(missing(searchFields, inSearches), [])
  t.deepEqual(
    [...inSearches].filter((name) => !(name in searchFields)),
    [],
  )
  t.deepEqual(
    missing(searchParameters, new Set([...inSearches, ...rowsBelow('Names in a query string')])),
    [],
  )
  t.deepEqual(missing(multiSearchQueryFields, inSearches), [])
  t.deepEqual(missing(facetSearchFields, rowsBelow('Facet search')), [])
  t.deepEqual(missing(similarFields, rowsBelow('Similar documents')), [])
})
