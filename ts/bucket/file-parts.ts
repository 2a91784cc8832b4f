/** Files of indexes in a bucket: which parts make them up, and how these change. */

/** A range of a file, which never changes. */
export interface FilePart {
  readonly from: number
  readonly bytes: number
  readonly crc: number
  readonly place: PartPlace
}

/** Where the bytes of a part are: in an object, from `at` on (absent: from 0), or in the body of an entry of the log. */
export type PartPlace =
  | { readonly key: string; readonly at?: number }
  | { readonly seq: number; readonly at: number }

/** A part of a change. Within the entry that tells of it, `at` is the place of its bytes behind the text of the body. */
export type NewPart = Omit<FilePart, 'place'> & {
  readonly place: { readonly key: string } | { readonly at: number }
}

/** What is new about a file. */
export interface FileChange {
  readonly name: string
  /** Whether the file consists of these parts alone. If not, they follow those that it had. */
  readonly isAnew: boolean
  readonly parts: readonly NewPart[]
}

/** What is new about the files of an index. */
export interface FilesChange {
  readonly changed: readonly FileChange[]
  /** Names of files that are there no more. */
  readonly gone: readonly string[]
}

/** The files of an index: name → parts, which follow each other without gaps. Names are relative, with slashes. */
export type IndexFiles = ReadonlyMap<string, readonly FilePart[]>

/** The files of all indexes as the log tells of them. */
export class PublishedFiles {
  readonly #indexes = new Map<string, IndexFiles>()

  /** The files of an index; none if the log does not tell of it. */
  of(id: string): IndexFiles {
    return this.#indexes.get(id) ?? new Map()
  }

  ids(): readonly string[] {
    return [...this.#indexes.keys()]
  }

  /** Takes what entry `seq` tells of an index. */
  apply(seq: number, id: string, { changed, gone }: FilesChange): void {
    const files = new Map(this.of(id))
    for (const name of gone) files.delete(name)
    for (const { name, isAnew, parts } of changed) {
      const placed = parts.map(
        (part): FilePart => ({
          ...part,
          place: 'key' in part.place ? part.place : { seq, at: part.place.at },
        }),
      )
      files.set(name, [...(isAnew ? [] : (files.get(name) ?? [])), ...placed])
    }
    this.#indexes.set(id, files)
  }

  /** Sets the files of an index. */
  set(id: string, files: IndexFiles): void {
    this.#indexes.set(id, files)
  }

  /** An index was deleted. */
  drop(id: string): void {
    this.#indexes.delete(id)
  }
}

/** Bytes of a file. */
export const bytesOf = (parts: readonly FilePart[]): number =>
  parts.reduce((end, { from, bytes }) => Math.max(end, from + bytes), 0)
