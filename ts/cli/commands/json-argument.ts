/** JSON on the command line, in files and in answers. */
import { readFileSync } from 'node:fs'
import { LaunchError } from '../../launch/index.js'
import { defaultJsonLimits, readJson, toText } from '../../parse/index.js'

export type JsonObject = Readonly<Record<string, unknown>>

/** Parser for an option with a JSON object. It throws a LaunchError with exit code 2. */
export const objectOf =
  (name: string) =>
  (text: string): JsonObject => {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (error) {
      throw new LaunchError(`${name}: not JSON: ${(error as Error).message}`, 2)
    }
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
    throw new LaunchError(`${name}: expected a JSON object`, 2)
  }

/** Reads a JSON object from a file; `-` is the standard input. @throws LaunchError with exit code 2 */
export function objectIn(path: string): JsonObject {
  let text: string
  try {
    text = readFileSync(path === '-' ? process.stdin.fd : path, 'utf8')
  } catch (error) {
    throw new LaunchError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`, 2)
  }
  return objectOf(path)(text)
}

/** Parses an answer. `lines` has the items of a list as JSON, with numbers exactly as in the answer. */
export function jsonOf<T>(
  bytes: Buffer,
  list: string,
): { readonly answer: T; readonly lines: readonly string[] } {
  const node = readJson(bytes, { ...defaultJsonLimits, valuesMax: Number.MAX_SAFE_INTEGER })
  const entries = node.kind === 'object' ? node.entries : []
  const items = entries.find(([name]) => name === list)?.[1]
  return {
    answer: JSON.parse(bytes.toString()) as T,
    lines: items?.kind === 'array' ? items.items.map(toText) : [],
  }
}
