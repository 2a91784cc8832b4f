/**
 * Computes the state of rules after their pending tasks.
 *
 * Source: the API's page on dynamic search rules of version 1.57.
 */
import type { RulePatch } from './rule.js'
import type { RuleBook } from './rule-book.js'

/** An enqueued or processing task about rules. */
export interface PendingRuleTask {
  readonly uid: number
  /** RFC 3339. */
  readonly enqueuedAt: string
  /** Uid of the rule; null for a task that deletes all rules. */
  readonly ruleUid: string | null
  /** null: the task deletes the rule. */
  readonly patch: RulePatch | null
}

/** The members of a rule that pending tasks change, with their final values. */
type RuleTarget = RulePatch & {
  readonly uid: string
  /** Date of the last pending task; absent if none is pending. */
  readonly lastUpdatedAt?: string
}

/** Members of a new rule. */
const fresh = { description: null, precedence: null, active: true, conditions: {}, actions: {} } as const

/** Returns the tasks that concern a rule. */
export const tasksOfRule = (uid: string, tasks: readonly PendingRuleTask[]): readonly PendingRuleTask[] =>
  tasks.filter(({ ruleUid }) => ruleUid === null || ruleUid === uid)

/**
 * Returns the target of a rule; null if it will not exist.
 * @param exists true if the rule exists now
 * @param tasks all that concern it, oldest first
 */
export function targetOf(uid: string, exists: boolean, tasks: readonly PendingRuleTask[]): RuleTarget | null {
  let target: RuleTarget | null = exists ? { uid } : null
  for (const { patch, enqueuedAt } of tasks) {
    if (patch === null) {
      target = null
      continue
    }
    const before: RuleTarget = target ?? (exists ? { uid, ...fresh } : { uid })
    target = { ...before, ...withDefaults(patch), lastUpdatedAt: enqueuedAt }
  }
  return target
}

/** Replaces null members of a change by the defaults of a rule. */
function withDefaults(patch: RulePatch): RulePatch {
  const entries = Object.entries(patch).map(([name, value]) => [
    name,
    value ?? fresh[name as keyof typeof fresh],
  ])
  return Object.fromEntries(entries) as RulePatch
}

/** Returns the number of rules after the pending tasks, oldest first. */
export function targetCount({ all }: RuleBook, tasks: readonly PendingRuleTask[]): number {
  const uids = new Set(all.map(({ uid }) => uid))
  for (const { ruleUid, patch } of tasks) {
    if (ruleUid === null) uids.clear()
    else if (patch === null) uids.delete(ruleUid)
    else uids.add(ruleUid)
  }
  return uids.size
}
