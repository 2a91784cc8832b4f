// Writes the dictionary of the table of Korean, __test__/golden/korean.json, from the complete one:
//
//   node scripts/table-words.mjs [packages/words-ko/words-ko.bin]
//
// It has the words that occur in the texts of the table, with all their costs, so it cuts these texts like the complete
// dictionary. Its words and costs are those of mecab-ko-dic, under the Apache License 2.0 (licenses/Apache-2.0.txt). Needs `npm start`
// or another compilation before.
import { readFileSync, writeFileSync } from 'node:fs'
import { readWordDictionary, TOKEN_UNITS } from '../dist/ts/engine/fallback/analysis/words/dictionary.js'
import { Dictionaries } from '../dist/ts/engine/fallback/analysis/words/index.js'
import { wordsFile } from './words-file.mjs'

const source = process.argv[2] ?? 'packages/words-ko/words-ko.bin'
const root = new URL('../', import.meta.url)
const groups = JSON.parse(readFileSync(new URL('__test__/golden/korean.json', root), 'utf8'))
const texts = JSON.stringify(groups).match(/\p{Script=Hangul}+/gu)
// Queries that are not finished are cut too.
const beginnings = new Set(texts.flatMap((text) => Array.from(text, (_, at) => text.slice(0, at + 1))))

const complete = readWordDictionary(source)
const { ranges, kinds, unknown, labels, children, words, lists, tokens, costs, rights, start, end } = complete

const tokensOf = (list) => {
  const found = []
  for (let token = lists[list]; token < lists[list + 1]; token++) {
    const [left, right, cost, cuts] = tokens.subarray(TOKEN_UNITS * token, TOKEN_UNITS * (token + 1))
    found.push({ left, right, cost: (cost << 16) >> 16, cuts })
  }
  return found
}

/** Words of the complete dictionary at the start of `text`: length and token list. */
function wordsAt(text) {
  const found = []
  let node = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    let child = children[node]
    while (child < children[node + 1] && labels[child] !== unit) child++
    if (child === children[node + 1]) return found
    node = child
    if (words[node] !== 0) found.push({ length: at + 1, list: words[node] - 1 })
  }
  return found
}

const kept = new Map()
// Classes that meet in a text. Costs of other pairs are never read; they are 0, so that the file is small.
const pairs = new Set()
const unknownTokens = Array.from(unknown, tokensOf)
for (const text of texts) {
  const ending = Array.from(
    { length: text.length + 1 },
    () => new Set(unknownTokens.flat().map(({ right }) => right)),
  )
  ending[0].add(start)
  for (let at = 0; at < text.length; at++) {
    const found = [...unknownTokens.flat().map((token) => [0, token])]
    for (const { length, list } of wordsAt(text.slice(at))) {
      kept.set(text.slice(at, at + length), tokensOf(list))
      for (const token of tokensOf(list)) found.push([length, token])
    }
    for (const [length, token] of found) {
      ending[at + length].add(token.right)
      for (const right of ending[at]) pairs.add(`${right} ${token.left}`)
    }
  }
  // A beginning of a text ends after any word.
  for (const rightsHere of ending) for (const right of rightsHere) pairs.add(`${right} ${end}`)
}
const file = wordsFile({
  info: { language: 'kor', name: 'mecab-ko-dic-table', version: '2.1.1.post2' },
  ranges: Array.from({ length: ranges.length / 2 }, (_, at) => [ranges[2 * at], ranges[2 * at + 1]]),
  kinds: [...kinds],
  unknown: unknownTokens,
  words: kept,
  connection: (right, left) => (pairs.has(`${right} ${left}`) ? costs[left * rights + right] : 0),
  start,
  end,
})
const target = new URL('__test__/support/words/table-ko.bin', root)
writeFileSync(target, file)

const [all, few] = [source, target.pathname].map((path) => Dictionaries.of([path]).cutter('kor'))
for (const text of beginnings) {
  const [expected, found] = [all, few].map((cutter) => [...cutter.words(text)].join('|'))
  if (expected !== found) throw new Error(`${text} is cut ${found}, not ${expected}`)
}
console.log(`${kept.size} words, ${file.length} bytes; ${beginnings.size} texts are cut alike`)
