import type { FilterValue } from '../../engine/index.js'
import { ownValue } from '../../parse/index.js'

/** A dynamic search rule: pins or scales documents in searches that meet its conditions. */
export interface Rule {
  readonly uid: string
  readonly description: string | null
  /** Time of the last write, RFC 3339. */
  readonly lastUpdatedAt: string
  /** Lower values come first; null comes last. */
  readonly precedence: number | null
  readonly active: boolean
  readonly conditions: Conditions
  readonly actions: Actions
}

/** All conditions must hold. Absent conditions always hold. */
export interface Conditions {
  /** RFC 3339, both inclusive. */
  readonly time?: { readonly start?: string; readonly end?: string }
  readonly query?: { readonly isEmpty?: boolean; readonly words?: string }
  /** Attribute → value that the filter of the search must require. */
  readonly filter?: { readonly values: Readonly<Record<string, unknown>> }
}

/** Lists without elements are absent. */
export interface Actions {
  readonly pin?: readonly PinAction[]
  readonly scale?: readonly ScaleAction[]
}

/** A document with a fixed position. Without `indexUid`: in every index. */
export interface PinAction {
  readonly id: string
  readonly position: number
  readonly indexUid?: string
}

/**
 * Multiplies the score of documents by `weight`; 0 hides them. Selects documents by id or by filter. Without
 * `indexUid`: in every index.
 */
export interface ScaleAction {
  readonly weight: number
  readonly ids?: readonly string[]
  readonly filter?: FilterValue
  readonly indexUid?: string
}

/** A change of a rule: keeps absent members and resets null members. */
export interface RulePatch {
  readonly description?: string | null
  readonly precedence?: number | null
  readonly active?: boolean | null
  readonly conditions?: Conditions | null
  readonly actions?: Actions | null
}

/** A rule of a single search. */
export type InlineRule = Omit<Rule, 'description' | 'lastUpdatedAt'>

/** A document pinned to a position. */
export interface Pin {
  readonly id: string
  readonly position: number
}

/** All rules, by uid. */
export type Rules = Readonly<Record<string, Rule>>

/** Uid of a bookkeeping document among the rules in dumps of the API. No rule may have it. */
export const RESERVED_RULE_UID = '__meilisearch_metadata'

/**
 * Changes or adds one rule.
 * @param patch null removes the rule
 * @param at RFC 3339
 */
export function changedRules(rules: Rules, uid: string, patch: RulePatch | null, at: string): Rules {
  const { [uid]: _replaced, ...others } = rules
  const old = ownValue(rules, uid)
  if (patch === null) return others
  const kept = <T>(change: T | null | undefined, before: T | undefined, otherwise: T): T =>
    change === undefined ? (before ?? otherwise) : (change ?? otherwise)
  return {
    ...others,
    [uid]: {
      uid,
      description: kept(patch.description, old?.description, null),
      lastUpdatedAt: at,
      precedence: kept(patch.precedence, old?.precedence, null),
      active: kept(patch.active, old?.active, true),
      conditions: kept(patch.conditions, old?.conditions, {}),
      actions: kept(patch.actions, old?.actions, {}),
    },
  }
}
