/**
 * What becomes of vectors in a batch? Nothing of the index is changed here.
 *
 * Source: vectors §2.6, §2.7, §2.10, §4.
 *  1. What a document says of a configured embedder is taken out of it and stored apart.
 *  2. Vectors that are never made anew survive whatever else happens to their document.
 *  3. An embedder that goes writes those back into the documents; one that comes finds them there.
 *  4. Vectors that no client sent come from the embedder before the batch is committed; see `pending-embeddings.ts`.
 */
import { ownValue } from '../../../parse/index.js'
import type { IndexSettings, Remakes } from '../../../settings/index.js'
import { NO_FRAGMENT, type VectorPage } from '../../engine.js'
import { OperationError } from '../indexing/primary-key.js'
import type { Json, JsonObject } from '../store/json.js'
import { quantized } from './distance.js'
import { type Embedder, embeddersOf } from './embedder.js'
import { MissingVectors } from './missing-vectors.js'
import { bothWants, type EmbedderPending, type Want } from './pending-embeddings.js'
import { vectorEntry } from './readback.js'
import { readSent, type Sent, unclaimedEntry, vectorsIn } from './sent.js'
import { type DocumentVectors, VectorSet, type VectorState } from './set.js'

/** Vectors of one document by embedder; only those that change. */
export type StagedDocumentVectors = ReadonlyMap<string, DocumentVectors>

/** What is wanted of embedders for one document, by embedder. */
export type StagedWants = ReadonlyMap<string, Want>

/** What a document says of vectors, and what it leaves to others. */
export interface SentVectors {
  /** Vectors that change. */
  readonly staged: StagedDocumentVectors
  /** Embedders that make vectors of it; `anew`: whatever it was before. */
  readonly made: ReadonlyMap<string, { readonly anew: boolean }>
  /** Embedders that cannot do without vectors and make none. */
  readonly lacking: readonly Embedder[]
}

/** One embedder after the batch. */
export interface EmbedderChange {
  readonly embedder: Embedder
  /** What it starts from; null: nothing. */
  readonly base: VectorSet | null
  /** Docid → new vectors, null if they are gone. */
  readonly changes: ReadonlyMap<number, DocumentVectors | null>
}

interface StagedEmbedder extends EmbedderChange {
  base: VectorSet | null
  readonly changes: Map<number, DocumentVectors | null>
  readonly wants: Map<number, Want>
}

/** A document with its docid, for settings that concern all of them. */
export interface StagedDocument {
  readonly docid: number
  readonly id: string
  /** Parsed for the caller, who may change it. */
  readonly document: JsonObject
  /** As it is stored. */
  readonly source: Uint8Array
}

export class StagedVectors {
  private embedders: Map<string, StagedEmbedder>

  constructor(settings: IndexSettings, sets: ReadonlyMap<string, VectorSet>) {
    this.embedders = new Map(
      [...embeddersOf(settings)].map(([name, embedder]) => [
        name,
        { embedder, base: sets.get(name) ?? null, changes: new Map(), wants: new Map() },
      ]),
    )
  }

  /** Embedders whose vectors in `sets` are gone, whether or not one of their name goes on. */
  droppedSince(sets: ReadonlyMap<string, VectorSet>): readonly string[] {
    return [...sets.keys()].filter((name) => (this.embedders.get(name)?.base ?? null) === null)
  }

  get changes(): ReadonlyMap<string, EmbedderChange> {
    return this.embedders
  }

  state(name: string, docid: number): DocumentVectors | undefined {
    const embedder = this.embedders.get(name)
    return embedder === undefined ? undefined : stateOf(embedder, docid)
  }

  /** What is known of these documents under one embedder. */
  *states(name: string, docids: Iterable<number>): Generator<readonly [docid: number, state: VectorState]> {
    for (const docid of docids) {
      const state = this.state(name, docid)
      if (state !== undefined) yield [docid, { ...state, count: state.rows.length }]
    }
  }

  /** What has to be made, by embedder. */
  *works(): Generator<EmbedderPending> {
    for (const [name, staged] of this.embedders)
      yield { name, wants: staged.wants, state: (docid) => stateOf(staged, docid) }
  }

  put(docid: number, vectors: StagedDocumentVectors, wants: StagedWants): void {
    for (const [name, state] of vectors) {
      const staged = this.embedders.get(name)
      staged?.changes.set(docid, state)
      staged?.wants.delete(docid)
    }
    for (const [name, want] of wants) {
      const staged = this.embedders.get(name)
      staged?.wants.set(docid, bothWants(staged.wants.get(docid), want))
    }
  }

  /** Takes in vectors that were made. */
  addEmbeddings({ embedder: name, docids, counts, fragments, reused, rows }: VectorPage): void {
    const staged = this.embedders.get(name)
    if (staged === undefined) return
    const dimensions = staged.embedder.dimensions ?? 0
    let vector = 0
    let row = 0
    for (const [at, docid] of docids.entries()) {
      const before = stateOf(staged, docid)
      const made = new Float32Array(counts[at]! * dimensions)
      const numbers = fragments.slice(vector, vector + counts[at]!)
      for (const [slot, number] of numbers.entries()) {
        const isReused = reused[vector + slot] === 1
        const from = isReused ? (before?.fragments?.indexOf(number) ?? -1) : row++
        const source = isReused ? (before?.rows ?? rows) : rows
        made.set(source.subarray(from * dimensions, (from + 1) * dimensions), slot * dimensions)
      }
      vector += numbers.length
      staged.changes.set(docid, {
        userProvided: false,
        skipRegenerate: false,
        rows: staged.embedder.binary ? quantized(made) : made,
        fragments: staged.embedder.fragments === null || numbers.includes(NO_FRAGMENT) ? null : numbers,
      })
    }
  }

  remove(docid: number): void {
    for (const { base, changes, wants } of this.embedders.values()) {
      wants.delete(docid)
      if (base?.flags(docid) !== undefined) changes.set(docid, null)
      else changes.delete(docid)
    }
  }

  clear(): void {
    for (const embedder of this.embedders.values()) {
      embedder.base = null
      embedder.changes.clear()
      embedder.wants.clear()
    }
  }

  /**
   * Takes what `document` says of configured embedders out of it.
   * @param before vectors of the document so far; undefined for a new document
   * @throws OperationError for a malformed entry
   */
  take(
    document: JsonObject,
    id: string,
    before: ((name: string) => DocumentVectors | undefined) | undefined,
  ): SentVectors {
    const vectors = vectorsIn(document, id)
    const staged = new Map<string, DocumentVectors>()
    const made = new Map<string, { readonly anew: boolean }>()
    const lacking: Embedder[] = []
    for (const [name, { embedder }] of this.embedders) {
      const value = vectors?.get(name)
      const sent = value === undefined ? null : readSent(id, embedder, value)
      const outcome = stateAfter(before?.(name), sent, before === undefined, embedder)
      if (outcome === 'lacking') lacking.push(embedder)
      else if (outcome === 'anew' || outcome === 'changed') made.set(name, { anew: outcome === 'anew' })
      else if (outcome !== 'same') staged.set(name, outcome)
    }
    if (vectors !== null) document.set('_vectors', this.unclaimed(vectors, id))
    if (vectors !== null && (document.get('_vectors') as JsonObject).size === 0) document.delete('_vectors')
    return { staged, made, lacking }
  }

  private unclaimed(vectors: JsonObject, id: string): JsonObject {
    const unclaimed: JsonObject = new Map()
    for (const [name, value] of vectors)
      if (!this.embedders.has(name)) unclaimed.set(name, unclaimedEntry(id, name, value))
    return unclaimed
  }

  /**
   * Moves to the embedders of `settings`.
   * @param before settings so far
   * @param remakes embedders that have to look at their documents again
   * @param documents all there are, parsed only if they have to be looked at
   * @returns documents that changed by it
   * @throws OperationError if stored documents do not suit a new embedder; then nothing changed
   */
  async reconfigure(
    { before: settingsBefore, settings, remakes }: Reconfiguration,
    documents: () => AsyncIterable<StagedDocument>,
  ): Promise<readonly StagedDocument[]> {
    const wanted = embeddersOf(settings)
    const before = this.embedders
    const after = new Map<string, StagedEmbedder>()
    const fresh: StagedEmbedder[] = []
    for (const [name, embedder] of wanted) {
      const old = before.get(name)
      const staged =
        old === undefined
          ? newStagedEmbedder(embedder)
          : changed(old, embedder, ownValue(remakes, name) === 'all')
      if (old === undefined) fresh.push(staged)
      after.set(name, staged)
    }
    const gone = [...before].filter(([name]) => !wanted.has(name))
    const remade = [...after.values()].filter(({ embedder }) => {
      const old = before.get(embedder.name)
      if (old === undefined || embedder.source !== 'userProvided')
        return ownValue(remakes, embedder.name) !== undefined
      return old.embedder.source !== embedder.source
    })
    const rewritten: StagedDocument[] = []
    if (fresh.length + gone.length + remade.length > 0) {
      const lacking = new MissingVectors()
      for await (const one of documents()) {
        for (const staged of remade) {
          if (stateOf(staged, one.docid)?.skipRegenerate === true) continue
          const { embedder, wants } = staged
          if (embedder.source === 'userProvided') lacking.note(one.id, embedder, one.document)
          const anew = ownValue(remakes, embedder.name) === 'all'
          const want = { before: anew ? null : { source: one.source, settings: settingsBefore } }
          wants.set(one.docid, bothWants(wants.get(one.docid), want))
        }
        const taken = takeFresh(one, fresh, lacking)
        const returned = giveBack(one, gone)
        if (taken || returned) rewritten.push(one)
      }
      lacking.throwIfAny()
    }
    this.embedders = after
    return rewritten
  }
}

/** From which settings to which. */
export interface Reconfiguration {
  readonly before: IndexSettings
  readonly settings: IndexSettings
  readonly remakes: Remakes
}

const newStagedEmbedder = (embedder: Embedder): StagedEmbedder => ({
  embedder,
  base: null,
  changes: new Map(),
  wants: new Map(),
})

/** Puts the vectors of a planned batch in place. */
export function applyVectors(
  sets: Map<string, VectorSet>,
  embedders: ReadonlyMap<string, EmbedderChange>,
): void {
  for (const name of sets.keys()) if (!embedders.has(name)) sets.delete(name)
  for (const [name, { embedder, base, changes }] of embedders) {
    const set = base ?? new VectorSet(embedder.dimensions ?? 0)
    sets.set(name, set)
    for (const [docid, state] of changes)
      if (state === null) set.delete(docid)
      else set.put(docid, state)
  }
}

const stateOf = ({ base, changes }: StagedEmbedder, docid: number): DocumentVectors | undefined =>
  changes.has(docid) ? (changes.get(docid) ?? undefined) : base?.get(docid)

/** What a document has after it was sent. */
function stateAfter(
  before: DocumentVectors | undefined,
  sent: Sent | null,
  isNew: boolean,
  { source }: Embedder,
): DocumentVectors | 'same' | 'lacking' | 'anew' | 'changed' {
  const makesNone = source === 'userProvided'
  if (sent === null) {
    // What the client once gave stays for an embedder that makes nothing itself.
    if (before !== undefined && (before.skipRegenerate || makesNone)) return 'same'
    if (makesNone) return 'lacking'
    return isNew ? 'anew' : 'changed'
  }
  const { rows, regenerate } = sent
  if (rows !== null) return { userProvided: true, skipRegenerate: !regenerate, rows, fragments: null }
  if (regenerate && makesNone) return 'lacking'
  if (regenerate) return isNew || before?.skipRegenerate === true ? 'anew' : 'changed'
  if (!isNew && before !== undefined) return 'same'
  return { userProvided: false, skipRegenerate: true, rows: new Float32Array(0), fragments: null }
}

/**
 * An embedder whose settings changed. @throws OperationError where stored vectors do not allow it
 * @param remade its vectors are made anew, but those that never are
 */
function changed(old: StagedEmbedder, embedder: Embedder, remade: boolean): StagedEmbedder {
  const wants = new Map(old.wants)
  const stored = new Set([...(old.base?.docids() ?? []), ...old.changes.keys()])
  const states = [...stored].map((docid) => [docid, stateOf(old, docid)] as const)
  const hasVectors = states.some(
    ([, state]) => (state?.rows.length ?? 0) > 0 && (!remade || state?.skipRegenerate === true),
  )
  if (hasVectors && old.embedder.dimensions !== embedder.dimensions)
    throw new OperationError(
      'invalid_settings_embedders',
      `\`.embedders.${embedder.name}.dimensions\`: vectors of ${old.embedder.dimensions} dimensions are ` +
        `stored; remove them before changing to ${embedder.dimensions}`,
    )
  if (old.embedder.dimensions !== embedder.dimensions) {
    const rows = new Float32Array(0)
    const changes = new Map(
      states.map(([docid, state]) => [
        docid,
        state === undefined ? null : { ...state, rows, fragments: null },
      ]),
    )
    return {
      ...old,
      embedder,
      wants,
      base: old.base?.withDimensions(embedder.dimensions ?? 0) ?? null,
      changes,
    }
  }
  if (!embedder.binary || old.embedder.binary) return { ...old, embedder, wants }
  const changes = new Map(
    [...old.changes].map(([docid, state]) => [
      docid,
      state === null ? null : { ...state, rows: quantized(state.rows) },
    ]),
  )
  return { ...old, embedder, wants, base: old.base?.quantized() ?? null, changes }
}

/** What an embedder that comes finds in a stored document. */
function takeFresh(
  { docid, id, document }: StagedDocument,
  fresh: readonly StagedEmbedder[],
  lacking: MissingVectors,
): boolean {
  if (fresh.length === 0) return false
  const vectors = vectorsIn(document, id)
  let found = false
  for (const { embedder, changes, wants } of fresh) {
    const value = vectors?.get(embedder.name)
    const sent = value === undefined ? null : readSent(id, embedder, value)
    const state = stateAfter(undefined, sent, true, embedder)
    if (state === 'lacking') lacking.note(id, embedder, document)
    else if (state === 'anew' || state === 'changed') wants.set(docid, { before: null })
    else if (state !== 'same') changes.set(docid, state)
    found = vectors?.delete(embedder.name) === true || found
  }
  if (vectors?.size === 0) document.delete('_vectors')
  return found
}

/** Writes vectors of embedders that go into the document, for one that may come. */
function giveBack(
  { docid, document }: StagedDocument,
  gone: readonly (readonly [string, StagedEmbedder])[],
): boolean {
  let written = false
  for (const [name, staged] of gone) {
    const state = stateOf(staged, docid)
    if (state?.skipRegenerate !== true) continue
    const vectors = new Map<string, Json>(document.get('_vectors') as JsonObject | undefined)
    vectors.set(name, vectorEntry(state, staged.embedder.dimensions ?? 0))
    document.set('_vectors', vectors)
    written = true
  }
  return written
}
