import test from 'ava'
import { type RegisterRead, type RegisterWrite, violations } from '../../../trials/soak/history.js'

const write = (
  version: number,
  sentAt: number,
  outcome: RegisterWrite['outcome'],
  knownAt: number | null,
): RegisterWrite => ({ register: 1, version, sentAt, outcome, knownAt })
const read = (version: number, beganAt: number, endedAt: number): RegisterRead => ({
  register: 1,
  version,
  beganAt,
  endedAt,
})

const first = write(1, 0, 'succeeded', 10)

const histories: readonly (readonly [
  name: string,
  writes: readonly RegisterWrite[],
  reads: readonly RegisterRead[],
  problem: RegExp | null,
])[] = [
  ['nothing is read before a write', [], [read(0, 1, 2)], null],
  ['a version that was seen to succeed is read', [first], [read(1, 11, 12)], null],
  ['a write in flight may be read or not', [first], [read(0, 5, 6), read(1, 7, 8)], null],
  ['a write without an answer may be read', [write(1, 0, 'unknown', null)], [read(1, 5, 6)], null],
  ['concurrent reads may differ', [first], [read(1, 5, 9), read(0, 6, 8)], null],
  ['a version that succeeded is lost', [first], [read(0, 11, 12)], /returned version 0, although version 1/],
  [
    'a version goes back',
    [write(1, 0, 'unknown', null)],
    [read(1, 1, 2), read(0, 3, 4)],
    /returned version 0/,
  ],
  ['a version is read before it was sent', [write(1, 9, 'succeeded', 10)], [read(1, 1, 2)], /not sent yet/],
  ['a version that no client sent is read', [first], [read(7, 11, 12)], /not sent yet/],
  ['a version with a failed task is read', [write(1, 0, 'failed', 5)], [read(1, 6, 7)], /whose task failed/],
]

for (const [name, writes, reads, problem] of histories)
  test(`${name}: ${problem === null ? 'no violation' : 'one violation'}`, (t) => {
    const found = violations(writes, reads)
    t.is(found.length, problem === null ? 0 : 1, found.join('\n'))
    if (problem !== null) t.regex(found[0] ?? '', problem)
  })

test('registers are judged independently', (t) => {
  t.deepEqual(violations([first], [{ ...read(0, 11, 12), register: 2 }]), [])
})
