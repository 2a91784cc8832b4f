/**
 * Both engines have the same stems of made-up words: roots of random letters with endings from the tables of the stemmers.
 * The words and the sum of their stems are recorded; `crates/engine/src/analysis/stemmer.rs` checks the same file.
 */
import { readFileSync } from 'node:fs'
import test from 'ava'
import { Stemmer } from '../../ts/engine/fallback/analysis/stemmer.js'
import { stemmedLanguages } from '../../ts/settings/word-languages.js'

interface Recorded {
  readonly code: string
  readonly letters: string
  readonly endings: string
  readonly words: number
  readonly sum: number
}

const recorded: readonly Recorded[] = JSON.parse(readFileSync('__test__/golden/stems.json', 'utf8'))

function* madeUp({ letters, endings, words }: Recorded): Generator<string> {
  const [alphabet, list] = [Array.from(letters), endings.split(' ')]
  let state = 1
  const pick = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state >>> 16) % below
  }
  for (let word = 0; word < words; word++) {
    let text = ''
    for (let left = 2 + pick(5); left > 0; left--) text += alphabet[pick(alphabet.length)]
    for (let left = pick(3); left > 0; left--) text += list[pick(list.length)]
    yield text
  }
}

/** FNV-1a over the stems, a line each. */
function sumOf(stems: Iterable<string>): number {
  let sum = 0x811c9dc5
  for (const stem of stems)
    for (const byte of Buffer.from(`${stem}\n`)) sum = Math.imul(sum ^ byte, 0x01000193) >>> 0
  return sum
}

test('stems of made-up words are the recorded ones in every language', (t) => {
  t.deepEqual(
    recorded.map(({ code }) => code),
    [...stemmedLanguages],
  )
  const sums = recorded.map((one) => {
    const stemmer = new Stemmer(one.code)
    return { code: one.code, sum: sumOf(Array.from(madeUp(one), (word) => stemmer.stem(word)!)) }
  })
  t.deepEqual(
    sums,
    recorded.map(({ code, sum }) => ({ code, sum })),
  )
})

test('a word with a digit has no stem', (t) => {
  t.is(new Stemmer('eng').stem('cats2'), null)
  t.is(new Stemmer('eng').stem('cats'), 'cat')
})
