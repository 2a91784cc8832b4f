import { ownValue } from '../parse/index.js'

/** A dynamic search rule: when a search is like this, these documents stand at these places. */
export interface Rule {
  readonly uid: string
  readonly description: string | null
  /** When it was last written, RFC 3339. */
  readonly lastUpdatedAt: string
  /** Lower counts more; null counts least. */
  readonly precedence: number | null
  readonly active: boolean
  readonly conditions: Conditions
  readonly actions: readonly Action[]
}

/** All of them must hold; what is absent always does. */
export interface Conditions {
  /** RFC 3339, both inclusive. */
  readonly time?: { readonly start?: string; readonly end?: string }
  readonly query?: { readonly isEmpty?: boolean; readonly words?: string }
  /** Attribute → value the search's filter must ask for. */
  readonly filter?: { readonly values: Readonly<Record<string, unknown>> }
}

export interface Action {
  /** Without `indexUid`: in every index. */
  readonly selector: { readonly indexUid?: string; readonly id: string }
  readonly action: { readonly type: 'pin'; readonly position: number }
}

/** A change of a rule: what is absent stays, null resets. */
export interface RulePatch {
  readonly description?: string | null
  readonly precedence?: number | null
  readonly active?: boolean | null
  readonly conditions?: Conditions | null
  readonly actions?: readonly Action[] | null
}

/** A document at a place of the page. */
export interface Pin {
  readonly id: string
  readonly position: number
}

/** All rules, by uid. */
export type Rules = Readonly<Record<string, Rule>>

/**
 * The rules after a change of one of them, which may be new.
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
      actions: kept(patch.actions, old?.actions, []),
    },
  }
}
