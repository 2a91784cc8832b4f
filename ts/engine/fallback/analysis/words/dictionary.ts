/** Reads the file of a word dictionary. Its grammar: docs/words-format.md. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { crc32 } from 'node:zlib'

const MAGIC = 'siftdwrd'
const FORMAT = 1
const HEAD_BYTES = 16
const COUNTS = 11
/** The name is in these first bytes. */
const NAME_BYTES_MAX = 1024
/** UTF-16 units per token: left class, right class, cost, inner boundaries. */
export const TOKEN_UNITS = 4

/** A dictionary whose numbers were all checked: each refers to something that exists. */
export interface WordDictionary {
  /** Three-letter code. */
  readonly language: string
  /** Name, version and checksum. Two dictionaries with the same id cut all texts alike. */
  readonly id: string
  /** Kind of each UTF-16 unit. */
  readonly kindOf: Uint8Array
  /** Bits 0–17: categories; 18–25: default category; 26–29: most characters; 30: grouped; 31: always added. */
  readonly kinds: Uint32Array
  /** Category → token list of its unknown words. */
  readonly unknown: Uint32Array
  /** Node of the trie → its UTF-16 unit, its first child, and its token list + 1 (0 if it ends no word). */
  readonly labels: Uint16Array
  readonly children: Uint32Array
  readonly words: Uint32Array
  /** UTF-16 unit → node below the root; 0 if there is none. */
  readonly roots: Uint32Array
  /** Token list → its first token. */
  readonly lists: Uint32Array
  readonly tokens: Uint16Array
  /** Connection costs: a row per left class, a column per right class. */
  readonly costs: Int16Array
  readonly rights: number
  /** Left class of the end of a text. */
  readonly end: number
  /** Right class of the start of a text. */
  readonly start: number
}

/** Language and id of a dictionary. Reads only its beginning. @throws Error with the path */
export function readDictionaryName(path: string): { readonly language: string; readonly id: string } {
  try {
    const file = openSync(path, 'r')
    try {
      const head = new Uint8Array(NAME_BYTES_MAX)
      return named(head.subarray(0, readSync(file, head)))
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw unusable(path, error)
  }
}

const unusable = (path: string, error: unknown): Error =>
  new Error(`the word dictionary ${path} cannot be used: ${(error as Error).message}`)

/** @throws Error with the path, if the file cannot be read or is damaged */
export function readWordDictionary(path: string): WordDictionary {
  try {
    const { buffer, byteOffset, byteLength } = readFileSync(path)
    // Buffers of the pool of Node.js are not aligned.
    return parsed(byteOffset % 4 === 0 ? new Uint8Array(buffer, byteOffset, byteLength) : copied())
    function copied(): Uint8Array {
      return new Uint8Array(buffer.slice(byteOffset, byteOffset + byteLength))
    }
  } catch (error) {
    throw unusable(path, error)
  }
}

/** Checks the head. Returns the name, whose bytes follow the counts. */
function named(file: Uint8Array): { language: string; id: string } {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  const countsEnd = HEAD_BYTES + 4 * COUNTS
  if (file.length < countsEnd || Buffer.from(file.subarray(0, 8)).toString('latin1') !== MAGIC)
    throw new Error('it is not a word dictionary')
  if (view.getUint32(8, true) !== FORMAT) throw new Error('its format is not known')
  const bytes = file.subarray(countsEnd, countsEnd + view.getUint32(HEAD_BYTES, true))
  const { language, name, version } = JSON.parse(Buffer.from(bytes).toString()) as Record<string, unknown>
  require(typeof language === 'string' && typeof name === 'string' && typeof version === 'string', 'name')
  const checksum = view.getUint32(12, true).toString(16).padStart(8, '0')
  return { language: language as string, id: `${name}-${version}-${checksum}` }
}

function parsed(file: Uint8Array): WordDictionary {
  const name = named(file)
  const checksum = new DataView(file.buffer, file.byteOffset).getUint32(12, true)
  if (crc32(file.subarray(HEAD_BYTES)) !== checksum) throw new Error('its checksum does not match')

  let at = HEAD_BYTES
  const take = (bytes: number): number => {
    const from = at
    at += bytes + (-bytes & 3)
    if (at > file.length) throw new Error('it is too short')
    return file.byteOffset + from
  }
  const u16 = (count: number) => new Uint16Array(file.buffer, take(2 * count), count)
  const u32 = (count: number) => new Uint32Array(file.buffer, take(4 * count), count)
  const counts = u32(COUNTS)
  const [infoBytes, ranges, kindCount, categories, nodes, listCount, tokenCount, lefts, rights, end, start] =
    counts as unknown as number[] as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ]
  take(infoBytes)
  const dictionary = {
    ranges: u16(2 * ranges),
    kinds: u32(kindCount),
    unknown: u32(categories),
    labels: u16(nodes),
    children: u32(nodes + 1),
    words: u32(nodes),
    lists: u32(listCount + 1),
    tokens: u16(TOKEN_UNITS * tokenCount),
  }
  const costs = new Int16Array(file.buffer, take(2 * lefts * rights), lefts * rights)
  require(at === file.length, 'length')
  check({ ...dictionary, lefts, rights, end, start })
  return {
    ...dictionary,
    ...name,
    kindOf: kindsByUnit(dictionary.ranges),
    roots: rootsOf(dictionary.labels, dictionary.children),
    costs,
    rights,
    end,
    start,
  }
}

function require(holds: boolean, what: string): void {
  if (!holds) throw new Error(`its ${what} is damaged`)
}

interface Parts {
  readonly ranges: Uint16Array
  readonly kinds: Uint32Array
  readonly unknown: Uint32Array
  readonly labels: Uint16Array
  readonly children: Uint32Array
  readonly words: Uint32Array
  readonly lists: Uint32Array
  readonly tokens: Uint16Array
  readonly lefts: number
  readonly rights: number
  readonly end: number
  readonly start: number
}

/** Checks every number that is used as an index. The checksum only finds accidents. */
function check(parts: Parts): void {
  const { ranges, kinds, unknown, labels, children, words, lists, tokens, lefts, rights, end, start } = parts
  const listCount = lists.length - 1
  const nodes = labels.length
  require(ranges.length > 0 && ranges[0] === 0 && kinds.length <= 256, 'character table')
  for (let at = 0; at < ranges.length; at += 2)
    require((at === 0 || ranges[at - 2]! < ranges[at]!) && ranges[at + 1]! < kinds.length, 'character table')
  for (const kind of kinds) require(((kind >>> 18) & 0xff) < unknown.length, 'character table')
  for (const list of unknown)
    require(list < listCount && lists[list]! < lists[list + 1]!, 'list of unknown words')

  // Children come after their parent, in the order of their parents: no circle is possible.
  require(nodes > 0 && children[0] === 1 && children[nodes] === nodes && words[0] === 0, 'trie')
  for (let node = 0; node < nodes; node++) {
    const [first, last] = [children[node]!, children[node + 1]!]
    require(node < first && first <= last && last <= nodes && words[node]! <= listCount, 'trie')
    for (let child = first + 1; child < last; child++) require(labels[child - 1]! < labels[child]!, 'trie')
  }
  require(lists[0] === 0 && lists[listCount] === tokens.length / TOKEN_UNITS, 'token lists')
  for (let list = 0; list < listCount; list++) require(lists[list]! <= lists[list + 1]!, 'token lists')
  require(end < lefts && start < rights, 'matrix')
  for (let token = 0; token < tokens.length; token += TOKEN_UNITS)
    require(tokens[token]! < lefts && tokens[token + 1]! < rights, 'tokens')
}

function kindsByUnit(ranges: Uint16Array): Uint8Array {
  const kindOf = new Uint8Array(0x10000)
  for (let at = 0; at < ranges.length; at += 2)
    kindOf.fill(ranges[at + 1]!, ranges[at], ranges[at + 2] ?? 0x10000)
  return kindOf
}

function rootsOf(labels: Uint16Array, children: Uint32Array): Uint32Array {
  const roots = new Uint32Array(0x10000)
  for (let node = children[0]!; node < children[1]!; node++) roots[labels[node]!] = node
  return roots
}
