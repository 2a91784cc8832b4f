/** String order of the API: by UTF-8 bytes. */

/**
 * Compares strings by their UTF-8 bytes without encoding them. UTF-16 order differs only between surrogates and the
 * characters above them.
 */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)]
    if (left === right) continue
    const [leftHigh, rightHigh] = [left >= 0xd800 && left < 0xe000, right >= 0xd800 && right < 0xe000]
    if (leftHigh !== rightHigh) return leftHigh ? 1 : -1
    return left - right
  }
  return a.length - b.length
}
