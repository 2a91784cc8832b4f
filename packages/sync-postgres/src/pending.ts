/** Changes that were received and not yet taken. */
import type { Key } from '../../../ts/transfer/sync/source.js'
import type { LogicalMessage, Relation, Tuple } from './pgoutput.js'
import type { Plan } from './plan.js'

/** Changes of one mapping. */
export interface PendingChanges {
  isTruncated: boolean
  recopy: string | null
  /** By the text of the key. */
  keys: Map<string, Key>
  /** By the number of the relation: values of its columns. */
  related: Map<number, Map<string, Key>>
}

/** Collected changes of transactions. */
export interface Collected {
  readonly changes: ReadonlyMap<string, PendingChanges>
  /** Position after the last complete transaction; null: there is none. */
  readonly position: bigint | null
  readonly rows: number
  readonly committedMs: number | null
  readonly xids: ReadonlySet<number>
}

/** A mapping that a table belongs to. */
interface Watcher {
  readonly uid: string
  /** Number of the relation; null: the table of the mapping itself. */
  readonly relation: number | null
  /** Positions of the key columns in a row; null: a column is missing. */
  readonly columns: readonly number[] | null
  readonly padded: ReadonlySet<number>
}

/** Collects the changes of a stream, merged by row. */
export class PendingBatch {
  readonly #plans: () => Iterable<Plan>
  /** Tables of the stream by oid. The database describes each once, even if no mapping can be read then. */
  readonly #relations = new Map<number, Relation>()
  /** Mappings of each table, as of `#watchedPlans`. */
  readonly #watchers = new Map<number, readonly Watcher[]>()
  #watchedPlans: readonly Plan[] = []
  #changes = new Map<string, PendingChanges>()
  #xids = new Set<number>()
  #position: bigint | null = null
  #committedMs: number | null = null
  #rows = 0
  #keys = 0
  #transaction: { readonly xid: number; readonly committedMs: number } | null = null

  constructor(plans: () => Iterable<Plan>) {
    this.#plans = plans
  }

  /** Number of keys. */
  get keys(): number {
    return this.#keys
  }

  /** True if there is something to take. */
  get isReady(): boolean {
    return this.#changes.size > 0 || this.#position !== null
  }

  take(): Collected {
    const taken = {
      changes: this.#changes,
      position: this.#position,
      rows: this.#rows,
      committedMs: this.#committedMs,
      xids: this.#xids,
    }
    this.#changes = new Map()
    this.#xids = new Set()
    this.#position = null
    this.#committedMs = null
    this.#rows = 0
    this.#keys = 0
    return taken
  }

  /** Notes that all changes before `end` were received. */
  idle(end: bigint): void {
    if (this.#transaction === null) this.#position = end
  }

  add(message: LogicalMessage): void {
    switch (message.kind) {
      case 'begin':
        this.#transaction = message
        return
      case 'commit':
        this.#position = message.end
        this.#transaction = null
        return
      case 'relation':
        this.#relations.set(message.relation.oid, message.relation)
        this.#watchers.delete(message.relation.oid)
        return
      case 'row':
        this.#noteTransaction()
        for (const watcher of this.#watching(message.relation))
          this.#addRow(watcher, message.before, message.after)
        return
      case 'truncate':
        this.#noteTransaction()
        for (const relation of message.relations)
          for (const watcher of this.#watching(relation)) this.#truncate(watcher)
        return
      case 'other':
        return
    }
  }

  #noteTransaction(): void {
    this.#rows++
    if (this.#transaction === null) return
    this.#xids.add(this.#transaction.xid)
    this.#committedMs ??= this.#transaction.committedMs
  }

  #watching(oid: number): readonly Watcher[] {
    const plans = [...this.#plans()]
    if (
      plans.length !== this.#watchedPlans.length ||
      plans.some((plan, at) => plan !== this.#watchedPlans[at])
    ) {
      this.#watchers.clear()
      this.#watchedPlans = plans
    }
    const known = this.#watchers.get(oid)
    if (known !== undefined) return known
    const relation = this.#relations.get(oid)
    const found = relation === undefined ? [] : this.#watchersOf(relation)
    this.#watchers.set(oid, found)
    return found
  }

  #watchersOf({ schema, name, columns }: Relation): readonly Watcher[] {
    const watchers: Watcher[] = []
    for (const { uid, table, key, padded, relations } of this.#watchedPlans) {
      const watch = (relation: number | null, names: readonly string[]): void => {
        const positions = names.map((column) => columns.indexOf(column))
        const isComplete = positions.every((position) => position >= 0)
        watchers.push({
          uid,
          relation,
          columns: isComplete ? positions : null,
          padded: new Set(relation === null ? positions.filter((_, at) => padded.has(names[at]!)) : []),
        })
      }
      if (table.schema === schema && table.name === name) watch(null, key)
      for (const [at, one] of relations.entries())
        if (one.table.schema === schema && one.table.name === name) watch(at, one.columns)
    }
    return watchers
  }

  #addRow(watcher: Watcher, before: Tuple | null, after: Tuple | null): void {
    const changes = this.#changesOf(watcher.uid)
    if (watcher.columns === null) {
      changes.recopy = 'a key column was renamed or removed'
      return
    }
    const into = watcher.relation === null ? changes.keys : relatedOf(changes, watcher.relation)
    const size = into.size
    const old = before === null ? null : keyOf(watcher, before)
    const key = after === null ? null : keyOf(watcher, after, before)
    for (const one of [old, key]) if (one !== null) into.set(one.join('\0'), one)
    this.#keys += into.size - size
  }

  #truncate({ uid, relation }: Watcher): void {
    const changes = this.#changesOf(uid)
    if (relation !== null) {
      changes.recopy = 'a related table was truncated'
      return
    }
    changes.isTruncated = true
    changes.keys.clear()
  }

  #changesOf(uid: string): PendingChanges {
    const known = this.#changes.get(uid)
    if (known !== undefined) return known
    const created = { isTruncated: false, recopy: null, keys: new Map(), related: new Map() }
    this.#changes.set(uid, created)
    return created
  }
}

function relatedOf({ related }: PendingChanges, relation: number): Map<string, Key> {
  const known = related.get(relation)
  if (known !== undefined) return known
  const created = new Map<string, Key>()
  related.set(relation, created)
  return created
}

/** Returns the key of a row; null if the log does not contain it. @param before replaces values that are not in the log */
function keyOf({ columns, padded }: Watcher, row: Tuple, before: Tuple | null = null): Key | null {
  const key: string[] = []
  for (const at of columns ?? []) {
    const value = row[at] === undefined ? before?.[at] : row[at]
    if (value === null || value === undefined) return null
    key.push(padded.has(at) ? value.replace(/ +$/, '') : value)
  }
  return key
}
