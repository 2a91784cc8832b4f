import {
  type Body,
  decodeBody,
  type Entry,
  type FilePart,
  type IndexFiles,
  type PartPlace,
  PublishedFiles,
} from '../bucket/index.js'
import { catalogueIn, type RowChanges } from '../tasks/index.js'
import type { Base } from './base.js'

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

  /** Takes an index that no entry tells of. */
  adopt(uid: string, id: string, files: IndexFiles): void {
    this.#ids.set(uid, id)
    this.files.set(id, files)
  }

  /** Ids of the indexes. */
  ids(): readonly string[] {
    return [...this.#ids.values()]
  }

  /** Gives parts other places. @param placeOf null: it stays where it is */
  relocate(placeOf: (place: PartPlace) => PartPlace | null): void {
    const moved = (part: FilePart): FilePart => ({ ...part, place: placeOf(part.place) ?? part.place })
    for (const id of this.files.ids())
      this.files.set(id, new Map([...this.files.of(id)].map(([name, parts]) => [name, parts.map(moved)])))
  }

  /** What a base has to say of it. */
  described(): Pick<Base, 'ids' | 'files'> {
    const files = this.files.ids().map((id) => [id, Object.fromEntries(this.files.of(id))] as const)
    return { ids: [...this.#ids], files: Object.fromEntries(files) }
  }

  /** Takes what a base says, in place of all entries that it covers. */
  load({ ids, files }: Pick<Base, 'ids' | 'files'>): void {
    for (const [uid, id] of ids) this.adopt(uid, id, new Map(Object.entries(files[id] ?? {})))
  }
}
