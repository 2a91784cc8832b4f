/** The answer of `POST /indexes/{uid}/explain`, as far as the page reads it. */
import type { RuleScore } from './types.ts'

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
  | { readonly kind: 'distinct'; readonly attribute: string; readonly id: string }
  | { readonly kind: 'noVector' }
  | { readonly kind: 'searchCutoff' }
  | { readonly kind: 'tooFarDown'; readonly hitsLookedAt: number; readonly maxTotalHits: number }

export interface Spelling {
  readonly kind: 'exact' | 'phrase' | 'prefix' | 'synonym' | 'typo' | 'split'
  readonly text: string
  readonly typos: number
  readonly documents: number
  readonly places: readonly { readonly attribute: string; readonly position: number }[]
}

export interface WordStep {
  readonly text: string
  readonly parts: readonly string[] | null
  readonly phrase: readonly (string | null)[] | null
  readonly typosMax: number
  readonly isUnfinished: boolean
  readonly isOptional: boolean
  readonly isInDocument: boolean
  readonly spellings: readonly Spelling[]
  readonly spellingsTotal: number
}

export interface Explanation {
  readonly id: string
  readonly isHit: boolean
  readonly position: number | null
  readonly rankingScore: number | null
  readonly rankingScoreDetails: Readonly<Record<string, RuleScore>> | null
  readonly foundBy: 'words' | 'vectors' | null
  readonly reasons: readonly Reason[]
  readonly query: {
    readonly text: string
    readonly ignoredWords: readonly string[]
    readonly excludedWords: readonly string[]
    readonly steps: readonly WordStep[]
    readonly missingWords: readonly string[]
  }
}
