/**
 * Returns the first UTF-16 units of `text`, at most `unitsMax`. Never ends with half of a surrogate pair, which JSON
 * parsers refuse.
 */
export function cutText(text: string, unitsMax: number): string {
  if (text.length <= unitsMax) return text
  const last = text.charCodeAt(unitsMax - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? unitsMax - 1 : unitsMax)
}
