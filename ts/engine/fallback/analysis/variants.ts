/** Chinese characters that count as one. */
const canonical: ReadonlyMap<string, string> = new Map([
  ['国', '國'],
  ['説', '說'],
  ['说', '說'],
  ['严', '嚴'],
])

/** The character under which all variants of `character` are indexed; itself for most. */
export const chineseVariant = (character: string): string => canonical.get(character) ?? character
