import test from 'ava'
import { areVisible, hasSettled } from '../../packages/sync-postgres/src/visibility.js'

const ROUND = 2 ** 32

const cases: readonly (readonly [readonly number[], string, boolean])[] = [
  [[], '100:100:', true],
  [[99], '100:100:', true],
  [[100], '100:100:', false],
  [[101], '100:105:100,103', true],
  [[101, 103], '100:105:100,103', false],
  [[7], `${ROUND + 5}:${ROUND + 9}:${ROUND + 6}`, true],
  [[6], `${ROUND + 5}:${ROUND + 9}:${ROUND + 6}`, false],
  [[ROUND - 1], `${ROUND + 5}:${ROUND + 9}:`, true],
  [[3], `${ROUND - 9}:${ROUND - 4}:`, false],
]

for (const [xids, snapshot, expected] of cases)
  test(`the snapshot ${snapshot} sees ${xids.join(', ') || 'nothing'}: ${expected}`, (t) => {
    t.is(areVisible(xids, snapshot), expected)
  })

test('transactions of a snapshot have settled when all that it did not see have ended', (t) => {
  t.true(hasSettled('100:100:', '100:100:'))
  t.false(hasSettled('100:105:100', '100:110:100'))
  t.false(hasSettled('100:105:100', '104:110:104'))
  t.true(hasSettled('100:105:100', '105:110:'))
})
