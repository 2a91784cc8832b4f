/** Judgments: which documents are good answers to a query. Read and written as CSV with the columns query, id, grade. */
import { CsvError, parse } from 'csv-parse/browser/esm/sync'
import { cut, plural } from '../parts/text.ts'

export interface Judgment {
  readonly query: string
  readonly id: string
  /** 0: not relevant. */
  readonly grade: number
}

export interface JudgedQuery {
  readonly query: string
  readonly grades: ReadonlyMap<string, number>
}

/** Largest file in bytes, and most judged queries. `siftd judge` has no limit for queries. */
export const FILE_BYTES_MAX = 4_000_000
export const QUERIES_MAX = 2_000
const GRADE_MAX = 10
const SHOWN_CHARS_MAX = 60

/** @throws Error that names the first wrong line and value */
export function readJudgments(text: string): readonly Judgment[] {
  const [header, ...rows] = records(text)
  if (header === undefined) throw new Error('The file is empty. Its first line must be “query,id,grade”.')
  const [query = -1, id = -1, grade = -1] = ['query', 'id', 'grade'].map((name) =>
    header.record.indexOf(name),
  )
  if (query === -1 || id === -1 || grade === -1)
    throw new Error(
      `Line 1 is “${shown(header.record.join(','))}”. It must have the columns query, id and grade.`,
    )
  const lines = new Map<string, number>()
  const judgments = rows.map(({ record, line }): Judgment => {
    const [text = '', document = '', given = ''] = [record[query], record[id], record[grade]]
    const refuse = (reason: string): never => {
      throw new Error(`Line ${line}: ${reason}`)
    }
    if (text === '') refuse('the query is empty.')
    if (document === '') refuse('the id is empty.')
    if (given === '') refuse('the grade is missing.')
    if (!/^\d+(\.\d+)?$/.test(given) || Number(given) > GRADE_MAX)
      refuse(`the grade “${shown(given)}” is not a number from 0 (not relevant) to ${GRADE_MAX}.`)
    const pair = JSON.stringify([text, document])
    const before = lines.get(pair)
    if (before !== undefined)
      refuse(`query “${shown(text)}” and id “${shown(document)}” are also on line ${before}.`)
    lines.set(pair, line)
    return { query: text, id: document, grade: Number(given) }
  })
  if (judgments.length === 0) throw new Error('The file has no judgments after its first line.')
  return judgments
}

/**
 * Groups judgments by query, without queries that have no relevant document.
 * @throws Error for too many queries
 */
export function queriesOf(judgments: readonly Judgment[]): readonly JudgedQuery[] {
  const queries = new Map<string, Map<string, number>>()
  for (const { query, id, grade } of judgments)
    queries.set(query, (queries.get(query) ?? new Map<string, number>()).set(id, grade))
  const judged = [...queries]
    .filter(([, grades]) => [...grades.values()].some((grade) => grade > 0))
    .map(([query, grades]) => ({ query, grades }))
  if (judged.length > QUERIES_MAX)
    throw new Error(
      `The page runs at most ${plural(QUERIES_MAX, 'query', 'queries')}. Run “siftd judge” on the file.`,
    )
  return judged
}

export const csvOf = (judgments: readonly Judgment[]): string =>
  [
    'query,id,grade',
    ...judgments.map(({ query, id, grade }) => `${cell(query)},${cell(id)},${grade}`),
    '',
  ].join('\n')

const cell = (text: string): string =>
  /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

const shown = (text: string): string => cut(text, SHOWN_CHARS_MAX)

function records(text: string): readonly { readonly record: readonly string[]; readonly line: number }[] {
  try {
    const found = parse(text, {
      bom: true,
      info: true,
      trim: true,
      skip_empty_lines: true,
      relax_column_count: true,
    }) as unknown as readonly { readonly record: string[]; readonly info: { readonly lines: number } }[]
    return found.map(({ record, info }) => ({ record, line: info.lines }))
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    throw new Error(`The file is not CSV: ${error.message}`)
  }
}
