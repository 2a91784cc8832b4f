/** Reads the documents of a file or of the standard input, byte for byte. */
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { basename } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { parse as csvParser } from 'csv-parse'
import { LaunchError } from '../../../launch/index.js'
import { SplitError, ValueSplitter } from '../../../parse/index.js'
import { DOCUMENT_BYTES_MAX, READ_BYTES } from './limits.js'

export const formats = ['ndjson', 'json', 'csv'] as const
export type Format = (typeof formats)[number]

const BYTE_ORDER_MARK = Buffer.from('\uFEFF')

/** An input, and facts that do not need its content. */
export interface Input {
  /** `-` is the standard input. */
  readonly path: string
  /** Name for messages. */
  readonly name: string
  /** Size; null: unknown, as for a pipe. */
  readonly bytes: number | null
  /** Changes if the file changes; null: the input can be read only once. */
  readonly identity: string | null
}

/** The documents of an input. */
export interface Source {
  readonly format: Format
  /** The first line of CSV; empty for JSON. */
  readonly header: Buffer
  /** Delimiter of CSV cells; null for a comma, and for JSON. */
  readonly csvDelimiter: string | null
  /** Yields the bytes of each document as in the input. @throws LaunchError if the input is damaged */
  documents(): AsyncIterable<Buffer>
  /** Bytes of the input read so far, before decompression. */
  readBytes(): number
}

export interface SourceOptions {
  /** null: detected by the name or the first bytes. */
  readonly format: Format | null
  readonly csvDelimiter: string | null
}

/** @throws LaunchError with exit code 2 if the file does not exist */
export async function describeInput(path: string): Promise<Input> {
  if (path === '-') return { path, name: 'the standard input', bytes: null, identity: null }
  let file: FileHandle | null = null
  try {
    file = await open(path)
    const found = await file.stat()
    if (found.isDirectory()) throw new LaunchError(`${path} is a directory; name the files in it`, 2)
    const isFile = found.isFile()
    return {
      path,
      name: basename(path),
      bytes: isFile ? found.size : null,
      identity: isFile ? `${found.size} ${found.mtimeMs}` : null,
    }
  } catch (error) {
    if (error instanceof LaunchError) throw error
    throw new LaunchError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`, 2)
  } finally {
    await file?.close()
  }
}

/** Opens an input. It is read while its documents are consumed. */
export async function openSource({ path, name }: Input, options: SourceOptions): Promise<Source> {
  const raw = path === '-' ? process.stdin : createReadStream(path, { highWaterMark: READ_BYTES })
  let readBytes = 0
  const counted = new PassThrough({
    highWaterMark: READ_BYTES,
    transform(chunk: Buffer, _encoding, done) {
      readBytes += chunk.length
      done(null, chunk)
    },
  })
  // Errors of `raw` reach the reader through `counted`.
  pipeline(raw, counted).catch(() => undefined)
  const text = await uncompressed(counted, name)
  const start = await withoutMark(text, name)
  const format = options.format ?? formatOf(path, start)
  const delimiter = options.csvDelimiter ?? (/\.tsv(\.gz)?$/i.test(path) ? '\t' : ',')
  if (format !== 'csv') {
    const documents = () => jsonDocuments(text, format, name)
    return { format, header: Buffer.alloc(0), csvDelimiter: null, documents, readBytes: () => readBytes }
  }
  const records = csvRecords(text, delimiter, name)
  const first = await records.next()
  const header = first.done ? Buffer.alloc(0) : first.value
  const csvDelimiter = delimiter === ',' ? null : delimiter
  return { format, header, csvDelimiter, documents: () => records, readBytes: () => readBytes }
}

/** Decompresses a stream if it is compressed with gzip. */
async function uncompressed(stream: Readable, name: string): Promise<Readable> {
  const start = await startOf(stream, name)
  if (start[0] !== 0x1f || start[1] !== 0x8b) return stream
  const unpacked = createGunzip({ chunkSize: READ_BYTES })
  pipeline(stream, unpacked).catch(() => undefined)
  return unpacked
}

/** Returns the first bytes of a stream without consuming them. */
async function startOf(stream: Readable, name: string): Promise<Buffer> {
  try {
    for (;;) {
      const chunk = stream.read() as Buffer | null
      if (chunk !== null) {
        stream.unshift(chunk)
        return chunk
      }
      if (stream.readableEnded || stream.destroyed) return Buffer.alloc(0)
      await new Promise<void>((resolve, reject) => {
        stream.once('readable', resolve).once('end', resolve).once('error', reject)
      })
    }
  } catch (error) {
    throw unreadable(error, name)
  }
}

/** Skips the byte order mark that some programs write. Returns the first bytes after it, as `startOf`. */
async function withoutMark(stream: Readable, name: string): Promise<Buffer> {
  const start = await startOf(stream, name)
  if (!start.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) return start
  stream.read(BYTE_ORDER_MARK.length)
  return start.subarray(BYTE_ORDER_MARK.length)
}

function formatOf(path: string, start: Buffer): Format {
  const [, ending] = /\.(ndjson|jsonl|csv|tsv)(?:\.gz)?$/i.exec(path) ?? []
  if (ending !== undefined) return /^[ct]sv$/i.test(ending) ? 'csv' : 'ndjson'
  const [first = ''] = start.toString('latin1').trimStart()
  if (first === '[') return 'json'
  return first === '{' || first === '' ? 'ndjson' : 'csv'
}

async function* jsonDocuments(
  text: Readable,
  format: 'json' | 'ndjson',
  name: string,
): AsyncGenerator<Buffer> {
  const splitter = new ValueSplitter(format)
  let documents = 0
  try {
    for await (const chunk of text) {
      for (const { bytes } of splitter.feed(chunk as Buffer)) {
        documents++
        yield bytes
      }
      if (splitter.openBytes > DOCUMENT_BYTES_MAX) throw tooLong(name, documents)
    }
    for (const { bytes } of splitter.finish()) yield bytes
  } catch (error) {
    throw unreadable(error, name)
  }
}

/** Yields the raw records of CSV, the header first. */
async function* csvRecords(text: Readable, delimiter: string, name: string): AsyncGenerator<Buffer> {
  const parser = csvParser({
    delimiter,
    raw: true,
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: DOCUMENT_BYTES_MAX,
  })
  pipeline(text, parser).catch(() => undefined)
  try {
    for await (const { raw } of parser as AsyncIterable<{ readonly raw: string }>)
      yield Buffer.from(raw.endsWith('\n') || raw.endsWith('\r') ? raw : `${raw}\n`)
  } catch (error) {
    throw unreadable(error, name)
  }
}

const tooLong = (name: string, before: number): LaunchError =>
  new LaunchError(`${name}: document ${before + 1} has more than ${DOCUMENT_BYTES_MAX} bytes`, 1)

function unreadable(error: unknown, name: string): unknown {
  if (error instanceof LaunchError || !(error instanceof Error)) return error
  if (error instanceof SplitError) return new LaunchError(`${name} is damaged: ${error.message}`, 1)
  const { code = '' } = error as NodeJS.ErrnoException
  const isAboutInput = /^(E[A-Z]+|Z_.*|CSV_.*|ERR_STREAM_PREMATURE_CLOSE)$/.test(code)
  return isAboutInput ? new LaunchError(`${name} cannot be read to its end: ${error.message}`, 1) : error
}
