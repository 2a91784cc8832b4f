/**
 * Writes word dictionaries. The grammar of the file is in docs/words-format.md; `crates/engine/src/analysis/words/` and
 * `ts/engine/fallback/analysis/words/` read it.
 */
import { crc32 } from 'node:zlib'

const MAGIC = 'siftdwrd'
const FORMAT = 1

/**
 * @typedef {{left: number, right: number, cost: number, cuts: number}} Token connection ids, cost, and one bit for each
 *   UTF-16 unit after which the word is cut again
 * @typedef {object} Dictionary
 * @property {{language: string, name: string, version: string}} info
 * @property {[first: number, kind: number][]} ranges first UTF-16 unit of each range and its kind, ascending from 0
 * @property {number[]} kinds bits 0-17: categories; 18-25: default category; 26-29: most characters of an unknown word;
 *   30: unknown words extend over all characters of the category; 31: unknown words compete with known ones
 * @property {Token[][]} unknown unknown words by category
 * @property {Map<string, Token[]>} words
 * @property {(right: number, left: number) => number} connection cost of a word with id `left` after one with `right`
 * @property {number} start right id of the start of a text
 * @property {number} end left id of the end of a text
 */

/** Numbers of values that share a key, in order of first appearance. */
class Shared {
  byKey = new Map()
  values = []

  add(key, value) {
    let number = this.byKey.get(key)
    if (number === undefined) {
      number = this.values.length
      this.byKey.set(key, number)
      this.values.push(value)
    }
    return number
  }
}

const bytesOf = (numbers) => Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength)
const padded = (bytes) => Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)])

/** @param {Dictionary} dictionary @returns {Buffer} the same bytes for the same dictionary */
export function wordsFile(dictionary) {
  const all = [...dictionary.words.values(), ...dictionary.unknown].flat()
  const ids = (side, other) => [...new Set([other, ...all.map((token) => token[side])])].sort((a, b) => a - b)
  const { lefts, rights, matrix } = sharedMatrix(
    dictionary,
    ids('left', dictionary.end),
    ids('right', dictionary.start),
  )

  const lists = new Shared()
  const listOf = (tokens) => {
    const kept = cheapest(
      tokens.map((token) => ({ ...token, left: lefts.get(token.left), right: rights.get(token.right) })),
    )
    return lists.add(
      kept.map(({ left, right, cost, cuts }) => `${left},${right},${cost},${cuts}`).join(';'),
      kept,
    )
  }
  const unknown = Uint32Array.from(dictionary.unknown, listOf)
  const { labels, children, words } = trieOf(dictionary.words, listOf)

  const starts = new Uint32Array(lists.values.length + 1)
  for (const [at, tokens] of lists.values.entries()) starts[at + 1] = starts[at] + tokens.length
  const tokens = new Uint16Array(4 * starts.at(-1))
  for (const [at, { left, right, cost, cuts }] of lists.values.flat().entries())
    tokens.set([left, right, cost & 0xffff, cuts], 4 * at)

  const info = Buffer.from(JSON.stringify(dictionary.info))
  const counts = [
    info.length,
    dictionary.ranges.length,
    dictionary.kinds.length,
    unknown.length,
    labels.length,
    lists.values.length,
    starts.at(-1),
    new Set(lefts.values()).size,
    new Set(rights.values()).size,
    lefts.get(dictionary.end),
    rights.get(dictionary.start),
  ]
  const sections = [
    bytesOf(Uint32Array.from(counts)),
    info,
    bytesOf(Uint16Array.from(dictionary.ranges.flat())),
    bytesOf(Uint32Array.from(dictionary.kinds)),
    bytesOf(unknown),
    bytesOf(labels),
    bytesOf(children),
    bytesOf(words),
    bytesOf(starts),
    bytesOf(tokens),
    bytesOf(matrix),
  ]
  const body = Buffer.concat(sections.map(padded))
  const head = Buffer.alloc(16)
  head.write(MAGIC, 'latin1')
  head.writeUInt32LE(FORMAT, 8)
  head.writeUInt32LE(crc32(body), 12)
  return Buffer.concat([head, body])
}

/** Drops tokens that another with the same connections makes useless. The first of equal ones stays. */
function cheapest(tokens) {
  const best = new Map()
  for (const token of tokens) {
    const key = token.left * 65536 + token.right
    if (!(best.get(key)?.cost <= token.cost)) best.set(key, token)
  }
  return tokens.filter((token) => best.get(token.left * 65536 + token.right) === token)
}

/** Stores equal rows and equal columns once. Rows belong to left ids, so that words that may follow are neighbours. */
function sharedMatrix({ connection }, leftIds, rightIds) {
  const rows = new Shared()
  const lefts = new Map()
  for (const left of leftIds) {
    const row = Int16Array.from(rightIds, (right) => connection(right, left))
    lefts.set(left, rows.add(bytesOf(row).toString('latin1'), row))
  }
  const columns = new Shared()
  const rights = new Map()
  for (const [at, right] of rightIds.entries()) {
    const column = Int16Array.from(rows.values, (row) => row[at])
    rights.set(right, columns.add(bytesOf(column).toString('latin1'), at))
  }
  const matrix = new Int16Array(rows.values.length * columns.values.length)
  for (const [line, row] of rows.values.entries())
    for (const [place, at] of columns.values.entries()) matrix[line * columns.values.length + place] = row[at]
  return { lefts, rights, matrix }
}

/** Nodes in breadth-first order, so that the children of a node are neighbours; sorted by their unit. */
function trieOf(words, listOf) {
  const units = (a, b) => (a < b ? -1 : a > b ? 1 : 0)
  const sorted = [...words.keys()].sort(units)
  const labels = [0]
  const children = []
  const lists = []
  let level = [[0, sorted.length]]
  for (let depth = 0; level.length > 0; depth++) {
    const next = []
    for (const [from, to] of level) {
      children.push(labels.length)
      let at = from
      const isWord = sorted[at].length === depth
      lists.push(isWord ? listOf(words.get(sorted[at])) + 1 : 0)
      if (isWord) at++
      while (at < to) {
        const unit = sorted[at].charCodeAt(depth)
        const first = at
        while (at < to && sorted[at].charCodeAt(depth) === unit) at++
        labels.push(unit)
        next.push([first, at])
      }
    }
    level = next
  }
  children.push(labels.length)
  return {
    labels: Uint16Array.from(labels),
    children: Uint32Array.from(children),
    words: Uint32Array.from(lists),
  }
}
