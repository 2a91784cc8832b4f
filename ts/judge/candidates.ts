/** Settings that tuning may change, and small changes of them. */
import { isDeepStrictEqual } from 'node:util'
import { WEIGHT_HIGHEST, WEIGHT_LOWEST, WEIGHT_STEP } from './limits.js'

/** Settings that decide the order of hits, with the names of the settings of an index. */
export interface Candidate {
  readonly rankingRules: readonly string[]
  readonly matchingStrategy: string
  readonly attributeWeights: Readonly<Record<string, number>>
  readonly typoTolerance: Readonly<Record<string, unknown>>
}

/** Rules about words. Others, such as `sort` and `year:desc`, keep their place before or after them. */
const wordRules = new Set([
  ...['words', 'typo', 'proximity', 'attribute', 'attributeRank', 'wordPosition', 'exactness', 'relevance'],
])

/** Returns the candidates from which tuning starts: the given one first, then relevance and the default rules. */
export function startingCandidates(now: Candidate): readonly Candidate[] {
  const first = now.rankingRules.findIndex((rule) => wordRules.has(rule))
  const others = now.rankingRules.filter((rule) => !wordRules.has(rule))
  const before = first === -1 ? others : now.rankingRules.slice(0, first)
  const after = others.slice(before.length)
  const around = (...rules: readonly string[]): readonly string[] => [...before, ...rules, ...after]
  const sizes = { minWordSizeForTypos: { oneTypo: 4, twoTypos: 8 } }
  const typoTolerance = { ...now.typoTolerance, ...sizes }
  const classic = around('words', 'typo', 'proximity', 'attributeRank', 'wordPosition', 'exactness')
  const all: readonly Candidate[] = [
    now,
    { ...now, rankingRules: around('relevance'), matchingStrategy: 'any', typoTolerance },
    { ...now, rankingRules: around('relevance'), matchingStrategy: 'any' },
    { ...now, rankingRules: around('words', 'relevance'), matchingStrategy: 'last' },
    { ...now, rankingRules: around('words', 'relevance'), matchingStrategy: 'frequency' },
    { ...now, rankingRules: classic, matchingStrategy: 'last' },
    { ...now, rankingRules: classic, matchingStrategy: 'frequency' },
  ]
  return all.filter((one, at) => all.findIndex((other) => isDeepStrictEqual(one, other)) === at)
}

/** A small change of a candidate; null if it has no effect there. */
type Move = (candidate: Candidate) => Candidate | null

/** Returns the changes that tuning tries: each weight up and down, and each rule before its predecessor. */
export function movesOf(attributes: readonly string[], rulesMax: number): readonly Move[] {
  const weights = attributes.flatMap((attribute) => [
    weighted(attribute, WEIGHT_STEP),
    weighted(attribute, 1 / WEIGHT_STEP),
  ])
  return [...weights, ...Array.from({ length: Math.max(0, rulesMax - 1) }, (_, at) => swapped(at))]
}

const weighted =
  (attribute: string, factor: number): Move =>
  (candidate) => {
    const { rankingRules, matchingStrategy, attributeWeights } = candidate
    // Only the rule `relevance` reads weights. The strategy `any` always ranks by it.
    if (matchingStrategy !== 'any' && !rankingRules.includes('relevance')) return null
    const weight = (Object.hasOwn(attributeWeights, attribute) ? attributeWeights[attribute]! : 1) * factor
    if (weight < WEIGHT_LOWEST || weight > WEIGHT_HIGHEST) return null
    return { ...candidate, attributeWeights: { ...attributeWeights, [attribute]: weight } }
  }

const swapped =
  (at: number): Move =>
  (candidate) => {
    const { rankingRules, matchingStrategy } = candidate
    const [a, b] = [rankingRules[at], rankingRules[at + 1]]
    // Searches without `sort` are judged, and `any` ranks by one rule about words alone.
    if (a === undefined || b === undefined || a === 'sort' || b === 'sort') return null
    if (matchingStrategy === 'any' && wordRules.has(a) && wordRules.has(b)) return null
    const rules = [...rankingRules]
    rules.splice(at, 2, b, a)
    return { ...candidate, rankingRules: rules }
  }

type Members = Readonly<Record<string, unknown>>

/** Returns the members that differ, as a body of `PATCH …/settings`. */
export function changedMembers(now: Candidate, found: Candidate): Members {
  const { typoTolerance, ...changed } = differing({ ...now }, { ...found })
  return {
    ...changed,
    // The server merges the members of this setting.
    ...(typoTolerance !== undefined && { typoTolerance: differing(now.typoTolerance, found.typoTolerance) }),
  }
}

const differing = (now: Members, found: Members): Members =>
  Object.fromEntries(Object.entries(found).filter(([name, value]) => !isDeepStrictEqual(now[name], value)))
