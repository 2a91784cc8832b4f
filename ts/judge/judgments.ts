import { CsvError, type Info, parse } from 'csv-parse/sync'
import { LaunchError } from '../launch/index.js'
import { counted, printable } from '../parse/index.js'
import { GRADE_MAX, JUDGMENT_BYTES_MAX } from './limits.js'

/** A line of a file of judgments. */
export interface Judgment {
  readonly query: string
  readonly id: string
  /** 0: not relevant. */
  readonly grade: number
  /** Line of the file, from 1. */
  readonly line: number
}

/** A query with the grades of its documents, at least one of them above 0. */
export interface JudgedQuery {
  readonly query: string
  readonly grades: ReadonlyMap<string, number>
}

const columns = ['query', 'id', 'grade'] as const
type Column = (typeof columns)[number]

/** Values of a line; undefined: missing. */
type Row = Readonly<Partial<Record<Column, unknown>>> & { readonly line: number }

/** A value that no judgment can have. Its line precedes the message. */
class Mistake extends Error {}

/**
 * Reads judgments: CSV with the columns `query`, `id` and `grade` in any order, or NDJSON with these members. Other
 * columns are ignored. The first character decides: `{` begins NDJSON.
 * @param name of the file for messages
 * @throws LaunchError with exit code 2 that names the first wrong line and value, and the number of other wrong lines
 */
export function readJudgments(text: string, name: string): readonly Judgment[] {
  if (Buffer.byteLength(text) > JUDGMENT_BYTES_MAX)
    throw new LaunchError(`${name} has more than ${JUDGMENT_BYTES_MAX} bytes; judge a part of the queries`, 2)
  const rows = /^\ufeff?\s*\{/.test(text) ? jsonRows(text, name) : csvRows(text, name)
  const judgments: Judgment[] = []
  const mistakes: string[] = []
  const lines = new Map<string, number>()
  for (const row of rows) {
    try {
      const judgment = judgmentOf(row)
      const pair = JSON.stringify([judgment.query, judgment.id])
      const before = lines.get(pair)
      if (before !== undefined)
        throw new Mistake(
          `query \`${shown(judgment.query)}\` and id \`${shown(judgment.id)}\` are also on line ${before}`,
        )
      lines.set(pair, row.line)
      judgments.push(judgment)
    } catch (error) {
      if (!(error instanceof Mistake)) throw error
      mistakes.push(`${name} line ${row.line}: ${error.message}`)
    }
  }
  const others = mistakes.length - 1
  if (mistakes.length > 0)
    throw new LaunchError(
      `${mistakes[0]}${others === 0 ? '' : `; ${counted(others, 'other line')} ${others === 1 ? 'is' : 'are'} wrong too`}`,
      2,
    )
  if (judgments.length === 0)
    throw new LaunchError(`${name} has no judgments; expected lines such as \`space opera,42,3\``, 2)
  return judgments
}

/** Groups judgments by query, in the order of the file. Queries without a relevant document are left out. */
export function queriesOf(judgments: readonly Judgment[]): readonly JudgedQuery[] {
  const queries = new Map<string, Map<string, number>>()
  for (const { query, id, grade } of judgments) {
    const grades = queries.get(query) ?? new Map<string, number>()
    queries.set(query, grades.set(id, grade))
  }
  return [...queries]
    .filter(([, grades]) => [...grades.values()].some((grade) => grade > 0))
    .map(([query, grades]) => ({ query, grades }))
}

/** Returns the judgments of documents that exist. */
export const withoutIds = (
  judgments: readonly Judgment[],
  missing: ReadonlySet<string>,
): readonly Judgment[] => judgments.filter(({ id }) => !missing.has(id))

function judgmentOf({ query, id, grade, line }: Row): Judgment {
  if (typeof query !== 'string' || query.trim() === '') throw new Mistake(textExpected('query', query))
  const idText = typeof id === 'number' ? String(id) : id
  if (typeof idText !== 'string' || idText === '') throw new Mistake(textExpected('id', id))
  return { query, id: idText, grade: gradeOf(grade), line }
}

function textExpected(name: string, value: unknown): string {
  if (value === undefined || value === null) return `the ${name} is missing`
  return `${name} \`${shown(value)}\`: expected a text that is not empty`
}

function gradeOf(grade: unknown): number {
  if (grade === undefined || grade === '') throw new Mistake('the grade is missing')
  const isNumber =
    typeof grade === 'number' || (typeof grade === 'string' && /^[-+]?\d+(\.\d+)?$/.test(grade))
  const value = Number(grade)
  if (isNumber && value >= 0 && value <= GRADE_MAX) return value
  throw new Mistake(
    `grade \`${shown(grade)}\`: expected a number from 0 (not relevant) to ${GRADE_MAX}, usually 0 to 3`,
  )
}

function csvRows(text: string, name: string): readonly Row[] {
  const records = csvRecords(text, name)
  const [header, ...rows] = records
  if (header === undefined)
    throw new LaunchError(`${name} is empty; its first line must be \`query,id,grade\``, 2)
  const places = columns.map((column) => header.record.indexOf(column))
  const missing = columns.filter((_, at) => places[at] === -1)
  if (missing.length > 0)
    throw new LaunchError(
      `${name} line 1: no column \`${missing.join('`, `')}\`, found \`${shown(header.record.join(','))}\`; expected \`query,id,grade\``,
      2,
    )
  // The line of a record with quoted line breaks is its last one.
  return rows.map(({ record, info }) => ({
    line: info.lines,
    ...Object.fromEntries(columns.map((column, at) => [column, record[places[at]!]])),
  }))
}

interface CsvRecord {
  readonly record: readonly string[]
  readonly info: Info
}

function csvRecords(text: string, name: string): readonly CsvRecord[] {
  try {
    return parse(text, {
      bom: true,
      info: true,
      trim: true,
      skip_empty_lines: true,
      relax_column_count: true,
    }) as unknown as CsvRecord[]
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const line = (error as { readonly lines?: unknown }).lines
    throw new LaunchError(`${name} line ${line}: not CSV: ${error.message}`, 2)
  }
}

function jsonRows(text: string, name: string): readonly Row[] {
  const rows: Row[] = []
  for (const [at, line] of text
    .replace(/^\ufeff/, '')
    .split('\n')
    .entries()) {
    if (line.trim() === '') continue
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch (error) {
      throw new LaunchError(`${name} line ${at + 1}: not JSON: ${(error as Error).message}`, 2)
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new LaunchError(`${name} line ${at + 1}: expected an object with query, id and grade`, 2)
    const { query, id, grade } = value as Partial<Record<Column, unknown>>
    rows.push({ query, id, grade, line: at + 1 })
  }
  return rows
}

/** Longest value in a message, in characters. */
const SHOWN_MAX = 80

function shown(value: unknown): string {
  const text = value === undefined ? '' : typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return printable(text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text)
}
