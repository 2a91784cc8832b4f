/** The parts of the answer of `POST /indexes/{uid}/explain` that the page uses. */
import type { Spelling, WordStep } from '../../ts/engine/explain-facts.ts'
import type { RuleScore } from './types.ts'

export type { Spelling, WordStep }

export interface JudgedClause {
  readonly filter: string
  readonly operator: string
  readonly passes: boolean
  readonly clauses: readonly JudgedClause[]
}

export type Reason =
  | { readonly kind: 'filter'; readonly clause: JudgedClause }
  | { readonly kind: 'excludedWords' }
  | { readonly kind: 'missingWords'; readonly words: readonly string[] }
  | { readonly kind: 'rankingScoreThreshold'; readonly score: number; readonly threshold: number }
  | { readonly kind: 'rule'; readonly uid: string }
  | { readonly kind: 'distinct'; readonly attribute: string; readonly id: string }
  | { readonly kind: 'searchCutoff' }
  | { readonly kind: 'tooFarDown'; readonly hitsLookedAt: number; readonly maxTotalHits: number }

export interface Explanation {
  readonly id: string
  readonly isHit: boolean
  readonly position: number | null
  readonly rankingScore: number | null
  readonly rankingScoreDetails: Readonly<Record<string, RuleScore>> | null
  readonly foundBy: 'words' | 'vectors' | 'rule' | null
  readonly reasons: readonly Reason[]
  readonly query: {
    readonly text: string
    readonly languages: readonly string[]
    readonly ignoredWords: readonly string[]
    readonly excludedWords: readonly string[]
    readonly steps: readonly WordStep[]
    readonly missingWords: readonly string[]
  }
}
