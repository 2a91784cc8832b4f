/** In which order do texts come? By their UTF-8 bytes, as everywhere in the API. */

/**
 * Compares as the bytes would, without encoding: UTF-16 differs only where surrogates meet the
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
