/** Document ids of rows. */
import { createHash } from 'node:crypto'
import { ID_BYTES_MAX } from './limits.js'
import type { Key } from './source.js'

/**
 * Returns the document id of a key. Different keys have different ids.
 *
 * ```text
 * id      = value              one column with only letters, digits, `-` and `_`, unless it begins with `__` or `_-`
 *         | "__" parts         other keys
 *         | "_-" sha256        keys whose id would exceed 511 bytes
 * parts   = part ("__" part)*  one per column
 * part    = (letter | digit | "-" | "_" hex hex)*   bytes of UTF-8
 * ```
 */
export function documentId(key: Key): string {
  const [only = ''] = key
  if (key.length === 1 && isPlain(only)) return only
  const id = `__${key.map(encoded).join('__')}`
  return id.length <= ID_BYTES_MAX ? id : `_-${createHash('sha256').update(id).digest('hex')}`
}

const isPlain = (value: string): boolean =>
  /^[A-Za-z0-9_-]+$/.test(value) && !/^_[_-]/.test(value) && value.length <= ID_BYTES_MAX

const encoded = (value: string): string =>
  value.replaceAll(/[^A-Za-z0-9-]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `_${byte.toString(16).padStart(2, '0')}`).join(''),
  )

/** Returns the key of a document id; null for ids that are hashes or not of this form. @param columns of the key */
export function keyOfId(id: string, columns: number): Key | null {
  if (!id.startsWith('__')) return id.startsWith('_-') || columns !== 1 ? null : [id]
  const key = partsOf(id.slice(2))
  return key.length === columns && documentId(key) === id ? key : null
}

/** Decodes `parts` of the grammar. */
function partsOf(text: string): Key {
  const parts: number[][] = [[]]
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== '_') parts.at(-1)?.push(text.charCodeAt(at))
    else if (text[at + 1] === '_') {
      parts.push([])
      at++
    } else {
      parts.at(-1)?.push(Number.parseInt(text.slice(at + 1, at + 3), 16))
      at += 2
    }
  }
  return parts.map((bytes) => Buffer.from(bytes).toString())
}

/** Returns a document with its id, as a line of JSON. @param json an object without the field `primaryKey` */
export function documentLine(primaryKey: string, id: string, hasNumberId: boolean, json: string): string {
  const member = `${JSON.stringify(primaryKey)}:${hasNumberId ? id : JSON.stringify(id)}`
  const rest = json.trimStart().slice(1)
  // PostgreSQL escapes line breaks in strings, but documents made of several JSON columns may contain others.
  return `{${member}${rest.trimStart().startsWith('}') ? '' : ','}${rest}`.replaceAll(/[\r\n]+/g, ' ')
}
