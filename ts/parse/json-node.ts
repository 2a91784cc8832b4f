import { cutText } from './cut-text.js'
import { LITERAL_CHARS_MAX } from './limits.js'
import { isUnsigned } from './literals.js'

/**
 * A JSON value with keys in payload order and numbers as text.
 *
 * `JSON.parse` loses both, and the API needs them: it reports the first mistake in payload order, and `1.0` is not an
 * integer. If all items of an array are numbers, `numbers` has their values.
 */
export type JsonNode =
  | { readonly kind: 'null' }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'array'; readonly items: readonly JsonNode[]; readonly numbers?: readonly number[] }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string, JsonNode])[] }

/** Returns the value as plain JavaScript, with `__proto__` as an ordinary own key. */
export function toValue(node: JsonNode): unknown {
  switch (node.kind) {
    case 'null':
      return null
    case 'number':
      return Number(node.text)
    case 'array':
      return node.numbers?.slice() ?? node.items.map(toValue)
    case 'object':
      return Object.fromEntries(node.entries.map(([key, value]) => [key, toValue(value)]))
    default:
      return node.value
  }
}

/** Returns the value as JSON text, with numbers as they were sent. */
export function toText(node: JsonNode): string {
  switch (node.kind) {
    case 'null':
      return 'null'
    case 'number':
      return node.text
    case 'array':
      return `[${node.items.map(toText).join(',')}]`
    case 'object':
      return `{${node.entries.map(([key, value]) => `${JSON.stringify(key)}:${toText(value)}`).join(',')}}`
    default:
      return JSON.stringify(node.value)
  }
}

/** Describes the value for error messages: its kind and its text, or `null`. */
export function found(node: JsonNode): string {
  return node.kind === 'null' ? 'null' : `${kindWords(node)}: \`${shortened(startOf(node))}\``
}

/** Cuts `text` to `LITERAL_CHARS_MAX` characters for error messages. */
export function shortened(text: string): string {
  return text.length > LITERAL_CHARS_MAX ? `${cutText(text, LITERAL_CHARS_MAX)}…` : text
}

/** Returns the beginning of `toText(node)`, with at least as many characters as error messages show. */
function startOf(node: JsonNode): string {
  let text = ''
  // Returns false when the text is long enough, because a refused body may hold a million values.
  const write = (one: JsonNode): boolean => {
    if (text.length > LITERAL_CHARS_MAX) return false
    if (one.kind === 'array') {
      text += '['
      const isWhole = one.items.every((item, i) => {
        if (i > 0) text += ','
        return write(item)
      })
      text += ']'
      return isWhole
    }
    if (one.kind === 'object') {
      text += '{'
      const isWhole = one.entries.every(([key, value], i) => {
        text += `${i > 0 ? ',' : ''}${JSON.stringify(key)}:`
        return write(value)
      })
      text += '}'
      return isWhole
    }
    text += toText(one)
    return true
  }
  write(node)
  return text
}

function kindWords(node: JsonNode): string {
  switch (node.kind) {
    case 'number':
      if (isUnsigned(node.text)) return 'a positive integer'
      return /^-\d+$/.test(node.text) ? 'a negative integer' : 'a number'
    case 'array':
    case 'object':
      return `an ${node.kind}`
    default:
      return `a ${node.kind}`
  }
}
