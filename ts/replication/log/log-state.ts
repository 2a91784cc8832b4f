import { catalogueIn, mergedChanges, type RowChanges, replicaSchema } from '../../tasks/index.js'
import { type FilePart, type LogRecord, type PartLocation, PublishedFiles } from '../object-store/index.js'
import { type Body, DamagedBodyError, decodeBody, type Reached, rowsOf } from './body.js'
import type { Checkpoint } from './checkpoint.js'
import { NewerFormatError } from './format.js'

/** The rows of a log record; null: it has none. */
interface RecordRows extends Reached {
  readonly changes: RowChanges | null
}

type ChangedRows = RecordRows & { readonly changes: RowChanges }

/**
 * The state that results from the records of a log: the indexes, and the locations of their files.
 *
 * An open record takes effect once a later record of its epoch completes it. A fence in between discards it, since its
 * writer never reached a complete state.
 */
export class LogState {
  readonly files = new PublishedFiles()
  /** Uid of an index → its id. */
  readonly #ids = new Map<string, string>()
  #open: RecordRows[] = []
  #reached: Reached | null = null
  /**
   * The last transaction of the checkpoint image. The image is newer than its checkpoint: its last transactions are
   * also in log records after the checkpoint.
   */
  #image: Reached | null = null
  #hasImage = true

  /**
   * Applies log record `seq`.
   * @returns the rows to change in the task store; null: none
   * @throws DamagedBodyError
   */
  apply(seq: number, record: LogRecord): RowChanges | null {
    if (record.kind === 'changes') return this.take(seq, decodeBody(seq, record.body))
    this.fenced()
    return null
  }

  /** Applies a fence: discards open records of the former writer. */
  fenced(): void {
    this.#open = []
  }

  /** Like `apply`, for a record whose body is decoded already. */
  take(seq: number, body: Omit<Body, 'inline'>): RowChanges | null {
    if (body.rows !== '' && body.schema > replicaSchema)
      throw new NewerFormatError(
        `log record ${seq}`,
        `rows of version ${body.schema}, this one reads ${replicaSchema}`,
      )
    if (body.rows !== '' && body.schema !== replicaSchema)
      throw new DamagedBodyError(
        `log record ${seq} has rows of version ${body.schema} of the task store, this build reads ${replicaSchema}`,
      )
    const { outbox, last } = body
    const given: RecordRows = { outbox, last, changes: body.rows === '' ? null : rowsOf(seq, body) }
    // Nothing was changed so far, so a record that failed to decode can be applied again later.
    if (body.isOpen) {
      this.#open.push(given)
      return null
    }
    // Skip a page that was sent twice: later pages may have newer rows.
    const fresh = [...this.#open, given].filter(
      (rows): rows is ChangedRows => rows.changes !== null && !hasPassed(this.#reached, rows),
    )
    this.#open = []
    for (const { changes } of fresh) this.#name(changes)
    for (const [uid, id] of body.adopted) this.#ids.set(uid, id)
    const newest = fresh.at(-1)
    if (newest !== undefined) this.#reached = { outbox: newest.outbox, last: newest.last }
    this.#hasImage ||= hasPassed(this.#reached, this.#image)
    for (const [id, change] of Object.entries(body.files)) this.files.apply(seq, id, change)
    const live = new Set(this.#ids.values())
    for (const id of this.files.ids()) if (!live.has(id)) this.files.drop(id)
    const unknown = fresh.filter((rows) => !hasPassed(this.#image, rows))
    return unknown.length === 0 ? null : mergedChanges(unknown.map(({ changes }) => changes))
  }

  /** The last transaction in the log; null: none. */
  get reached(): Reached | null {
    return this.#reached
  }

  /** True if the log was read up to the checkpoint image, which is a little newer than its checkpoint. */
  get hasImage(): boolean {
    return this.#hasImage
  }

  /** True if the log ends with open records. */
  get isOpen(): boolean {
    return this.#open.length > 0
  }

  #name(changes: RowChanges): void {
    const { gone, written } = catalogueIn(changes)
    for (const uid of gone) this.#ids.delete(uid)
    for (const [uid, id] of written) this.#ids.set(uid, id)
  }

  /** Ids of the indexes. */
  ids(): readonly string[] {
    return [...this.#ids.values()]
  }

  /** Bytes of all files. */
  bytes(): number {
    const parts = this.files.ids().flatMap((id) => [...this.files.of(id).values()].flat())
    return parts.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** Changes locations of parts. @param locationOf returns null for a part that stays */
  relocate(locationOf: (location: PartLocation) => PartLocation | null): void {
    const moved = (part: FilePart): FilePart => ({
      ...part,
      location: locationOf(part.location) ?? part.location,
    })
    for (const id of this.files.ids()) {
      const files = [...this.files.of(id)].map(([name, parts]) => [name, parts.map(moved)] as const)
      this.files.set(id, new Map(files))
    }
  }

  /** Returns the fields of a checkpoint of this state. */
  described(): Pick<Checkpoint, 'ids' | 'files' | 'reached'> {
    const files = this.files.ids().map((id) => [id, Object.fromEntries(this.files.of(id))] as const)
    return { ids: [...this.#ids], files: Object.fromEntries(files), reached: this.#reached }
  }

  /** Loads the state of a checkpoint, in place of the records that it covers. */
  load({ ids, files, reached, image }: Pick<Checkpoint, 'ids' | 'files' | 'reached' | 'image'>): void {
    for (const [uid, id] of ids) {
      this.#ids.set(uid, id)
      this.files.set(id, new Map(Object.entries(files[id] ?? {})))
    }
    this.#reached = reached
    this.#image = image.reached
    this.#hasImage = image.reached.last === 0 || hasPassed(reached, image.reached)
  }
}

/** Returns true if a state that reached `reached` has the rows of `other` already. */
const hasPassed = (reached: Reached | null, other: Reached | null): boolean =>
  other === null || (reached !== null && reached.outbox === other.outbox && other.last <= reached.last)
