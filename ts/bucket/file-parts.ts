/** Files of indexes in a bucket: which parts make them up, and how these change. */
import { normalize } from 'node:path'
import { PART_BYTES_MAX } from './limits.js'
import { anyOf, type Check, flag, integer, list, object, record, text, textThat } from './shape.js'

/** A range of a file, which never changes. */
export interface FilePart {
  readonly from: number
  readonly bytes: number
  readonly crc: number
  readonly location: PartLocation
}

/** Where the bytes of a part are: in an object (`offset` absent: from 0), or among the inline bytes of an entry. */
export type PartLocation =
  | { readonly key: string; readonly offset?: number }
  | { readonly seq: number; readonly offset: number }

/** A part of a change. Without an object, its bytes begin at `offset` of the inline bytes of the entry that tells of it. */
export type NewPart = Omit<FilePart, 'location'> & {
  readonly location: { readonly key: string } | { readonly offset: number }
}

/** What is new about a file. */
export interface FileChange {
  readonly name: string
  /** Whether the file consists of these parts alone, none for an empty file. If not, they follow those that it had. */
  readonly isWhole: boolean
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
    for (const { name, isWhole, parts } of changed) {
      const placed = parts.map(({ location, ...part }): FilePart => {
        return { ...part, location: 'key' in location ? location : { seq, offset: location.offset } }
      })
      files.set(name, [...(isWhole ? [] : (files.get(name) ?? [])), ...placed])
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

/** Whether a name is that of a file below the directory of its index: names come from outside this machine. */
export function isFileName(name: string): boolean {
  const path = normalize(name)
  return !(path.startsWith('..') || path.startsWith('/') || /[\\:\0]/.test(path) || path === '.')
}

const fileName = textThat('the name of a file of an index', isFileName)

const part = (location: Check): Check =>
  object({ from: integer(), bytes: integer(PART_BYTES_MAX), crc: integer(0xffff_ffff), location })

const newLocation = anyOf(
  'a place in an object or entry',
  object({ key: text }),
  object({ offset: integer() }),
)

const objectLocation = object({ key: text }, { offset: integer() })

/** The shape of `FilesChange`. */
export const filesChangeShape: Check = object({
  changed: list(object({ name: fileName, isWhole: flag, parts: list(part(newLocation)) })),
  gone: list(fileName),
})

/** The shape of the files of an index all parts of which are in objects: name → parts. */
export const filesShape: Check = record(fileName, list(part(objectLocation)))
