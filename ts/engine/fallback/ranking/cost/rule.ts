/** What does a rule charge documents for reading the query one way? */
import type { TermNode } from '../../query/graph.js'
import type { Subset } from '../../query/term.js'

/** Cost of a step that a document does not satisfy. */
export const NEVER = 0xffff

/** How a rule charges for reading `to` after `from` (null at the start). */
export interface CostRule {
  /** The dearest alternative, whether or not any document takes it. */
  costMax(from: TermNode | null, to: TermNode): number
  /** Cost per document of `docids`, or `NEVER`. */
  costs(from: TermNode | null, to: TermNode, docids: Uint32Array): Uint16Array
  /** What is left of `to` once it was read at `cost`. */
  narrowed(to: TermNode, cost: number): Subset
}
