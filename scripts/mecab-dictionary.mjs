/** Reads compiled dictionaries of MeCab: `sys.dic`, `unk.dic`, `matrix.bin` and `char.bin`. */

const TOKEN_BYTES = 16

/** @returns the surfaces of a `.dic` file with their tokens, in the order of the file */
function entriesOf(file) {
  const [lexicon, , , trieBytes, tokenBytes] = Array.from({ length: 5 }, (_, at) =>
    file.readUInt32LE(12 + 4 * at),
  )
  const trie = new Int32Array(trieBytes / 4)
  for (let at = 0; at < trie.length; at++) trie[at] = file.readInt32LE(72 + 4 * at)
  const tokensAt = 72 + trieBytes
  const featuresAt = tokensAt + tokenBytes
  const tokensOf = (value) =>
    Array.from({ length: value & 255 }, (_, number) => {
      const at = tokensAt + TOKEN_BYTES * ((value >>> 8) + number)
      const feature = featuresAt + file.readUInt32LE(at + 8)
      return {
        left: file.readUInt16LE(at),
        right: file.readUInt16LE(at + 2),
        posId: file.readUInt16LE(at + 4),
        cost: file.readInt16LE(at + 6),
        feature: file.toString('utf8', feature, file.indexOf(0, feature)),
      }
    })
  // Of a unit of the double array: its base, and the base of its parent.
  const units = trie.length / 2
  const entries = new Map()
  const path = Buffer.alloc(1024)
  let found = 0
  const visit = (unit, depth) => {
    const base = trie[2 * unit]
    if (base < units && trie[2 * base + 1] === base && trie[2 * base] < 0) {
      const tokens = tokensOf(-trie[2 * base] - 1)
      found += tokens.length
      entries.set(path.toString('utf8', 0, depth), tokens)
    }
    for (let byte = 0; byte < 256; byte++) {
      const child = base + byte + 1
      if (child >= units || trie[2 * child + 1] !== base) continue
      path[depth] = byte
      visit(child, depth + 1)
    }
  }
  visit(0, 0)
  if (found !== lexicon) throw new Error(`the dictionary has ${lexicon} words, but ${found} were found`)
  return entries
}

/**
 * @param files by name
 * @returns words and unknown words with `posId` and `feature`, and the other parts of a `Dictionary` of words-file.mjs
 */
export function mecabDictionary(files) {
  const matrix = files['matrix.bin']
  const rights = matrix.readUInt16LE(0)
  const costs = new Int16Array(matrix.buffer.slice(matrix.byteOffset + 4, matrix.byteOffset + matrix.length))
  const characters = files['char.bin']
  const categories = Array.from({ length: characters.readUInt32LE(0) }, (_, at) =>
    characters.toString('latin1', 4 + 32 * at, 36 + 32 * at).replace(/\0.*$/s, ''),
  )
  const kindsAt = 4 + 32 * categories.length
  const kinds = []
  const ranges = []
  for (let unit = 0; unit <= 0xffff; unit++) {
    // The table of MeCab ends one unit early.
    const kind =
      unit === 0xffff ? characters.readUInt32LE(kindsAt) : characters.readUInt32LE(kindsAt + 4 * unit)
    if (!kinds.includes(kind)) kinds.push(kind)
    const number = kinds.indexOf(kind)
    if (ranges.at(-1)?.[1] !== number) ranges.push([unit, number])
  }
  const unknown = entriesOf(files['unk.dic'])
  return {
    ranges,
    kinds,
    words: entriesOf(files['sys.dic']),
    unknown: categories.map((category) => unknown.get(category) ?? []),
    connection: (right, left) => costs[right + rights * left],
    start: 0,
    end: 0,
  }
}
