/**
 * Encodes vectors for the log of an index.
 *
 * payload = name length u16 LE, name, dimensions u32 LE, entry*
 * entry   = docid u32 LE, flags u8, count u8, rows: count × dimensions f32 LE, fragments?
 * flags   = 1 from the client | 2 never regenerated | 4 removed: no vectors and no flags | 8 has fragments
 * fragments = fragment number u8 per vector
 */

import { quantized } from './distance.js'
import type { Embedder } from './embedder.js'
import { type DocumentVectors, VectorSet } from './set.js'
import type { EmbedderChange } from './staged-vectors.js'

const USER_PROVIDED = 1
const SKIP_REGENERATE = 2
const GONE = 4
const FRAGMENTS = 8
const ENTRY_HEAD = 6
const FRAME_BYTES = 4 * 1024 * 1024

type Entry = readonly [docid: number, state: DocumentVectors | null]

/** Payloads with the vector changes of a batch. */
export function* vectorPayloads(embedders: ReadonlyMap<string, EmbedderChange>): Generator<Buffer> {
  for (const [name, { embedder, changes }] of embedders)
    yield* payloadsOf(name, embedder.dimensions ?? 0, changes)
}

/** Payloads with all vectors of an index. */
export function* allVectorPayloads(sets: ReadonlyMap<string, VectorSet>): Generator<Buffer> {
  for (const [name, set] of sets) yield* payloadsOf(name, set.dimensions, everything(set))
}

function* everything(set: VectorSet): Generator<Entry> {
  for (const docid of set.docids()) yield [docid, set.get(docid)!]
}

function* payloadsOf(name: string, dimensions: number, entries: Iterable<Entry>): Generator<Buffer> {
  const nameBytes = Buffer.from(name)
  const head = Buffer.alloc(6 + nameBytes.length)
  head.writeUInt16LE(nameBytes.length, 0)
  nameBytes.copy(head, 2)
  head.writeUInt32LE(dimensions, 2 + nameBytes.length)
  let parts: Buffer[] = [head]
  let size = 0
  for (const [docid, state] of entries) {
    const entry = entryBytes(docid, state, dimensions)
    parts.push(entry)
    size += entry.length
    if (size < FRAME_BYTES) continue
    yield Buffer.concat(parts)
    parts = [head]
    size = 0
  }
  if (size > 0) yield Buffer.concat(parts)
}

function entryBytes(docid: number, state: DocumentVectors | null, dimensions: number): Buffer {
  const rows = state?.rows ?? new Float32Array(0)
  const fragments = state?.fragments ?? new Uint8Array(0)
  const rowsEnd = ENTRY_HEAD + rows.length * 4
  const bytes = Buffer.alloc(rowsEnd + fragments.length)
  bytes.set(fragments, rowsEnd)
  const flags = state === null ? GONE : flagsOf(state)
  bytes.writeUInt32LE(docid, 0)
  bytes.writeUInt8(flags, 4)
  bytes.writeUInt8(dimensions === 0 ? 0 : rows.length / dimensions, 5)
  for (const [at, component] of rows.entries()) bytes.writeFloatLE(component, ENTRY_HEAD + at * 4)
  return bytes
}

const flagsOf = ({ userProvided, skipRegenerate, fragments }: DocumentVectors): number =>
  (userProvided ? USER_PROVIDED : 0) |
  (skipRegenerate ? SKIP_REGENERATE : 0) |
  (fragments === null ? 0 : FRAGMENTS)

/** Decodes the head of a payload, and its entries. */
function payloadParts(payload: Buffer): {
  readonly name: string
  readonly dimensions: number
  readonly entries: Iterable<Entry>
} {
  const nameEnd = 2 + payload.readUInt16LE(0)
  const name = payload.toString('utf8', 2, nameEnd)
  const dimensions = payload.readUInt32LE(nameEnd)
  return { name, dimensions, entries: entriesIn(payload, nameEnd + 4, dimensions) }
}

function* entriesIn(payload: Buffer, from: number, dimensions: number): Generator<Entry> {
  for (let at = from; at < payload.length; ) {
    const docid = payload.readUInt32LE(at)
    const flags = payload.readUInt8(at + 4)
    const count = payload.readUInt8(at + 5)
    const rows = new Float32Array(count * dimensions)
    const rowsEnd = at + ENTRY_HEAD + rows.length * 4
    const end = rowsEnd + ((flags & FRAGMENTS) === 0 ? 0 : count)
    for (let component = 0; component < rows.length; component++)
      rows[component] = payload.readFloatLE(at + ENTRY_HEAD + component * 4)
    const state: DocumentVectors = {
      userProvided: (flags & USER_PROVIDED) !== 0,
      skipRegenerate: (flags & SKIP_REGENERATE) !== 0,
      rows,
      fragments: (flags & FRAGMENTS) === 0 ? null : Uint8Array.from(payload.subarray(rowsEnd, end)),
    }
    yield [docid, (flags & GONE) === 0 ? state : null]
    at = end
  }
}

/** Rebuilds the vectors of an index from the payloads of its log. */
export class VectorReplay {
  private readonly sets = new Map<string, VectorSet>()

  /** @param dropped embedders whose earlier vectors are removed */
  forget(dropped: readonly string[], deleted: readonly number[], cleared: boolean): void {
    if (cleared) this.sets.clear()
    for (const name of dropped) this.sets.delete(name)
    for (const set of this.sets.values()) for (const docid of deleted) set.delete(docid)
  }

  read(payload: Buffer): void {
    const { name, dimensions, entries } = payloadParts(payload)
    const set = this.setOf(name, dimensions)
    for (const [docid, state] of entries)
      if (state === null) set.delete(docid)
      else set.put(docid, state)
  }

  private setOf(name: string, dimensions: number): VectorSet {
    let set = this.sets.get(name)
    // The number of components only changes while there are no vectors.
    if (set === undefined || set.dimensions !== dimensions)
      set = set === undefined ? new VectorSet(dimensions) : set.withDimensions(dimensions)
    this.sets.set(name, set)
    return set
  }

  /** Returns the resulting vectors as changes to an empty index. */
  result(embedders: ReadonlyMap<string, Embedder>): Map<string, EmbedderChange> {
    return new Map(
      [...embedders].map(([name, embedder]) => {
        const set = this.sets.get(name)
        return [
          name,
          { embedder, base: set === undefined ? null : adapted(set, embedder), changes: new Map() },
        ]
      }),
    )
  }
}

/** State of an embedder in a tail. */
interface TailedEmbedder {
  /** Vectors from before the tail; null: none. */
  base: VectorSet | null
  dimensions: number
  changes: Map<number, DocumentVectors | null>
}

/** Changes that the end of a log makes to the vectors of an index. */
export class VectorTail {
  private readonly before: ReadonlyMap<string, Embedder>
  private readonly embedders: Map<string, TailedEmbedder>

  /**
   * @param sets current vectors, not modified
   * @param before current embedders
   */
  constructor(sets: ReadonlyMap<string, VectorSet>, before: ReadonlyMap<string, Embedder>) {
    this.before = before
    this.embedders = new Map(
      [...sets].map(([name, base]) => [name, { base, dimensions: base.dimensions, changes: new Map() }]),
    )
  }

  /** @param dropped embedders whose earlier vectors are removed */
  forget(dropped: readonly string[], deleted: readonly number[], cleared: boolean): void {
    if (cleared) this.embedders.clear()
    for (const name of dropped) this.embedders.delete(name)
    for (const { changes } of this.embedders.values()) for (const docid of deleted) changes.set(docid, null)
  }

  read(payload: Buffer): void {
    const { name, dimensions, entries } = payloadParts(payload)
    const { changes } = this.embedderOf(name, dimensions)
    for (const [docid, state] of entries) changes.set(docid, state)
  }

  private embedderOf(name: string, dimensions: number): TailedEmbedder {
    const known = this.embedders.get(name) ?? { base: null, dimensions, changes: new Map() }
    this.embedders.set(name, known)
    setDimensions(known, dimensions)
    return known
  }

  /** Returns the resulting changes, for the embedders of the new settings. */
  result(embedders: ReadonlyMap<string, Embedder>): Map<string, EmbedderChange> {
    return new Map(
      [...embedders].map(([name, embedder]) => {
        const dimensions = embedder.dimensions ?? 0
        const tail = this.embedderOf(name, dimensions)
        const isBaseAdapted = !embedder.binary || this.before.get(name)?.binary === true
        const base = isBaseAdapted ? tail.base : (tail.base?.quantized() ?? null)
        const changes = embedder.binary ? changedRows(tail.changes, quantized) : tail.changes
        return [name, { embedder, base, changes }]
      }),
    )
  }
}

/** The number of components only changes while there are no vectors. */
function setDimensions(tail: TailedEmbedder, dimensions: number): void {
  if (tail.dimensions === dimensions) return
  tail.dimensions = dimensions
  tail.base = tail.base?.withDimensions(dimensions) ?? null
  tail.changes = changedRows(tail.changes, () => new Float32Array(0))
}

const changedRows = (
  changes: TailedEmbedder['changes'],
  change: (rows: Float32Array) => Float32Array,
): TailedEmbedder['changes'] =>
  new Map([...changes].map(([docid, state]) => [docid, state && { ...state, rows: change(state.rows) }]))

/** Adapts vectors to settings that changed after the vectors were written. */
function adapted(set: VectorSet, { dimensions, binary }: Embedder): VectorSet {
  if (set.dimensions !== (dimensions ?? 0)) return set.withDimensions(dimensions ?? 0)
  return binary ? set.quantized() : set
}
