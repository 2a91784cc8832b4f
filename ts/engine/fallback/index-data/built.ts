/**
 * Encodes the indexed data of documents, so that opening an index need not index again.
 *
 * built    = head terms postings* lengths column* points shapes
 * terms    = text*                                in dictionary order
 * postings = (documents, (docid − last, occurrences, (occurrence − last)*)*)*     lists of the next terms
 * lengths  = (docid − last, numbers, number*)*
 * column   = path, entries, (1 double | 2 text)*, documents, (docid − last, entries, entry*)*,
 * the bitmaps exists, null, empty
 * points   = (docid − last, latitude, longitude)*
 * shapes   = (docid − last, JSON)*
 *
 * The head is JSON. Every other section is a sequence of numbers, texts and doubles as in `bytes.ts`.
 */
import type { AnalysisVersion } from '../../engine.js'
import { Column, type Row } from '../facets/columns.js'
import type { Shape } from '../facets/geojson.js'
import { ListAllocator } from '../postings/list-allocator.js'
import { type PostingList, TermDictionary } from '../postings/postings.js'
import { ByteReader, ByteWriter } from '../store/bytes.js'
import { DocSet } from '../store/docid-set.js'
import type { ColumnIndex, GeoPoint, IndexData, TextIndex } from './index-data.js'

/** Section kinds; `end` marks a complete file. */
export const SECTION = {
  head: 16,
  terms: 17,
  postings: 18,
  lengths: 19,
  column: 20,
  points: 21,
  shapes: 23,
  end: 22,
} as const

/** Minimum bytes of a postings section, except the last. */
const SECTION_BYTES = 2 * 1024 * 1024
/** Initial length of the read buffer for lists. */
const SCRATCH_NUMBERS = 64 * 1024

/** The part of an index that is determined by documents and settings. */
export interface BuiltIndex {
  readonly fieldPaths: readonly string[]
  readonly fieldCounts: ReadonlyMap<string, number>
  readonly pathCounts: ReadonlyMap<string, number>
  readonly text: TextIndex
  /** Versions of what cut the documents into words. */
  readonly analysis: AnalysisVersion
  readonly columns: ColumnIndex
}

interface Head {
  readonly analysis: AnalysisVersion
  readonly fieldPaths: readonly string[]
  readonly fieldCounts: readonly (readonly [string, number])[]
  readonly pathCounts: readonly (readonly [string, number])[]
}

/** Returns the analysis in the payload of a head. */
export const analysisIn = (head: Buffer): AnalysisVersion => (JSON.parse(head.toString()) as Head).analysis

interface Section {
  readonly kind: number
  readonly payload: Uint8Array
}

/**
 * A snapshot of `data`, so that `data` may change while it is written. Copies data modified in place, but not data that
 * is only replaced.
 */
export function builtOf(data: IndexData): BuiltIndex {
  const columns = new Map([...data.columns.byPath].map(([path, column]) => [path, column.copy()]))
  return {
    fieldPaths: [...data.fieldPaths],
    fieldCounts: new Map(data.fieldCounts),
    pathCounts: new Map(data.pathCounts),
    text: { dictionary: data.text.dictionary.copy(), lengths: data.text.lengths.slice() },
    analysis: data.analysis,
    columns: {
      byPath: columns,
      points: data.columns.points.slice(),
      shapes: data.columns.shapes.slice(),
    },
  }
}

/** All sections in order. A payload is valid until the next is requested. */
export function* sectionsOf(built: BuiltIndex): Generator<Section> {
  const head: Head = {
    analysis: built.analysis,
    fieldPaths: built.fieldPaths,
    fieldCounts: [...built.fieldCounts],
    pathCounts: [...built.pathCounts],
  }
  yield { kind: SECTION.head, payload: Buffer.from(JSON.stringify(head)) }
  const writer = new ByteWriter()
  const { dictionary, lengths } = built.text
  for (const term of dictionary.sorted) writer.text(term)
  yield { kind: SECTION.terms, payload: writer.take() }
  for (const term of dictionary.sorted) {
    writeList(writer, dictionary.get(term)!)
    if (writer.length >= SECTION_BYTES) yield { kind: SECTION.postings, payload: writer.take() }
  }
  if (writer.length > 0) yield { kind: SECTION.postings, payload: writer.take() }
  writeSparse(writer, lengths, (pairs) => writeNumbers(writer, pairs))
  yield { kind: SECTION.lengths, payload: writer.take() }
  for (const [path, column] of built.columns.byPath) {
    writeColumn(writer, path, column)
    yield { kind: SECTION.column, payload: writer.take() }
  }
  writeSparse(writer, built.columns.points, ([lat, lng]) => {
    writer.double(lat)
    writer.double(lng)
  })
  yield { kind: SECTION.points, payload: writer.take() }
  writeSparse(writer, built.columns.shapes, (shapes) => writer.text(JSON.stringify(shapes)))
  yield { kind: SECTION.shapes, payload: writer.take() }
}

function writeNumbers(writer: ByteWriter, numbers: ArrayLike<number>): void {
  writer.number(numbers.length)
  for (let at = 0; at < numbers.length; at++) writer.number(numbers[at]!)
}

/** Writes optional values of documents, with docids as differences. */
function writeSparse<T>(
  writer: ByteWriter,
  items: readonly (T | undefined)[],
  write: (item: T) => void,
): void {
  let last = 0
  for (let docid = 0; docid < items.length; docid++) {
    const item = items[docid]
    if (item === undefined) continue
    writer.number(docid - last)
    last = docid
    write(item)
  }
}

function readSparse<T>(reader: ByteReader, read: () => T): (T | undefined)[] {
  const items: (T | undefined)[] = []
  for (let docid = 0; !reader.done; ) {
    docid += reader.number()
    while (items.length < docid) items.push(undefined)
    items.push(read())
  }
  return items
}

function writeList(writer: ByteWriter, list: PostingList): void {
  const count = list[0]!
  writer.number(count)
  let docid = 0
  let at = 1 + 2 * count
  for (let nth = 0; nth < count; nth++) {
    writer.number(list[1 + nth]! - docid)
    docid = list[1 + nth]!
    const end = 1 + 2 * count + list[1 + count + nth]!
    writer.number(end - at)
    let last = 0
    for (; at < end; at++) {
      writer.number(list[at]! - last)
      last = list[at]!
    }
  }
}

/** Reads lists, whose size is only known at their end. */
class ListReader {
  private scratch = new Uint32Array(SCRATCH_NUMBERS)
  private readonly allocator = new ListAllocator()

  list(reader: ByteReader): PostingList {
    const count = reader.number()
    const base = 1 + 2 * count
    this.reserve(base + count)
    this.scratch[0] = count
    let docid = 0
    let size = base
    for (let nth = 0; nth < count; nth++) {
      docid += reader.number()
      this.scratch[1 + nth] = docid
      const occurrences = reader.number()
      this.reserve(size + occurrences)
      let last = 0
      for (let left = occurrences; left > 0; left--) {
        last += reader.number()
        this.scratch[size++] = last
      }
      this.scratch[1 + count + nth] = size - base
    }
    const list = this.allocator.allocate(size)
    list.set(this.scratch.subarray(0, size))
    return list
  }

  private reserve(size: number): void {
    if (size <= this.scratch.length) return
    const larger = new Uint32Array(Math.max(size, this.scratch.length * 2))
    larger.set(this.scratch)
    this.scratch = larger
  }
}

function writeColumn(writer: ByteWriter, path: string, column: Column): void {
  writer.text(path)
  const entries = column.groupOf.length
  writer.number(entries)
  for (let entry = 0; entry < entries; entry++) {
    const group = column.groupOf[entry]!
    writer.number(column.isNumber(group) ? 1 : 2)
    if (column.isNumber(group)) writer.double(column.numbers[group]!)
    else writer.text(column.spelling[entry]!)
  }
  const rows: (readonly number[] | undefined)[] = []
  let documents = 0
  for (let docid = 0; docid < column.bound; docid++) {
    const row = column.at(docid)
    if (row !== undefined) documents++
    rows.push(typeof row === 'number' ? [row] : row)
  }
  writer.number(documents)
  writeSparse(writer, rows, (row) => writeNumbers(writer, row))
  for (const set of [column.exists, column.isNull, column.isEmpty]) writer.words(set.words)
}

function readColumn(reader: ByteReader): readonly [string, Column] {
  const path = reader.text()
  const entries: (number | string)[] = []
  for (let left = reader.number(); left > 0; left--)
    entries.push(reader.number() === 1 ? reader.double() : reader.text())
  const rows: Row[] = []
  let docid = 0
  for (let left = reader.number(); left > 0; left--) {
    docid += reader.number()
    while (rows.length < docid) rows.push(undefined)
    const row = Array.from({ length: reader.number() }, () => reader.number())
    rows.push(row.length === 1 ? row[0] : row)
  }
  const sets = [reader.words(), reader.words(), reader.words()].map((words) => new DocSet(words))
  return [path, Column.from(entries, rows, sets as [DocSet, DocSet, DocSet])]
}

/** Rebuilds an index from the sections of `sectionsOf`. */
export class BuiltReader {
  private head: Head = { analysis: {}, fieldPaths: [], fieldCounts: [], pathCounts: [] }
  private terms: string[] = []
  private readonly lists = new Map<string, PostingList>()
  private readonly listReader = new ListReader()
  private lengths: (Uint16Array | undefined)[] = []
  private readonly byPath = new Map<string, Column>()
  private points: (GeoPoint | undefined)[] = []
  private shapes: (readonly Shape[] | undefined)[] = []

  /** @returns true if the kind is known */
  add({ kind, payload }: { readonly kind: number; readonly payload: Buffer }): boolean {
    const reader = new ByteReader(payload)
    switch (kind) {
      case SECTION.head:
        this.head = JSON.parse(payload.toString()) as Head
        return true
      case SECTION.terms:
        while (!reader.done) this.terms.push(reader.text())
        return true
      case SECTION.postings:
        while (!reader.done) this.lists.set(this.terms[this.lists.size]!, this.listReader.list(reader))
        return true
      case SECTION.lengths:
        this.lengths = readSparse(reader, () =>
          Uint16Array.from({ length: reader.number() }, () => reader.number()),
        )
        return true
      case SECTION.column: {
        const [path, column] = readColumn(reader)
        this.byPath.set(path, column)
        return true
      }
      case SECTION.points:
        this.points = readSparse(reader, () => [reader.double(), reader.double()] as const)
        return true
      case SECTION.shapes:
        this.shapes = readSparse(reader, () => JSON.parse(reader.text()) as readonly Shape[])
        return true
      default:
        return false
    }
  }

  get built(): BuiltIndex {
    return {
      fieldPaths: this.head.fieldPaths,
      fieldCounts: new Map(this.head.fieldCounts),
      pathCounts: new Map(this.head.pathCounts),
      text: { dictionary: new TermDictionary(this.lists, this.terms), lengths: this.lengths },
      analysis: this.head.analysis,
      columns: { byPath: this.byPath, points: this.points, shapes: this.shapes },
    }
  }
}
