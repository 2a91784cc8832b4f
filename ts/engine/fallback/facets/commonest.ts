/**
 * Finds the most common values, and orders values with equal counts.
 *
 * Source: recorded answers; search §13.
 * 1. With few values, equal counts are in descending value order.
 * 2. With twenty or more values, four neighbours form a group and four groups a larger group, as long as five or more
 *    remain. In each step, the group or value with the highest count is taken: a group is expanded, a value is
 *    returned. A value precedes a group of equal count.
 * 3. So a value alone in its group comes after values of equal count in groups of higher count.
 */
const GROUP = 4
const GROUPS_MIN = 5

/** Counts of groups: level 1 has groups of four values, level 2 groups of four level-1 groups. */
class GroupCounts {
  private readonly levels: { readonly counts: Uint32Array; readonly last: Int32Array }[] = []

  constructor(values: number) {
    for (let size = values; Math.floor(size / GROUP) >= GROUPS_MIN; ) {
      size = Math.ceil(size / GROUP)
      this.levels.push({ counts: new Uint32Array(size), last: new Int32Array(size).fill(-1) })
    }
  }

  get top(): number {
    return this.levels.length
  }

  /** Group counts of a level, from level 1. */
  counts(level: number): Uint32Array {
    return this.levels[level - 1]!.counts
  }

  /** Counts a document with the value. Documents must be passed one after the other. */
  see(value: number, docid: number): void {
    let group = value
    for (const { counts, last } of this.levels) {
      group = Math.floor(group / GROUP)
      if (last[group] === docid) return
      last[group] = docid
      counts[group] = counts[group]! + 1
    }
  }
}

interface Node {
  readonly count: number
  readonly level: number
  readonly at: number
}

const comesBefore = (a: Node, b: Node): boolean =>
  a.count !== b.count ? a.count > b.count : a.level !== b.level ? a.level < b.level : a.at > b.at

/** A heap with the node that precedes all others at the top. */
class Heap {
  private readonly nodes: Node[] = []

  push(node: Node): void {
    const { nodes } = this
    let at = nodes.length
    for (; at > 0; ) {
      const parent = (at - 1) >>> 1
      if (!comesBefore(node, nodes[parent]!)) break
      nodes[at] = nodes[parent]!
      at = parent
    }
    nodes[at] = node
  }

  pop(): Node | undefined {
    const { nodes } = this
    const top = nodes[0]
    const last = nodes.pop()
    if (last === undefined || nodes.length === 0) return top
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= nodes.length) break
      if (child + 1 < nodes.length && comesBefore(nodes[child + 1]!, nodes[child]!)) child++
      if (!comesBefore(nodes[child]!, last)) break
      nodes[at] = nodes[child]!
      at = child
    }
    nodes[at] = last
    return top
  }
}

/** Counts documents per value and returns the most common values. */
export class CommonestValues {
  private readonly counts: Uint32Array
  private readonly levels: GroupCounts

  /** @param values number of values in the whole index, numbered in value order */
  constructor(values: number) {
    this.counts = new Uint32Array(values)
    this.levels = new GroupCounts(values)
  }

  /** Counts a value of a document, once per document. Documents must be passed one after the other. */
  see(value: number, docid: number): void {
    this.counts[value] = this.counts[value]! + 1
    this.levels.see(value, docid)
  }

  /** Returns the first `most` values. */
  first(most: number): number[] {
    const { counts, levels } = this
    const heap = new Heap()
    const open = (level: number, from: number, to: number): void => {
      const of = level === 0 ? counts : levels.counts(level)
      for (let at = from; at < Math.min(to, of.length); at++)
        if (of[at]! > 0) heap.push({ count: of[at]!, level, at })
    }
    open(levels.top, 0, Number.POSITIVE_INFINITY)
    const values: number[] = []
    while (values.length < most) {
      const next = heap.pop()
      if (next === undefined) break
      if (next.level === 0) values.push(next.at)
      else open(next.level - 1, next.at * GROUP, (next.at + 1) * GROUP)
    }
    return values
  }
}
