/** The hits of an answer as bytes, and the answer with other hits. */
import type { SearchFacts } from '../../../engine/index.js'
import type { DisconnectSignal } from '../disconnect-signal.js'
import { REORDERINGS_AT_ONCE } from '../limits.js'
import {
  arrayOf,
  elementSteps,
  type MemberSlice,
  memberSlices,
  memberSteps,
  objectOf,
  withMembers,
} from './json-slices.js'
import { Pacer } from './pacer.js'

/** Members of hits that are no fields of the document. */
const addedMembers = [
  ...['_formatted', '_matchesPosition', '_rankingScore', '_rankingScoreDetails', '_federation', '_vectors'],
  ...['_geoDistance'],
]

/** The members of an answer, and its hits. */
export interface AnswerParts {
  readonly body: Buffer
  readonly members: readonly MemberSlice[]
  readonly hits: readonly Buffer[]
}

/** Returns the parts of the answer to one search, or of a federated answer. */
export async function partsOf(body: Buffer, pacer: Pacer): Promise<AnswerParts> {
  const members = await pacer.run(memberSteps(body))
  const hits = memberNamed(members, 'hits')
  if (hits === undefined) throw new TypeError('the answer of the engine has no hits')
  return { body, members, hits: await elementsOf(body, hits, pacer) }
}

async function elementsOf(
  body: Buffer,
  { valueStart }: MemberSlice,
  pacer: Pacer,
): Promise<readonly Buffer[]> {
  const slices = await pacer.run(elementSteps(body, valueStart))
  return slices.map(({ start, end }) => body.subarray(start, end))
}

const memberNamed = (members: readonly MemberSlice[], wanted: string): MemberSlice | undefined =>
  members.find(({ name }) => name === wanted)

/** Changes to an answer. */
interface AnswerChange {
  readonly hits: readonly Buffer[]
  /** Functions from the present to the new value, by name of a member with a number. */
  readonly numbers: Readonly<Record<string, (present: number) => number>>
  /** Time of the service, which is added to the performance details if the client asked for them. */
  readonly stage: Stage
  /** A further member as JSON text, with its name; null: none. */
  readonly added: string | null
}

/** The time that a service took. */
interface Stage {
  readonly name: 'search > rerank' | 'search > personalize'
  readonly ms: number
}

/** Returns the answer with the changes. */
export function changedAnswer(
  { body, members }: AnswerParts,
  { hits, numbers, stage, added }: AnswerChange,
): Buffer {
  const changed = members.map(({ name, start, valueStart, end }) => {
    if (name === 'hits') return Buffer.concat([Buffer.from('"hits":'), arrayOf(hits)])
    if (name === 'performanceDetails')
      return Buffer.concat([body.subarray(start, end - 1), Buffer.from(`,${stageText(stage)}}`)])
    const change = Object.hasOwn(numbers, name) ? numbers[name] : undefined
    if (change === undefined) return body.subarray(start, end)
    const present = Number(body.toString('latin1', valueStart, end))
    return Buffer.from(`${JSON.stringify(name)}:${change(present)}`)
  })
  return objectOf([...changed, ...(added === null ? [] : [Buffer.from(added)])])
}

/** Returns the answer with a further member. @param added JSON text with its name */
export function withMember(body: Buffer, added: string): Buffer {
  const end = body.lastIndexOf('}')
  return Buffer.concat([body.subarray(0, end), Buffer.from(`,${added}}`)])
}

const stageText = ({ name, ms }: Stage): string => `${JSON.stringify(name)}:"${ms.toFixed(2)}ms"`

/** Returns the facts of an answer with the time of a service, if they have times. */
export const withStage = (facts: SearchFacts, stage: Stage): SearchFacts =>
  facts.stages === undefined
    ? facts
    : { ...facts, stages: `${facts.stages.slice(0, -1)},${stageText(stage)}}` }

/** Returns a number of the answer; 0 if it has none with this name. */
export function numberIn({ body, members }: AnswerParts, wanted: string): number {
  const member = memberNamed(members, wanted)
  return member === undefined ? 0 : Number(body.toString('latin1', member.valueStart, member.end))
}

/** Returns the fields of a hit that are fields of its document. */
export const documentBytes = (hit: Buffer): Buffer => withMembers(hit, (name) => !addedMembers.includes(name))

export const documentOf = (hit: Buffer): Readonly<Record<string, unknown>> =>
  JSON.parse(documentBytes(hit).toString()) as Readonly<Record<string, unknown>>

/** Returns a member that the engine added to a hit. It follows a field of the document with the same name. */
const addedTo = (hit: Buffer, wanted: string): MemberSlice | undefined =>
  memberSlices(hit).findLast(({ name }) => name === wanted)

/** Returns a hit without its score details, which it must have. */
export function withoutDetails(hit: Buffer): Buffer {
  const details = addedTo(hit, '_rankingScoreDetails')
  const kept = memberSlices(hit).filter(({ start }) => start !== details?.start)
  return objectOf(kept.map(({ start, end }) => hit.subarray(start, end)))
}

/** Adds an entry to the score details of a hit, which it must have. @param entry JSON text with its name */
export function withDetail(hit: Buffer, entry: string): Buffer {
  const details = addedTo(hit, '_rankingScoreDetails')
  if (details === undefined) return hit
  const inner = memberSlices(hit, details.valueStart)
  const comma = inner.length === 0 ? '' : ','
  return Buffer.concat([
    ...[hit.subarray(0, details.end - 1), Buffer.from(`${comma}${entry}`), hit.subarray(details.end - 1)],
  ])
}

/** Returns true if a dynamic search rule fixed the position of a hit. Without its score details it is not known. */
export function isPinned(hit: Buffer): boolean {
  const details = addedTo(hit, '_rankingScoreDetails')
  // Without score details, a field of the document with this name may be of any type.
  if (details === undefined || hit.toString('latin1', details.valueStart, details.valueStart + 1) !== '{')
    return false
  return memberSlices(hit, details.valueStart).some(({ name }) => name === 'pin')
}

/** Returns the position of the query that found a hit of a federated answer; null in another answer. */
export const queryPositionOf = (hit: Buffer): number | null => federationOf(hit)?.queriesPosition ?? null

/** Returns the index of a hit of a federated answer; null in another answer. */
export const indexUidOf = (hit: Buffer): string | null => federationOf(hit)?.indexUid ?? null

interface HitOrigin {
  readonly indexUid?: string
  readonly queriesPosition?: number
}

function federationOf(hit: Buffer): HitOrigin | null {
  const member = addedTo(hit, '_federation')
  return member === undefined
    ? null
    : (JSON.parse(hit.toString('utf8', member.valueStart, member.end)) as HitOrigin)
}

/**
 * Returns the present positions of the hits in their new order. Hits that are not ranked follow in their present order.
 * @param ranked present positions, best first
 * @param fixed hits that stay where they are
 */
export function arranged(count: number, ranked: readonly number[], fixed: ReadonlySet<number>): number[] {
  const named = new Set(ranked)
  const all = Array.from({ length: count }, (_, at) => at)
  const moving = [...ranked, ...all.filter((at) => !named.has(at) && !fixed.has(at))]
  let next = 0
  return all.map((at) => (fixed.has(at) ? at : moving[next++]!))
}

/** Returns the answer to several searches with a changed result of each. Changes only a few results at a time. */
export async function changedResults(
  body: Buffer,
  stop: DisconnectSignal,
  change: (result: Buffer, at: number) => Promise<Buffer>,
): Promise<Buffer> {
  const pacer = new Pacer(stop)
  const members = await pacer.run(memberSteps(body))
  const changed = await Promise.all(
    members.map(async (member) => {
      if (member.name !== 'results') return body.subarray(member.start, member.end)
      const results = await elementsOf(body, member, pacer)
      return Buffer.concat([Buffer.from('"results":'), arrayOf(await fewAtOnce(results, change))])
    }),
  )
  return objectOf(changed)
}

async function fewAtOnce<T, U>(
  items: readonly T[],
  change: (item: T, at: number) => Promise<U>,
): Promise<readonly U[]> {
  const changed: U[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) changed[at] = await change(items[at]!, at)
  }
  try {
    await Promise.all(Array.from({ length: REORDERINGS_AT_ONCE }, work))
  } finally {
    // After a failure no other change begins.
    next = items.length
  }
  return changed
}
