/** Compares the facts of an instance and its copy. */
import type { Facts } from './facts.js'

/** Result of comparing one part. */
export interface Verdict {
  readonly part: keyof Facts
  readonly equal: number
  readonly all: number
  /** The first pair that differs. */
  readonly example: string | null
}

/** Minimum average share of common ids in approximate searches. */
const COMMON_MIN = 0.95

/** @param parts parts to compare; without tasks if the copy has no history */
export function verdicts(source: Facts, copy: Facts, parts: readonly (keyof Facts)[]): readonly Verdict[] {
  return parts.map((part) => {
    if (part === 'approximate') return approximateVerdict(source.approximate, copy.approximate)
    const [there, here] = [source[part], copy[part]]
    const all = Math.max(there.length, here.length)
    const differing = Array.from({ length: all }, (_, at) => at).filter((at) => there[at] !== here[at])
    const [first] = differing
    return {
      part,
      equal: all - differing.length,
      all,
      example: first === undefined ? null : firstDifference(there[first] ?? '', here[first] ?? ''),
    }
  })
}

/** Shows two texts around their first difference. */
function firstDifference(there: string, here: string): string {
  let at = 0
  while (at < there.length && there[at] === here[at]) at++
  const near = (text: string): string => text.slice(Math.max(0, at - 120), at + 80)
  return `${there.slice(0, 60)}…: there …${near(there)}… here …${near(here)}…`
}

function approximateVerdict(there: Facts['approximate'], here: Facts['approximate']): Verdict {
  const shares = there.map((ids, at) => {
    const found = new Set(here[at] ?? [])
    return ids.length === 0 ? 1 : ids.filter((id) => found.has(id)).length / ids.length
  })
  const mean = shares.reduce((sum, share) => sum + share, 0) / Math.max(1, shares.length)
  const isEqual = shares.length === 0 || mean >= COMMON_MIN
  return {
    part: 'approximate',
    equal: isEqual ? shares.length : shares.filter((share) => share >= COMMON_MIN).length,
    all: shares.length,
    example: isEqual ? null : `only ${(mean * 100).toFixed(1)} % of the ids are common`,
  }
}
