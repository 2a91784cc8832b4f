import { changedRules, type Rule, type RulePatch, type Rules } from '../../rules/index.js'
import type { StoreClient } from '../store/store-client.js'

/** Under this name the rules are kept among the instance's values. */
export const RULES_STORED_AS = 'dynamicSearchRules'

/** The dynamic search rules, mirrored in memory because every search asks for them. Written by tasks alone. */
export class StoredRules {
  readonly #store: StoreClient
  #rules: Rules
  #list: readonly Rule[]

  private constructor(store: StoreClient, rules: Rules) {
    this.#store = store
    this.#rules = rules
    this.#list = Object.values(rules)
  }

  static async open(store: StoreClient): Promise<StoredRules> {
    const stored = (await store.call('value', [RULES_STORED_AS])) as Rules | null
    return new StoredRules(store, stored ?? {})
  }

  /** In no order; the same array until a rule changes. */
  all(): readonly Rule[] {
    return this.#list
  }

  /**
   * Changes a rule or makes it; durable once it resolves, and the same if it is done again.
   * @param patch null removes the rule @param at RFC 3339
   */
  change(uid: string, patch: RulePatch | null, at: string): Promise<void> {
    return this.#replace(changedRules(this.#rules, uid, patch, at))
  }

  /** Removes all rules. @returns how many there were */
  async clear(): Promise<number> {
    const { length } = this.#list
    await this.#replace({})
    return length
  }

  async #replace(rules: Rules): Promise<void> {
    await this.#store.call('putValue', [RULES_STORED_AS, rules])
    this.#rules = rules
    this.#list = Object.values(rules)
  }
}
