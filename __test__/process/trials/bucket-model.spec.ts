/**
 * The protocol of writers over a bucket, searched exhaustively. Rules held here:
 * 1. No interleaving of writers, lost answers, restarts and garbage collection loses what was acknowledged.
 * 2. Without either of its two precautions it does, so that the search can find what it looks for.
 */
import test from 'ava'
import { type Bounds, type Rules, search } from '../../../trials/bucket-model/model.js'

const bounds: Readonly<Record<string, Bounds>> = {
  'two writers that lose an answer each': { writers: 2, entries: 1, lostAnswers: 1, restarts: 1, slots: 7 },
  'three writers': { writers: 3, entries: 1, lostAnswers: 0, restarts: 1, slots: 7 },
}
const weakened: Readonly<Record<string, Rules>> = {
  'fences are collected': { keepsFences: false, checksBase: true },
  'a fence is not checked against the newest base': { keepsFences: true, checksBase: false },
}

for (const [name, bound] of Object.entries(bounds)) {
  test(`${name} lose nothing in any order of events`, (t) => {
    const { states, violation } = search(bound, { keepsFences: true, checksBase: true })
    t.is(violation, null)
    t.true(states > 50_000, 'many orders were looked at')
  })
  for (const [weakness, rules] of Object.entries(weakened))
    test(`${name} lose something if ${weakness}`, (t) => t.not(search(bound, rules).violation, null))
}
