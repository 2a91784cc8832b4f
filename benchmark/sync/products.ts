/** The table that the benchmark copies, and the searches that compare both copies. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { numbers } from '../../__test__/support/numbers.js'
import { madeWords } from '../made-films.js'

export const UID = 'products'

export const schema = `create table products (
  id bigint primary key, name text not null, description text not null, category text not null,
  price numeric(10,2) not null, tags text[] not null, attributes jsonb not null, changed_at timestamptz not null,
  version int not null)`

/** Configuration of the sync. */
export const mapping = {
  uid: UID,
  table: 'products',
  fields: {
    ...{ id: 'id', name: 'name', description: 'description', category: 'category', price: 'price' },
    ...{ tags: 'tags', attributes: 'attributes', version: 'version' },
    changed: { column: 'changed_at', as: 'unix_ms' },
  },
}

export const settings = {
  searchableAttributes: ['name', 'description', 'category', 'tags'],
  filterableAttributes: ['category', 'price', 'tags'],
  sortableAttributes: ['price', 'changed'],
  // Orders equal hits: the copies add documents in different orders.
  rankingRules: ['words', 'typo', 'proximity', 'attribute', 'sort', 'exactness', 'id:asc'],
}

const CATEGORIES = ['lamps', 'tables', 'chairs', 'curtains', 'carpets', 'shelves', 'mirrors', 'vases']
const COLOURS = ['brass', 'copper', 'oak', 'linen', 'white', 'black', 'walnut', 'steel']

const SEED = 11
/** Characters that are given to `psql` at once. */
const CHUNK_CHARS = 1 << 18

const made = () => madeWords(numbers(SEED))

/** Fills the table, the same every time. @param psql path of the program */
export async function fill(psql: string, url: string, rows: number): Promise<void> {
  const random = numbers(SEED + 1)
  const { pick, text, capital } = made()
  const upTo = (limit: number) => Math.floor(random() * limit)
  const copying = spawn(psql, [url, '-q', '-c', 'copy products from stdin'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const ended = once(copying, 'exit')
  let chunk = ''
  for (let id = 1; id <= rows; id++) {
    const attributes = { colour: pick(COLOURS), weight: upTo(10_000), size: [upTo(200), upTo(200)] }
    const row = [
      ...[id, capital(text(2 + upTo(4))), `${capital(text(1))} ${text(10 + upTo(40))}.`, pick(CATEGORIES)],
      ...[(upTo(1_000_000) / 100).toFixed(2), `{${pick(COLOURS)},${text(1)}}`, JSON.stringify(attributes)],
      ...[new Date(1_700_000_000_000 + upTo(1e11)).toISOString(), 1],
    ]
    chunk += `${row.join('\t')}\n`
    if (chunk.length < CHUNK_CHARS && id < rows) continue
    if (!copying.stdin.write(chunk)) await once(copying.stdin, 'drain')
    chunk = ''
  }
  copying.stdin.end()
  const [code] = (await ended) as [number | null]
  if (code !== 0) throw new Error(`filling the table failed: psql ended with ${code}`)
}

/** Searches that both copies must answer alike. */
export function searches(): readonly object[] {
  const { text, pick } = made()
  return Array.from({ length: 20 }, (_, at) => ({
    q: text(1 + (at % 3)),
    limit: 20,
    attributesToRetrieve: ['*'],
    ...(at % 4 === 1 && { filter: `category = ${pick(CATEGORIES)}` }),
    ...(at % 4 === 2 && { sort: ['price:asc'] }),
    ...(at % 4 === 3 && { facets: ['category', 'tags'], filter: 'price < 5000' }),
  }))
}
