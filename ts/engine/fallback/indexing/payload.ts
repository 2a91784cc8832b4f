/**
 * Parses uploaded bodies into documents.
 *
 * Bodies are read in chunks and split into documents, so memory is bounded by the largest document.
 * Source: documents §3.6–3.9.
 */
import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { isDecimal, type Slice, SplitError, shortInteger, ValueSplitter } from '../../../parse/index.js'
import type { Failure, Payload, PayloadReport } from '../../batches.js'
import { floatText, type Json, JsonError, JsonNumber, type JsonObject, parseJson } from '../store/json.js'
import { type CsvRecord, CsvSplitter } from './csv-splitter.js'

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

const BYTE_ORDER_MARK = Buffer.from('\uFEFF')

function columnOf(header: string): CsvColumn {
  const colon = header.lastIndexOf(':')
  const type = header.slice(colon + 1)
  return colon >= 0 && (type === 'string' || type === 'number' || type === 'boolean')
    ? { name: header.slice(0, colon), type }
    : { name: header, type: 'string' }
}

/** Yields the records of a body, the header first. */
async function* csvRecords(payload: Payload): AsyncGenerator<CsvRecord> {
  const splitter = new CsvSplitter(payload.csvDelimiter ?? ',')
  let bytes = 0
  for await (const chunk of chunksOf(payload)) {
    const isMarked = bytes === 0 && chunk.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    bytes += chunk.length
    yield* splitter.feed(isMarked ? chunk.subarray(BYTE_ORDER_MARK.length) : chunk)
  }
  if (bytes === 0) throw missing('csv')
  yield* splitter.finish()
}

async function* csvDocuments(payload: Payload): AsyncGenerator<JsonObject> {
  let columns: readonly CsvColumn[] | null = null
  let row = 0
  for await (const { cells, line, byte } of csvRecords(payload)) {
    if (columns === null) {
      columns = cells.map((name) => columnOf(csvText(name, 'in the header')))
      continue
    }
    row++
    if (cells.length !== columns.length)
      throw malformed(
        'csv',
        `record ${row} has ${cells.length} cells instead of ${columns.length}`,
        `at line ${line} (byte ${byte})`,
      )
    const document: JsonObject = new Map()
    for (const [at, column] of columns.entries()) {
      const text = csvText(cells[at]!, `in record ${row}, column \`${column.name}\``)
      document.set(column.name, cell(text, column, row))
    }
    yield document
  }
}

/** @param position the place of the cell, for the error */
function csvText(bytes: Buffer, position: string): string {
  if (!isUtf8(bytes)) throw malformed('csv', 'invalid UTF-8', position)
  return bytes.toString()
}

function cell(text: string, { type }: CsvColumn, row: number): Json {
  if (type === 'string') return text === '' ? null : text
  const trimmed = text.trim()
  if (trimmed === '') return null
  if (type === 'boolean' && (trimmed === 'true' || trimmed === 'false')) return trimmed === 'true'
  if (type === 'number') {
    if (/^[+-]?(nan|inf|infinity)$/i.test(trimmed)) return null
    if (isDecimal(trimmed)) return csvNumber(trimmed)
  }
  throw malformed('csv', `Error parsing ${type} "${text}"`, `at line ${row}`)
}

/** 64-bit signed integers stay integers, everything else becomes a double. */
function csvNumber(text: string): Json {
  const integer = shortInteger(text)
  if (integer !== null && BigInt.asIntN(64, integer) === integer)
    return new JsonNumber(integer.toString(), Number(integer))
  const value = Number(text)
  return Number.isFinite(value) ? new JsonNumber(floatText(value), value) : null
}
