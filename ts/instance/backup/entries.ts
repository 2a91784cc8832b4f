/** Reads entries of an unpacked archive. */
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { isWithin } from '../../parse/index.js'
import { ArchiveError } from './archive-error.js'
import type { Unpacked } from './archive-reader.js'
import { ENTRY_BYTES_MAX, ENTRY_JSON, LINE_BYTES_MAX } from './limits.js'

/** Paths of the entries that an import reads. */
const known = [
  /^(metadata\.json|instance_uid\.uuid|keys\.jsonl|experimental-features\.json|network\.json|webhooks\.json)$/,
  /^(tasks|batches)\/queue\.jsonl$/,
  /^chat-completions-settings\/[A-Za-z0-9_-]{1,400}\.json$/,
  /^tasks\/update_files\/\d{1,10}\.jsonl$/,
  /^indexes\/[^/]+\/(metadata\.json|settings\.json|embedders\.json|documents\.jsonl)$/,
]

/** Returns true if an import reads the entry. */
export const isKnown = (path: string): boolean => known.some((form) => form.test(path))

/** Returns the bytes of an entry; null if the archive lacks it. @throws ArchiveError if it is too long */
export async function bytesOf(unpacked: Unpacked, path: string): Promise<Buffer | null> {
  const file = unpacked.get(path)
  if (file === undefined) return null
  const { size } = await stat(file)
  if (size > ENTRY_BYTES_MAX)
    throw new ArchiveError(`${path} has ${size} bytes, the maximum is ${ENTRY_BYTES_MAX}`)
  return readFile(file)
}

/** Returns an entry as JSON; undefined if the archive lacks it. */
export async function jsonOf(unpacked: Unpacked, path: string): Promise<unknown> {
  const bytes = await bytesOf(unpacked, path)
  return bytes === null ? undefined : parsed(bytes, path)
}

/** Returns a required entry as JSON. @throws ArchiveError if the archive lacks it */
export async function requiredJsonOf(unpacked: Unpacked, path: string): Promise<unknown> {
  const value = await jsonOf(unpacked, path)
  if (value === undefined) throw new ArchiveError(`it has no ${path}`)
  return value
}

/**
 * Yields the lines of an entry as JSON, each with its position for messages. Yields nothing if the archive lacks the
 * entry.
 */
export async function* linesOf(
  unpacked: Unpacked,
  path: string,
): AsyncGenerator<{ readonly value: unknown; readonly at: string }> {
  const file = unpacked.get(path)
  if (file === undefined) return
  let number = 0
  let parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end))
      yield* line()
      start = end + 1
    }
    parts.push(chunk.subarray(start))
    bytes += chunk.length - start
    if (bytes > LINE_BYTES_MAX)
      throw new ArchiveError(`${path} has a line of more than ${LINE_BYTES_MAX} bytes`)
  }
  yield* line()

  function* line() {
    number++
    const line = Buffer.concat(parts)
    parts = []
    bytes = 0
    const at = `${path}:${number}`
    if (!isBlank(line)) yield { value: parsed(line, at), at }
  }
}

const isBlank = (line: Buffer): boolean => line.length < 8 && line.toString().trim() === ''

function parsed(json: Buffer, at: string): unknown {
  if (!isWithin(json, ENTRY_JSON))
    throw new ArchiveError(
      `${at} is nested deeper than ${ENTRY_JSON.depthMax} levels, or has more than ${ENTRY_JSON.valuesMax} values`,
    )
  try {
    return JSON.parse(json.toString())
  } catch (error) {
    throw new ArchiveError(`${at} is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}
