/**
 * Parses uploaded bodies into documents.
 *
 * Bodies are read in chunks and split into documents, so memory is bounded by the largest document.
 * Source: documents §3.6–3.9.
 */
import { createReadStream } from 'node:fs'
import { type CastingContext, parse as csvParser, type Info } from 'csv-parse'
import { isDecimal, type Slice, SplitError, shortInteger, ValueSplitter } from '../../../parse/index.js'
import type { Failure, Payload, PayloadReport } from '../../batches.js'
import { type Json, JsonError, JsonNumber, type JsonObject, numberFrom, parseJson } from '../store/json.js'

/** A body that cannot be parsed; `failure` is reported to the client. */
export class PayloadError extends Error {
  readonly failure: Failure
  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

const READ_BYTES = 256 * 1024

const malformed = (format: Payload['format'], reason: string, position: string): PayloadError =>
  new PayloadError({
    code: 'malformed_payload',
    message: `the \`${format}\` payload is malformed: ${reason} ${position}`,
  })

/** Yields all documents of a body in order. @throws PayloadError at the first error */
export async function* documentsOf(payload: Payload): AsyncGenerator<JsonObject> {
  if (payload.format === 'csv') yield* csvDocuments(payload)
  else yield* jsonDocuments(payload)
}

/** Counts documents up to the first error. `pause` is awaited between documents. */
export async function inspectPayload(payload: Payload, pause: () => Promise<void>): Promise<PayloadReport> {
  let documents = 0
  try {
    for await (const _ of documentsOf(payload)) {
      documents++
      await pause()
    }
    return { documents }
  } catch (error) {
    if (!(error instanceof PayloadError)) throw error
    return { documents, error: error.failure }
  }
}

/** Bytes of a body, in chunks. */
const chunksOf = (payload: Payload): AsyncIterable<Buffer> | readonly Buffer[] =>
  'text' in payload
    ? payload.text === ''
      ? []
      : [Buffer.from(payload.text)]
    : createReadStream(payload.path, { highWaterMark: READ_BYTES })

const missing = (format: Payload['format']): PayloadError =>
  new PayloadError({
    code: 'missing_payload',
    message: `a \`${format}\` payload is missing: the body is empty`,
  })

// ——— JSON and NDJSON ———

async function* jsonDocuments(payload: Payload): AsyncGenerator<JsonObject> {
  const format = payload.format as 'json' | 'ndjson'
  const splitter = new ValueSplitter(format)
  let bytes = 0
  try {
    for await (const chunk of chunksOf(payload)) {
      bytes += chunk.length
      for (const slice of splitter.feed(chunk)) yield documentFrom(slice, format)
    }
    if (bytes === 0) throw missing(format)
    for (const slice of splitter.finish()) yield documentFrom(slice, format)
  } catch (error) {
    if (!(error instanceof SplitError)) throw error
    throw malformed(format, error.reason, `at line ${error.at.line} column ${error.at.column}`)
  }
}

function documentFrom({ bytes, at }: Slice, format: 'json' | 'ndjson'): JsonObject {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw malformed(format, 'invalid UTF-8', `at line ${at.line} column ${at.column}`)
  }
  let value: Json
  try {
    value = parseJson(text)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    const before = text.slice(0, error.offset)
    const lines = before.split('\n')
    const line = at.line + lines.length - 1
    const column = Buffer.byteLength(lines.at(-1)!) + (lines.length === 1 ? at.column : 1)
    throw malformed(format, error.reason, `at line ${line} column ${column}`)
  }
  if (value instanceof Map) return value
  const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${scalarKind(value)}`
  throw malformed(format, `expected an object, found ${kind}`, `at line ${at.line} column ${at.column}`)
}

const scalarKind = (value: Json): string =>
  value instanceof JsonNumber ? 'number' : typeof value === 'string' ? 'string' : 'boolean'

// ——— CSV ———

type CellType = 'string' | 'number' | 'boolean'

interface CsvColumn {
  readonly name: string
  readonly type: CellType
}

/** A record of csv-parse with its `info` option. */
interface CsvRecord {
  readonly record: readonly string[]
  readonly info: Info & CastingContext
}

function columnOf(header: string): CsvColumn {
  const colon = header.lastIndexOf(':')
  const type = header.slice(colon + 1)
  return colon >= 0 && (type === 'string' || type === 'number' || type === 'boolean')
    ? { name: header.slice(0, colon), type }
    : { name: header, type: 'string' }
}

/** Decoded text of the body. An unclosed quote is closed at the end, as users of the format expect. */
async function* csvText(payload: Payload): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let open = false
  let bytes = 0
  const decoded = (chunk?: Buffer): string => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true })
    } catch {
      throw malformed('csv', 'invalid UTF-8', `near byte ${bytes}`)
    }
  }
  for await (const chunk of chunksOf(payload)) {
    const text = decoded(chunk)
    bytes += chunk.length
    for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) open = !open
    yield text
  }
  if (bytes === 0) throw missing('csv')
  yield decoded() + (open ? '"' : '')
}

async function* csvDocuments(payload: Payload): AsyncGenerator<JsonObject> {
  const parser = csvParser({
    delimiter: payload.csvDelimiter ?? ',',
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
  })
  const feeding = feed(parser, payload)
  let columns: readonly CsvColumn[] | null = null
  let row = 0
  try {
    for await (const item of parser) {
      const { record, info } = item as CsvRecord
      if (columns === null) {
        columns = record.map(columnOf)
        continue
      }
      row++
      if (record.length !== columns.length)
        throw malformed(
          'csv',
          `found record with ${record.length} fields, but the header has ${columns.length}`,
          `at record ${row}, line ${info.lines}, byte ${info.bytes}`,
        )
      const document: JsonObject = new Map()
      for (const [at, column] of columns.entries()) document.set(column.name, cell(record[at]!, column, row))
      yield document
    }
    await feeding
  } catch (error) {
    parser.destroy()
    await feeding.catch(() => undefined)
    if (error instanceof PayloadError || !(error instanceof Error) || !('code' in error)) throw error
    if (!String(error.code).startsWith('CSV_')) throw error
    throw malformed('csv', error.message, `at record ${row + 1}`)
  }
}

async function feed(parser: ReturnType<typeof csvParser>, payload: Payload): Promise<void> {
  try {
    for await (const text of csvText(payload)) {
      if (parser.destroyed) return
      if (!parser.write(text))
        await new Promise<void>((resolve) => {
          parser.once('drain', resolve)
          parser.once('close', resolve)
        })
    }
    parser.end()
  } catch (error) {
    parser.destroy(error as Error)
  }
}

function cell(text: string, { name, type }: CsvColumn, row: number): Json {
  if (type === 'string') return text === '' ? null : text
  const trimmed = text.trim()
  if (trimmed === '') return null
  if (type === 'boolean' && (trimmed === 'true' || trimmed === 'false')) return trimmed === 'true'
  if (type === 'number') {
    if (/^[+-]?(nan|inf|infinity)$/i.test(trimmed)) return null
    if (isDecimal(trimmed)) return csvNumber(trimmed)
  }
  throw malformed('csv', `cannot read \`${text}\` of column \`${name}\` as a ${type}`, `at line ${row}`)
}

/** 64-bit signed integers stay integers, everything else becomes a double. */
function csvNumber(text: string): Json {
  const integer = shortInteger(text)
  if (integer !== null && BigInt.asIntN(64, integer) === integer)
    return new JsonNumber(integer.toString(), Number(integer))
  const value = Number(text)
  if (!Number.isFinite(value)) return null
  return numberFrom(integer === null ? exponentForm(value) : integer.toString())
}

/** A literal that `numberFrom` parses as a double even without a fraction. */
const exponentForm = (value: number): string => value.toExponential()
