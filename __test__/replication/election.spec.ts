import test from 'ava'
import { announce, recentCandidates, successorsAmong } from '../../ts/replication/elect/announcements.js'
import { Election } from '../../ts/replication/elect/election.js'
import { beat } from '../../ts/replication/elect/heartbeat.js'
import { rankOf } from '../../ts/replication/elect/rank.js'
import { type PeerRole, roleOf } from '../../ts/replication/elect/role-of.js'
import { type Fence, LOG_FORMAT } from '../../ts/replication/index.js'
import { memoryStore, never } from '../support/memory-store.js'

const fence: Fence = {
  ...{ seq: 7, writer: 'leader', address: 'http://leader', engine: 'fallback', version: '0.0.0' },
  heartbeats: true,
}
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined }
const repeating = { wait: async () => undefined, onRetry: () => undefined }

interface World {
  readonly others?: readonly string[]
  readonly isAnswering?: boolean
  readonly fence?: Fence
  /** Identity of the directory that has sent the last changes. */
  readonly sentBy?: string
  /** Called each second before the poll. */
  readonly leader?: (second: number, beats: () => Promise<void>) => Promise<void> | void
  /** The last log record in each second. Default: always the same. */
  readonly position?: (second: number) => number
  /** The second of the last hint, given with the poll of a later one. */
  readonly hint?: { readonly at: number; readonly known: number }
  /** False: the bucket does not answer in this second. */
  readonly isReachable?: (second: number) => boolean
}

/** Polls each second. @returns the second in which the candidate stands; null: not within a minute */
async function standsIn(world: World): Promise<number | null> {
  const store = memoryStore()
  const place = { store, repeating }
  for (const id of world.others ?? [])
    await announce(place, { id, address: null, at: Date.now(), position: 0, format: LOG_FORMAT }, never)
  let now = 1_000_000
  const election = new Election({
    ...{ ...place, identity: 'me', address: null, log: quiet, timing: { now: () => now } },
    isAnswering: async () => world.isAnswering ?? false,
  })
  let count = 0
  for (let second = 0; second < 60; second++, now += 1_000) {
    await world.leader?.(second, () => beat(place, fence.seq, ++count, never))
    if (world.isReachable?.(second) === false) continue
    const hintedAt = world.hint?.known === second ? 1_000_000 + world.hint.at * 1_000 : null
    const { sentBy = 'leader' } = world
    const polled = { position: world.position?.(second) ?? 9, fence: world.fence ?? fence, sentBy, hintedAt }
    if (await election.polled(polled, never)) return second
  }
  return null
}

/** Returns the places of candidates of this version. */
const ranksOf = (ids: readonly string[], epoch: number): readonly number[] => {
  const candidates = ids.map((id) => ({ id, format: LOG_FORMAT }))
  return candidates.map((one) => rankOf(one, candidates, epoch))
}
const first = (ids: readonly string[]): string => ids[ranksOf(ids, fence.seq).indexOf(0)]!
/** Another candidate that stands before `me`, and one that stands after it. */
const earlier = Array.from({ length: 20 }, (_, i) => `other-${i}`).find((id) => first([id, 'me']) === id)!
const later = Array.from({ length: 20 }, (_, i) => `other-${i}`).find((id) => first([id, 'me']) === 'me')!

const cases: readonly (readonly [name: string, world: World, stands: number | null])[] = [
  ['a silent leader is replaced', {}, 16],
  ['a candidate waits for those before it', { others: [earlier] }, 18],
  ['a candidate does not wait for those after it', { others: [later] }, 16],
  ['the leader itself counts as no candidate', { others: ['leader'] }, 16],
  ['a leader with heartbeats keeps its place', { leader: (_, beats) => beats() }, null],
  ['a heartbeat during the wait ends the suspicion', { others: [earlier], leader: onlyIn(17) }, 36],
  ['silence counts from the last hint on', { leader: onlyIn(10), hint: { at: 4, known: 10 } }, 20],
  ['silence without hints counts from the last sign', { leader: onlyIn(10) }, 26],
  ['a leader that appends records keeps its place', { position: (second) => second }, null],
  ['a leader that answers at its address keeps its place', { isAnswering: true }, null],
  ['a leader without heartbeats keeps its place', { fence: { ...fence, heartbeats: false } }, null],
  ['a candidate that took over but could not lead stands again', { fence: { ...fence, writer: 'me' } }, 16],
  [
    'a candidate does not replace a copy of its directory that leads',
    { fence: { ...fence, writer: 'me' }, sentBy: 'me' },
    null,
  ],
  [
    'an absence of the bucket is no silence of the leader',
    { isReachable: (second) => second % 15 === 0 },
    null,
  ],
]

function onlyIn(wanted: number): NonNullable<World['leader']> {
  return (second, beats) => (second === wanted ? beats() : undefined)
}

for (const [name, world, stands] of cases)
  test(name, async (t) => {
    t.is(await standsIn(world), stands)
  })

const healths: readonly (readonly [health: unknown, role: PeerRole | null])[] = [
  [{ replication: { role: 'writer', replaceable: false } }, 'writer'],
  [{ replication: { role: 'writer', replaceable: true } }, 'lost'],
  // A former version.
  [{ replication: { role: 'writer' } }, 'writer'],
  [{ replication: { role: 'follower', replaceable: null } }, 'follower'],
  [{ replication: { role: 'king' } }, null],
  [{}, null],
  [null, null],
]
for (const [health, role] of healths)
  test(`a server with the health ${JSON.stringify(health)} counts as ${role}`, async (t) => {
    const body = Buffer.from(JSON.stringify(health))
    const call = async () => ({ status: 200, headers: {}, body })
    t.is(await roleOf({ call: call as never }, 'http://leader'), role)
  })

test('a leader hands over to candidates that can read its log: those of its version first, then the newest data', async (t) => {
  const place = { store: memoryStore(), repeating }
  const candidates = [
    { id: 'former', format: LOG_FORMAT - 1, position: 9 },
    { id: 'newer', format: LOG_FORMAT + 1, position: 9 },
    { id: 'behind', format: LOG_FORMAT, position: 7 },
    { id: 'ahead', format: LOG_FORMAT, position: 8 },
  ]
  for (const one of candidates) await announce(place, { ...one, address: null, at: Date.now() }, never)
  const found = await recentCandidates(place, Date.now(), never)
  t.deepEqual(
    successorsAmong(found).map(({ id }) => id),
    ['ahead', 'behind', 'newer'],
  )
})

test('candidates of an older version stand first, so that all others can follow them', (t) => {
  const ids = ['a', 'b', 'c', 'd']
  const candidates = ids.map((id, at) => ({ id, format: at < 2 ? LOG_FORMAT : LOG_FORMAT + 1 }))
  const ranks = candidates.map((one) => rankOf(one, candidates, 7))
  t.deepEqual(
    [ranks.slice(0, 2).sort(), ranks.slice(2).sort()],
    [
      [0, 1],
      [2, 3],
    ],
  )
})

test('all candidates compute the same order, and another one for each epoch', (t) => {
  const ids = ['a', 'b', 'c', 'd', 'e']
  const ranks = (epoch: number) => ranksOf(ids, epoch)
  t.deepEqual([...ranks(1)].sort(), [0, 1, 2, 3, 4])
  t.true([2, 3, 4, 5].some((epoch) => ranks(epoch).join() !== ranks(1).join()))
})
