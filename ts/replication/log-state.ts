import { type Body, decodeBody, type Entry, PublishedFiles } from '../bucket/index.js'
import { catalogueIn, type RowChanges } from '../tasks/index.js'

/** What the entries of a log tell together: which indexes there are, and where their files lie. */
export class LogState {
  readonly files = new PublishedFiles()
  /** Uid of an index → its id. */
  readonly #ids = new Map<string, string>()

  /** Takes an entry. @returns what it changes in the task store; null: nothing @throws DamagedBodyError */
  apply(seq: number, entry: Entry): RowChanges | null {
    return entry.kind === 'fence' ? null : this.take(seq, decodeBody(entry.body))
  }

  take(seq: number, { rows, files }: Pick<Body, 'rows' | 'files'>): RowChanges | null {
    const changes = rows === '' ? null : (JSON.parse(rows) as RowChanges)
    if (changes !== null) this.#name(changes)
    for (const [id, change] of Object.entries(files)) this.files.apply(seq, id, change)
    const live = new Set(this.#ids.values())
    for (const id of this.files.ids()) if (!live.has(id)) this.files.drop(id)
    return changes
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
}
