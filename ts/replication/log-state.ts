import { type Entry, type FilePart, type PartLocation, PublishedFiles } from '../bucket/index.js'
import { catalogueIn, mergedChanges, type RowChanges, replicaSchema } from '../tasks/index.js'
import type { Base } from './base.js'
import { type Body, DamagedBodyError, decodeBody, type Reached, rowsOf } from './body.js'

/** The rows of an entry; null: it has none. */
interface Given extends Reached {
  readonly changes: RowChanges | null
}

type Changed = Given & { readonly changes: RowChanges }

/**
 * What the entries of a log tell together: which indexes there are, and where their files lie.
 *
 * Rows of entries that are open count with the entry of the same epoch that completes them. A fence before that makes them
 * void: their writer never came to a state that another one could go on from.
 */
export class LogState {
  readonly files = new PublishedFiles()
  /** Uid of an index → its id. */
  readonly #ids = new Map<string, string>()
  /** What open entries have. */
  #open: Given[] = []
  #reached: Reached | null = null
  /** What the image of the base has, although its entries follow. */
  #image: Reached | null = null
  #hasImage = true

  /**
   * Takes the entry `seq`.
   * @returns the rows that it changes in the task store; null: none
   * @throws DamagedBodyError
   */
  apply(seq: number, entry: Entry): RowChanges | null {
    if (entry.kind === 'changes') return this.take(seq, decodeBody(seq, entry.body))
    this.fenced()
    return null
  }

  /** A writer begins: what an earlier one left open is void. */
  fenced(): void {
    this.#open = []
  }

  /** As `apply`, for an entry of which the body is at hand. */
  take(seq: number, body: Omit<Body, 'inline'>): RowChanges | null {
    if (body.rows !== '' && body.schema !== replicaSchema)
      throw new DamagedBodyError(
        `entry ${seq} has rows of version ${body.schema} of the task store, this build reads ${replicaSchema}`,
      )
    const { outbox, last } = body
    const given: Given = { outbox, last, changes: body.rows === '' ? null : rowsOf(seq, body) }
    // A body that cannot be read has changed nothing up to here, so that it can be read again.
    if (body.isOpen) {
      this.#open.push(given)
      return null
    }
    // A page that was sent again has rows that are older than what came after its first time.
    const fresh = [...this.#open, given].filter(
      (one): one is Changed => one.changes !== null && !hasPassed(this.#reached, one),
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
    const unknown = fresh.filter((one) => !hasPassed(this.#image, one))
    return unknown.length === 0 ? null : mergedChanges(unknown.map(({ changes }) => changes))
  }

  /** The last transaction of what the log tells; null without any. */
  get reached(): Reached | null {
    return this.#reached
  }

  /** Whether it has everything that the image of the checkpoint has, which is a little newer. */
  get hasImage(): boolean {
    return this.#hasImage
  }

  /** Whether the log ends with open entries. */
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

  /** Moves parts. @param locationOf null: it stays where it is */
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

  /** What a base has to say of it. */
  described(): Pick<Base, 'ids' | 'files' | 'reached'> {
    const files = this.files.ids().map((id) => [id, Object.fromEntries(this.files.of(id))] as const)
    return { ids: [...this.#ids], files: Object.fromEntries(files), reached: this.#reached }
  }

  /** Takes what a base says, in place of all entries that it covers. */
  load({ ids, files, reached, image }: Pick<Base, 'ids' | 'files' | 'reached' | 'image'>): void {
    for (const [uid, id] of ids) {
      this.#ids.set(uid, id)
      this.files.set(id, new Map(Object.entries(files[id] ?? {})))
    }
    this.#reached = reached
    this.#image = image.reached
    this.#hasImage = image.reached.last === 0 || hasPassed(reached, image.reached)
  }
}

/** Whether a state has the rows of a body already. */
const hasPassed = (reached: Reached | null, other: Reached | null): boolean =>
  other === null || (reached !== null && reached.outbox === other.outbox && other.last <= reached.last)
