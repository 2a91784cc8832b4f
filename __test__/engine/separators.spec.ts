import test from 'ava'
import { Separators } from '../../ts/engine/fallback/analysis/separators.js'
import fc from '../support/property.js'

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '-', '😀'), minLength: 1, maxLength: 4 })

test('matchLength returns the length of the longest dictionary entry at a position', (t) => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '😀'), minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), text, fc.nat(11), (dictionary, searched, place) => {
      const at = place % searched.length
      const fitting = dictionary.filter((entry) => searched.startsWith(entry, at))
      const longest = Math.max(0, ...fitting.map(({ length }) => length))
      t.is(new Separators([], [], dictionary).matchLength(searched, at), longest)
    }),
    { numRuns: 2_000 },
  )
})

test('matchLength splits a text with a dictionary of 20,000 entries that start with the same letter', (t) => {
  const dictionary = Array.from({ length: 20_000 }, (_, at) => `a${at}`)
  const separators = new Separators([], [], dictionary)
  const text = 'a19999'.repeat(5_000)
  let cuts = 0
  for (let at = 0; at < text.length; at += separators.matchLength(text, at)) cuts++
  t.is(cuts, 5_000)
})
