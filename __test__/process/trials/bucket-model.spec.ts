/**
 * Searches the protocol of bucket writers exhaustively. Rules tested here:
 * 1. No interleaving of writers, lost answers, restarts and garbage collection loses an acknowledged record.
 * 2. Without either of its two precautions the protocol loses one. This proves that the search finds violations.
 */
import test from 'ava'
import { type Bounds, type Rules, search } from '../../../trials/bucket-model/model.js'

const bounds: Readonly<Record<string, Bounds>> = {
  'two writers that lose an answer each': { writers: 2, records: 1, lostAnswers: 1, restarts: 1, slots: 7 },
  'three writers': { writers: 3, records: 1, lostAnswers: 0, restarts: 1, slots: 7 },
}
const weakened: Readonly<Record<string, Rules>> = {
  'fences are garbage collected': { keepsFences: false, checksCheckpoint: true },
  'a fence is not checked against the newest checkpoint': { keepsFences: true, checksCheckpoint: false },
}

for (const [name, bound] of Object.entries(bounds)) {
  test(`${name}: no order of events loses an acknowledged record`, (t) => {
    const { states, violation } = search(bound, { keepsFences: true, checksCheckpoint: true })
    t.is(violation, null)
    t.true(states > 50_000, 'many states were visited')
  })
  for (const [weakness, rules] of Object.entries(weakened))
    test(`${name}: an acknowledged record is lost if ${weakness}`, (t) =>
      t.not(search(bound, rules).violation, null))
}
