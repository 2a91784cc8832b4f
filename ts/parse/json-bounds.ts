import type { JsonLimits } from './limits.js'

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Returns true if the text is safe for `JSON.parse`: for 20 MB of `[` it takes 1.4 GB. Only counts; does not check the
 * syntax.
 * @param json UTF-8. Each comma, colon and opening bracket counts as a value
 */
export function isWithin(json: Uint8Array, { depthMax, valuesMax }: JsonLimits): boolean {
  let depth = 0
  let values = 0
  let isText = false
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (isText) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if (byte === OPEN_LIST || byte === OPEN) {
      depth++
      values++
      if (depth > depthMax) return false
    } else if (byte === CLOSE_LIST || byte === CLOSE) depth--
    else if (byte === COMMA || byte === COLON) values++
    if (values > valuesMax) return false
  }
  return true
}
