/** Here is an unpacked archive: what does one of its entries say? */
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import type { Unpacked } from './archive-reader.js'
import { DumpError } from './dump-error.js'
import { LINE_BYTES_MAX, WHOLE_ENTRY_BYTES_MAX } from './limits.js'

/** Everything of an unpacked archive that is read. */
const known = [
  /^(metadata\.json|instance_uid\.uuid|keys\.jsonl|experimental-features\.json|network\.json|webhooks\.json)$/,
  /^(tasks|batches)\/queue\.jsonl$/,
  /^tasks\/update_files\/\d{1,10}\.jsonl$/,
  /^indexes\/[^/]+\/(metadata\.json|settings\.json|embedders\.json|documents\.jsonl)$/,
]

/** Whether an entry is one of a dump. */
export const isKnown = (path: string): boolean => known.some((form) => form.test(path))

/** The bytes of an entry, null if there is none. @throws DumpError for one that is too long */
export async function bytesOf(unpacked: Unpacked, path: string): Promise<Buffer | null> {
  const file = unpacked.get(path)
  if (file === undefined) return null
  const { size } = await stat(file)
  if (size > WHOLE_ENTRY_BYTES_MAX)
    throw new DumpError(`${path} has ${size} bytes, more than the ${WHOLE_ENTRY_BYTES_MAX} that are possible`)
  return readFile(file)
}

/** An entry as JSON, undefined if there is none. */
export async function jsonOf(unpacked: Unpacked, path: string): Promise<unknown> {
  const bytes = await bytesOf(unpacked, path)
  return bytes === null ? undefined : parsed(bytes.toString(), path)
}

/** An entry that must be there. */
export async function requiredJsonOf(unpacked: Unpacked, path: string): Promise<unknown> {
  const value = await jsonOf(unpacked, path)
  if (value === undefined) throw new DumpError(`it has no ${path}`)
  return value
}

/** The lines of an entry as JSON, each with its place for messages. Empty if there is no such entry. */
export async function* linesOf(
  unpacked: Unpacked,
  path: string,
): AsyncGenerator<{ readonly value: unknown; readonly at: string }> {
  const file = unpacked.get(path)
  if (file === undefined) return
  let number = 0
  let pieces: Buffer[] = []
  let bytes = 0
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      pieces.push(chunk.subarray(start, end))
      yield* line()
      start = end + 1
    }
    pieces.push(chunk.subarray(start))
    bytes += chunk.length - start
    if (bytes > LINE_BYTES_MAX) throw new DumpError(`${path} has a line of more than ${LINE_BYTES_MAX} bytes`)
  }
  yield* line()

  function* line() {
    number++
    const text = Buffer.concat(pieces).toString()
    pieces = []
    bytes = 0
    const at = `${path}:${number}`
    if (text.trim() !== '') yield { value: parsed(text, at), at }
  }
}

function parsed(text: string, at: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new DumpError(`${at} is no JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}
