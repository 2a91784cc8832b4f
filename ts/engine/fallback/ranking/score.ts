/**
 * Computes the score and the score details of a document.
 *
 * Source: search §8.
 * 1. A later rank only separates documents that earlier ranks left equal.
 * 2. Ranks are merged as exact fractions and divided once, so that both engines print the same digits.
 * 3. Sort values do not count in a score; if vectors were compared, only their similarity counts.
 * 4. Documents that were not ranked because time ran out have the lowest rank.
 */
import { floatText } from '../store/json.js'
import type { ScoreDetail } from './rule.js'

/** A rank out of `max`. */
interface Rank {
  readonly rank: number
  readonly max: number
}

const SKIPPED: Rank = { rank: 0, max: 1 }

/** Rank of a detail; null for sort values, vectors, pins and scales. */
export function rankOf(detail: ScoreDetail): Rank | null {
  switch (detail.rule) {
    case 'sort':
    case 'geo':
    case 'vector':
    case 'pin':
    case 'scale':
      return null
    case 'skipped':
      return SKIPPED
    default:
      return detail
  }
}

/** Merges ranks, most important first. A later rank only separates what earlier ranks left equal. */
export function mergedScore(ranks: readonly Rank[]): number {
  let rank = 1
  let max = 1
  for (const [at, next] of ranks.entries()) {
    rank = Math.max(rank - 1, 0) * next.max + next.rank
    max *= next.max
    if (max > Number.MAX_SAFE_INTEGER) return exactScore(ranks.slice(0, at), ranks.slice(at))
  }
  return rank / max
}

/** Like `mergedScore`, with integers beyond the exact range of doubles. */
function exactScore(first: readonly Rank[], rest: readonly Rank[]): number {
  let rank = 1n
  let max = 1n
  for (const next of [...first, ...rest]) {
    rank = (rank > 0n ? rank - 1n : 0n) * BigInt(next.max) + BigInt(next.rank)
    max *= BigInt(next.max)
  }
  return Number(rank) / Number(max)
}

/** Score of a document from its details: the similarity if vectors were compared; 1 without details. */
export function globalScore(details: readonly ScoreDetail[]): number {
  const vector = details.find((detail) => detail.rule === 'vector')
  if (vector !== undefined) return vector.similarity ?? 0
  return mergedScore(details.map(rankOf).filter((rank) => rank !== null))
}

/** Weight that dynamic search rules give to a document; 1 without any. */
export const scaleOf = ([first]: readonly ScoreDetail[]): number =>
  first?.rule === 'scale' ? first.totalWeight : 1

const score = ({ rank, max }: Rank): string => floatText(rank / max)

/** Formats degrees like the API does in a key: integers without a decimal point. */
const degreesText = (value: number): string => floatText(value).replace(/\.0$/, '')

const MATCH_TYPES = { 3: 'exactMatch', 2: 'matchesStart', 1: 'noExactMatch' } as const

/** Display options of the details. */
interface DetailsView {
  /** True if the `attribute` rule replaces the pair of attribute rank and word position. */
  readonly unifiedAttribute: boolean
  readonly isDisplayed: (field: string) => boolean
}

/** `_rankingScoreDetails` as JSON text. */
export function detailsJson(details: readonly ScoreDetail[], view: DetailsView): string {
  const entries: string[] = []
  for (let at = 0; at < details.length; at++) {
    const detail = details[at]!
    const order = entries.length
    switch (detail.rule) {
      case 'words':
        entries.push(
          `"words":{"order":${order},"matchingWords":${detail.rank},"maxMatchingWords":${detail.max},` +
            `"score":${score(detail)}}`,
        )
        break
      case 'typo':
        entries.push(
          `"typo":{"order":${order},"typoCount":${detail.typos},"maxTypoCount":${detail.max - 1},` +
            `"score":${score(detail)}}`,
        )
        break
      case 'attributeRank': {
        const position = details[at + 1]
        if (view.unifiedAttribute) {
          const pair = position?.rule === 'wordPosition' ? position : undefined
          if (pair !== undefined) at++
          const both = mergedScore(pair === undefined ? [detail] : [detail, pair])
          entries.push(
            `"attribute":{"order":${order},"attributeRankingOrderScore":${score(detail)},` +
              `"queryWordDistanceScore":${pair === undefined ? '0.0' : score(pair)},"score":${floatText(both)}}`,
          )
          break
        }
        entries.push(`"attributeRank":{"order":${order},"score":${score(detail)}}`)
        break
      }
      case 'proximity':
      case 'wordPosition':
      case 'relevance':
        entries.push(`"${detail.rule}":{"order":${order},"score":${score(detail)}}`)
        break
      case 'exactAttribute': {
        const words = details[at + 1]
        const exact = words?.rule === 'exactWords' ? words : undefined
        if (exact !== undefined) at++
        const type = MATCH_TYPES[detail.rank]
        entries.push(
          type === 'noExactMatch' && exact !== undefined
            ? `"exactness":{"order":${order},"matchType":"${type}","matchingWords":${exact.rank - 1},` +
                `"maxMatchingWords":${exact.max - 1},"score":${floatText(mergedScore([detail, exact]))}}`
            : `"exactness":{"order":${order},"matchType":"${type}","score":${score(detail)}}`,
        )
        break
      }
      case 'exactWords':
        break
      case 'sort': {
        const shown = view.isDisplayed(detail.field)
        const key = shown ? `${detail.field}:${detail.ascending ? 'asc' : 'desc'}` : `<hidden-rule-${order}>`
        const value =
          typeof detail.value === 'number' ? floatText(detail.value) : JSON.stringify(detail.value)
        entries.push(`${JSON.stringify(key)}:{"order":${order},"value":${shown ? value : '"<hidden>"'}}`)
        break
      }
      case 'geo': {
        const [lat, lng] = detail.target
        const key = `_geoPoint(${degreesText(lat)}, ${degreesText(lng)}):${detail.ascending ? 'asc' : 'desc'}`
        const value =
          detail.value === null
            ? 'null'
            : `{"lat":${floatText(detail.value[0])},"lng":${floatText(detail.value[1])}}`
        const distance = detail.distance === null ? 'null' : floatText(detail.distance)
        entries.push(`${JSON.stringify(key)}:{"order":${order},"value":${value},"distance":${distance}}`)
        break
      }
      case 'vector': {
        const shown = detail.similarity === null ? 'null' : floatText(detail.similarity)
        entries.push(`"vectorSort":{"order":${order},"similarity":${shown}}`)
        break
      }
      case 'skipped':
        entries.push(`"skipped":{"order":${order}}`)
        break
      case 'scale': {
        const actions = detail.actions.map(
          ({ ruleUid, weight }) => `{"ruleUid":${JSON.stringify(ruleUid)},"weight":${floatText(weight)}}`,
        )
        entries.push(
          `"scale":{"order":${order},"actions":[${actions.join(',')}],` +
            `"totalWeight":${floatText(detail.totalWeight)}}`,
        )
        break
      }
      case 'pin':
        entries.push(`"pin":{"order":${order},"position":${detail.position}}`)
        break
    }
  }
  return `{${entries.join(',')}}`
}
