import { changedRules, type Rule, type RulePatch, type Rules } from '../../rules/index.js'
import type { StoreClient } from '../store/store-client.js'

/** Name of the rules among the values of the instance. */
export const RULES_STORED_AS = 'dynamicSearchRules'

/** The dynamic search rules, with a copy in memory, since every search reads them. Only tasks change them. */
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

  /** Reads the rules anew. */
  async reload(): Promise<void> {
    this.#take(((await this.#store.call('value', [RULES_STORED_AS])) as Rules | null) ?? {})
  }

  /** In no order; the same array until a rule changes. */
  all(): readonly Rule[] {
    return this.#list
  }

  /**
   * Changes a rule or makes it. The change is durable once the promise resolves, and idempotent.
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
    this.#take(rules)
  }

  #take(rules: Rules): void {
    this.#rules = rules
    this.#list = Object.values(rules)
  }
}
