/** Interface of rules that assign costs to readings of the query. */
import type { TermNode } from '../../query/graph.js'
import type { DerivationKinds } from '../../query/term.js'

/** Cost of a step that a document does not match. */
export const NEVER = 0xffff

/** Costs of reading `to` after `from` (null at the start). */
export interface CostRule {
  /** True if costs depend on `from`, not only on `to`. */
  readonly readsPrevious: boolean
  /** Highest cost of any alternative, whether or not a document has it. */
  costMax(from: TermNode | null, to: TermNode): number
  /** Cost of each document in `docids`, or `NEVER`. */
  costs(from: TermNode | null, to: TermNode, docids: Uint32Array): Uint16Array
  /** Derivations of `to` that stay in play after it was read at `cost`. */
  narrowed(to: TermNode, cost: number): DerivationKinds
}
