import { storedSets } from '../../__test__/tasks/sets.js'
import type { Value } from '../../ts/sqlite/driver.js'
import type { TaskContent } from '../../ts/tasks/index.js'
import type { Disk, Query } from './disk.js'
import type { Applied, EngineFiles } from './files.js'
import type { World } from './world.js'

const taskColumns = [
  'uid',
  'batch_uid',
  'index_uid',
  'status',
  'type',
  'canceled_by',
  'enqueued_at',
  'started_at',
  'finished_at',
  'details',
  'error',
  'custom_metadata',
] as const
type Row = Readonly<Record<(typeof taskColumns)[number], Value>>
type BatchRow = Readonly<Record<'uid' | 'ended' | 'stats', Value>>

type Cursor = Readonly<Record<'delivered', Value>>

const orderColumns = ['uid', 'batch_uid', 'index_uid', 'type', 'status', 'touches'] as const
type OrderRow = Readonly<Record<(typeof orderColumns)[number], Value>>

/** The rows that are checked after each transaction. */
const checked: readonly Query[] = [
  { columns: taskColumns, rest: 'FROM tasks ORDER BY uid' },
  { columns: ['id'], rest: 'FROM catalogue' },
  { columns: ['uid', 'ended', 'stats'], rest: 'FROM batches WHERE ended IS NOT NULL' },
  { columns: ['delivered'], rest: 'FROM webhooks WHERE body IS NOT NULL' },
  {
    columns: orderColumns,
    rest: 'FROM (SELECT t.*, c.touches FROM tasks t JOIN contents c ON c.uid = t.uid) ORDER BY uid',
  },
]

/** Name given by the client → content of the task. */
export type Contents = ReadonlyMap<string, TaskContent>

const isFinal = ({ status }: Row) => status === 'succeeded' || status === 'failed' || status === 'canceled'

/** Columns of an ended task that never change. A swap may rename its index. */
const lastingColumns = [
  'uid',
  'status',
  'type',
  'batch_uid',
  'canceled_by',
  'started_at',
  'finished_at',
  'error',
  'custom_metadata',
] as const
const lasting = (row: Row) => JSON.stringify(lastingColumns.map((name) => row[name]))

/** Setting the same primary key again changes nothing, so after a crash such a task may run again. */
const isRepeated = (entry: Applied, before: Applied | undefined) =>
  entry.kind === 'primaryKey' && before?.kind === 'primaryKey' && before.uid === entry.uid

/** Observes a run from outside, and reports violated invariants. */
export class Oracle {
  readonly #world: World
  readonly #disk: Disk
  readonly #engine: EngineFiles
  readonly #contents: Contents
  /** Task uid → the task when it ended. */
  readonly #ended = new Map<number, Row>()
  readonly #gone = new Set<number>()
  readonly #acknowledged = new Map<number, string>()
  /** Ids of indexes that have ever been in the catalogue. */
  readonly #indexes = new Set<unknown>()
  readonly #batches = new Map<number, BatchRow>()
  readonly #delivered = new Map<number, ReadonlyMap<number, string>>()
  /** Tasks and batches that ended on another machine. */
  readonly #inherited = { tasks: new Set<number>(), batches: new Set<number>() }
  /** Names of deleted tasks. */
  readonly deleted = new Set<string>()
  #checks = 0

  constructor(world: World, disk: Disk, engine: EngineFiles, contents: Contents) {
    this.#world = world
    this.#disk = disk
    this.#engine = engine
    this.#contents = contents
  }

  /** Registers existing tasks and batches as the work of another machine. Called at the first start. */
  inherit(): void {
    for (const { uid } of this.#disk.rows(['uid'], 'FROM batches WHERE ended IS NOT NULL'))
      this.#inherited.batches.add(Number(uid))
    for (const row of this.#disk.rows(taskColumns, 'FROM tasks')) {
      if (isFinal(row)) this.#inherited.tasks.add(Number(row.uid))
      if (row.custom_metadata !== null) this.#acknowledged.set(Number(row.uid), String(row.custom_metadata))
    }
    this.check()
  }

  /** Names of existing tasks. */
  names(): ReadonlySet<string> {
    return new Set(
      this.#disk.rows(['custom_metadata'], 'FROM tasks').map((row) => String(row.custom_metadata)),
    )
  }

  /** True if the catalogue has ever named that index. */
  wasNamed(id: string): boolean {
    return this.#indexes.has(id)
  }

  /** Called when a client receives the acknowledgement of its task. */
  acknowledge(uid: number, name: string): void {
    if (this.#acknowledged.has(uid)) this.#world.problem(`task uid ${uid} was assigned twice`)
    this.#acknowledged.set(uid, name)
  }

  /** Called when the webhook has accepted a batch. */
  deliver(batchUid: number, tasks: readonly { readonly uid: number; readonly status: string }[]): void {
    const positionOf = (uid: number) => Number(this.#batches.get(uid)?.ended)
    const last = [...this.#delivered.keys()].find((uid) => positionOf(uid) > positionOf(batchUid))
    // A power cut may lose the cursor of a webhook, which then receives a batch again.
    if (last !== undefined && !this.#delivered.has(batchUid))
      this.#world.problem(`batch ${batchUid} was delivered after batch ${last}, which ended later`)
    this.#delivered.set(batchUid, new Map(tasks.map(({ uid, status }) => [uid, status])))
  }

  /** Checks the store after each of its transactions. */
  check(): void {
    const [tasks, catalogue, batches, webhooks, waiting] = this.#disk
      .texts(checked)
      .map((text) => JSON.parse(text)) as [Row[], { id: string }[], BatchRow[], Cursor[], OrderRow[]]
    const present = new Set(tasks.map(({ uid }) => Number(uid)))
    let arrival = 0
    for (const row of tasks) {
      if (Number(row.enqueued_at) < arrival)
        this.#world.problem(`task ${row.uid} arrived earlier than the task before it`)
      arrival = Number(row.enqueued_at)
      this.#checkTask(row)
    }
    for (const [uid, row] of this.#ended) {
      if (present.has(uid)) continue
      this.#gone.add(uid)
      this.deleted.add(String(row.custom_metadata))
    }
    for (const uid of this.#acknowledged.keys()) {
      if (!present.has(uid) && !this.#ended.has(uid)) this.#world.problem(`task ${uid} is lost`)
    }
    for (const { id } of catalogue) this.#indexes.add(id)
    for (const row of batches) this.#batches.set(Number(row.uid), row)
    this.#checkCursors(webhooks)
    this.#checkOrder(waiting)
    if (this.#checks++ % 4 === 0) this.#checkSets()
  }

  #checkTask(row: Row): void {
    const uid = Number(row.uid)
    const known = this.#ended.get(uid)
    if (known === undefined) {
      if (isFinal(row)) this.#ended.set(uid, row)
    } else if (lasting(known) !== lasting(row)) {
      this.#world.problem(`task ${uid} ended as ${lasting(known)} and is now ${lasting(row)}`)
    }
    const name = this.#acknowledged.get(uid)
    if (name !== undefined && name !== row.custom_metadata) this.#world.problem(`task ${uid} was replaced`)
  }

  #checkCursors(webhooks: readonly Cursor[]): void {
    for (const { delivered } of webhooks) {
      for (const [uid, { ended }] of this.#batches) {
        const isKnown = this.#delivered.has(uid) || this.#inherited.batches.has(uid)
        if (Number(ended) <= Number(delivered) && !isKnown) {
          this.#world.problem(`the cursor of a webhook passed batch ${uid}, which was not delivered`)
        }
      }
    }
  }

  /** Running batches share no index, and none has a task while an older task of the same index waits. */
  #checkOrder(rows: readonly OrderRow[]): void {
    const waiting = new Map<string, Value>()
    const holders = new Map<string, Value>()
    for (const { uid, batch_uid, index_uid, type, status, touches } of rows) {
      const touched = touches === null ? [] : (JSON.parse(String(touches)) as string[])
      for (const name of index_uid === null ? touched : [String(index_uid), ...touched]) {
        if (status === 'enqueued' && type !== 'indexCompaction') waiting.set(name, waiting.get(name) ?? uid)
        if (status !== 'processing') continue
        if (waiting.has(name) && type !== 'indexCompaction')
          this.#world.problem(`task ${uid} runs before task ${waiting.get(name)} of the index ${name}`)
        const holder = holders.get(name) ?? batch_uid
        if (holder !== batch_uid)
          this.#world.problem(`batches ${holder} and ${batch_uid} run at the same time on the index ${name}`)
        holders.set(name, holder)
      }
    }
  }

  #checkSets(): void {
    const { stored, real } = storedSets((columns, rest) => this.#disk.rows(columns, rest))
    const texts = (sets: typeof stored) => sets.map((set) => JSON.stringify(set))
    const [found, expected] = [new Set(texts(stored)), new Set(texts(real))]
    for (const set of found) if (!expected.has(set)) this.#world.problem(`listings would find ${set}`)
    for (const set of expected) if (!found.has(set)) this.#world.problem(`listings would not find ${set}`)
  }

  /** Checks everything at the end, when no task waits. */
  conclude(): void {
    this.check()
    this.#checkSets()
    const problem = (what: string) => this.#world.problem(what)
    for (const { uid, status } of this.#disk.rows(['uid', 'status'], 'FROM tasks')) {
      if (!this.#ended.has(Number(uid))) problem(`task ${uid} is still ${status}`)
    }
    const held = this.#disk.rows(['uid'], 'FROM contents')
    if (held.length > 0) problem(`the contents of ${held.length} ended tasks are still stored`)
    const unfinished = this.#disk.rows(['uid'], 'FROM batches WHERE finished_at IS NULL')
    if (unfinished.length > 0) problem(`batch ${unfinished[0]?.uid} never finished`)
    this.#concludeIndexes()
    this.#concludeApplied()
    this.#concludeCounters()
    this.#concludeBatches()
  }

  #concludeIndexes(): void {
    const known = this.#disk.rows(['id'], 'FROM catalogue').map(({ id }) => String(id))
    const onDisk = [...this.#engine.indexes.keys()]
    if (JSON.stringify(known.sort()) !== JSON.stringify(onDisk.sort())) {
      this.#world.problem(`the catalogue has ${known.length} indexes, the engine ${onDisk.length}`)
    }
  }

  /** Checks that each task was applied according to its outcome, in the order of uids. */
  #concludeApplied(): void {
    const times = new Map<number, number>()
    for (const [id, log] of this.#engine.applied) {
      if (!this.#indexes.has(id)) continue
      const uids = log
        .filter((entry, position) => !this.#onlyCreatedIndex(entry) && !isRepeated(entry, log[position - 1]))
        .map(({ uid }) => uid)
      for (const [position, uid] of uids.entries()) {
        times.set(uid, (times.get(uid) ?? 0) + 1)
        if (uid <= (uids[position - 1] ?? -1))
          this.#world.problem(`task ${uid} was applied to an index after a later task`)
      }
    }
    for (const [uid, row] of this.#ended) {
      if (this.#inherited.tasks.has(uid)) continue
      const content = this.#contents.get(String(row.custom_metadata))
      if (content === undefined) continue
      const expected = this.#expected(uid, row, content)
      const found = times.get(uid) ?? 0
      if (expected !== null && found !== expected) {
        this.#world.problem(`task ${uid} (${content.kind}, ${row.status}) was applied ${found} times`)
      }
    }
  }

  /** True if a task that failed or had no effect only created its index. */
  #onlyCreatedIndex({ uid, kind }: Applied): boolean {
    const content = this.#contents.get(String(this.#ended.get(uid)?.custom_metadata))
    return kind === 'primaryKey' && (content?.kind === 'documents' || content?.kind === 'settings')
  }

  /** Returns how often the engine must have applied the task; null if undetermined. */
  #expected(uid: number, row: Row, { kind }: TaskContent): number | null {
    const members = [...this.#ended.values()].filter((other) => other.batch_uid === row.batch_uid)
    const kindOf = (other: Row) => this.#contents.get(String(other.custom_metadata))?.kind
    if (row.status !== 'succeeded') {
      const { code } = JSON.parse(String(row.error ?? '{}')) as { code?: string }
      const isFault = code === 'internal' || code === 'no_space_left_on_device'
      if (isFault && !this.#engine.failed.has(uid)) {
        this.#world.problem(`task ${uid} failed without a reason: ${row.error}`)
      }
      return 0
    }
    if (members.some((other) => kindOf(other) === 'indexDeletion')) return 0
    switch (kind) {
      case 'documents':
      case 'deleteByIds':
      case 'deleteByFilter':
      case 'clear':
      case 'settings':
      case 'indexCreation':
        return 1
      default:
        return null
    }
  }

  #concludeCounters(): void {
    let deleted = 0
    for (const [uid, { type, status, details }] of this.#ended) {
      if (status !== 'succeeded' || this.#inherited.tasks.has(uid)) continue
      const counters = JSON.parse(String(details)) as { canceledTasks?: number; deletedTasks?: number }
      if (type === 'taskDeletion') deleted += counters.deletedTasks ?? Number.NaN
      if (type === 'taskCancelation') {
        const canceled = [...this.#ended.values()].filter((row) => row.canceled_by === uid && row.uid !== uid)
        if (canceled.length !== counters.canceledTasks) {
          this.#world.problem(
            `task ${uid} canceled ${canceled.length} tasks and counts ${counters.canceledTasks}`,
          )
        }
      }
    }
    if (deleted !== this.#gone.size) {
      this.#world.problem(`${this.#gone.size} tasks are gone, ${deleted} are counted as deleted`)
    }
  }

  #concludeBatches(): void {
    for (const [uid, batch] of this.#batches) {
      if (this.#inherited.batches.has(uid)) continue
      const members = [...this.#ended.values()].filter((row) => row.batch_uid === uid)
      const { totalNbTasks } = JSON.parse(String(batch.stats)) as { totalNbTasks: number }
      if (totalNbTasks !== members.length) {
        this.#world.problem(`batch ${uid} counts ${totalNbTasks} tasks and has ${members.length}`)
      }
      const delivered = this.#delivered.get(uid)
      if (members.some((row) => delivered?.get(Number(row.uid)) !== row.status)) {
        this.#world.problem(`a webhook did not receive the outcomes of batch ${uid}`)
      }
    }
  }
}
