/** Files of indexes in a bucket: their parts, and changes of them. */
import { normalize } from 'node:path'
import { shapes } from '../../parse/index.js'
import { PART_BYTES_MAX } from '../object-store/limits.js'

/** An immutable range of a file. */
export interface FilePart {
  readonly from: number
  readonly bytes: number
  readonly crc: number
  readonly location: PartLocation
}

/** Location of the bytes of a part: an object (default `offset`: 0), or the inline bytes of a log record. */
export type PartLocation =
  | { readonly key: string; readonly offset?: number }
  | { readonly seq: number; readonly offset: number }

/** A part in a change. Without `key`, its bytes start at `offset` of the inline bytes of the same log record. */
export type NewPart = Omit<FilePart, 'location'> & {
  readonly location: { readonly key: string } | { readonly offset: number }
}

/** Changes of a file. */
export interface FileChange {
  readonly name: string
  /** True if these are all parts of the file (empty file: none). Otherwise they are appended to its former parts. */
  readonly isWhole: boolean
  readonly parts: readonly NewPart[]
}

/** Changes of the files of an index. */
export interface FilesChange {
  readonly changed: readonly FileChange[]
  /** Names of deleted files. */
  readonly gone: readonly string[]
}

/** The files of an index: name → contiguous parts. Names are relative, with slashes. */
export type IndexFiles = ReadonlyMap<string, readonly FilePart[]>

/** The files of all indexes according to the log. */
export class PublishedFiles {
  readonly #indexes = new Map<string, IndexFiles>()

  /** The files of an index; empty if the log does not have it. */
  of(id: string): IndexFiles {
    return this.#indexes.get(id) ?? new Map()
  }

  ids(): readonly string[] {
    return [...this.#indexes.keys()]
  }

  /** Applies the changes of an index from log record `seq`. */
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

  set(id: string, files: IndexFiles): void {
    this.#indexes.set(id, files)
  }

  /** Removes a deleted index. */
  drop(id: string): void {
    this.#indexes.delete(id)
  }
}

/** Length of a file in bytes. */
export const bytesOf = (parts: readonly FilePart[]): number =>
  parts.reduce((end, { from, bytes }) => Math.max(end, from + bytes), 0)

/** Returns true if a name, which comes from outside this machine, stays within the directory of its index. */
export function isFileName(name: string): boolean {
  const path = normalize(name)
  return !(path.startsWith('..') || path.startsWith('/') || /[\\:\0]/.test(path) || path === '.')
}

const fileName = shapes.textThat('the name of a file of an index', isFileName)

const part = (location: shapes.Check): shapes.Check =>
  shapes.object({
    from: shapes.integer(),
    bytes: shapes.integer(PART_BYTES_MAX),
    crc: shapes.integer(0xffff_ffff),
    location,
  })

const newLocation = shapes.anyOf(
  'a place in an object or log record',
  shapes.object({ key: shapes.text }),
  shapes.object({ offset: shapes.integer() }),
)

const objectLocation = shapes.object({ key: shapes.text }, { offset: shapes.integer() })

/** The shape of `FilesChange`. */
export const filesChangeShape: shapes.Check = shapes.object({
  changed: shapes.list(
    shapes.object({ name: fileName, isWhole: shapes.flag, parts: shapes.list(part(newLocation)) }),
  ),
  gone: shapes.list(fileName),
})

/** The shape of the files of an index with all parts in objects: name → parts. */
export const filesShape: shapes.Check = shapes.record(fileName, shapes.list(part(objectLocation)))
