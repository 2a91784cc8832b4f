import { changedRules, presentRule, RuleBook, type RulePatch, type Rules } from '../rules/index.js'
import type { StoreClient } from '../store/store-client.js'

/** Key of the rules among the stored values of the instance. */
export const RULES_STORED_AS = 'dynamicSearchRules'

/** The dynamic search rules. Only tasks change them. A copy is kept in memory because every search reads them. */
export class StoredRules {
  readonly #store: StoreClient
  #rules: Rules
  #book: RuleBook

  private constructor(store: StoreClient, rules: Rules, book: RuleBook) {
    this.#store = store
    this.#rules = rules
    this.#book = book
  }

  static async open(store: StoreClient): Promise<StoredRules> {
    const rules = await storedRules(store)
    return new StoredRules(store, rules, await RuleBook.of(Object.values(rules)))
  }

  /** Reads the rules again. */
  async reload(): Promise<void> {
    await this.#take(await storedRules(this.#store))
  }

  /** Returns the same object until a rule changes. */
  book(): RuleBook {
    return this.#book
  }

  /**
   * Changes or creates a rule. The change is durable once the promise resolves, and idempotent.
   * @param patch null removes the rule @param at RFC 3339
   */
  change(uid: string, patch: RulePatch | null, at: string): Promise<void> {
    return this.#replace(changedRules(this.#rules, uid, patch, at))
  }

  /** Removes all rules and returns their number. */
  async clear(): Promise<number> {
    const { length } = this.#book.all
    await this.#replace({})
    return length
  }

  async #replace(rules: Rules): Promise<void> {
    await this.#store.call('putValue', [RULES_STORED_AS, rules])
    await this.#take(rules)
  }

  async #take(rules: Rules): Promise<void> {
    this.#rules = rules
    this.#book = await RuleBook.of(Object.values(rules), this.#book)
  }
}

/** Reads the rules. Converts rules of earlier versions. */
async function storedRules(store: StoreClient): Promise<Rules> {
  const stored = ((await store.call('value', [RULES_STORED_AS])) as Rules | null) ?? {}
  return Object.fromEntries(Object.entries(stored).map(([uid, rule]) => [uid, presentRule(rule)]))
}
