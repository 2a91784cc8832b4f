/**
 * Stages the vector changes of a batch, without changing the index.
 *
 * Source: vectors §2.6, §2.7, §2.10, §4.
 * 1. Vectors in a document for a configured embedder are removed from the document and stored separately.
 * 2. Vectors that are never regenerated survive all other changes to their document.
 * 3. A removed embedder writes these vectors back into the documents; an added embedder reads them there.
 * 4. Vectors that no client sent are generated before the commit; see `pending-embeddings.ts`.
 */
import { ownValue } from '../../../parse/index.js'
import type { IndexSettings, Remakes } from '../../../settings/index.js'
import { NO_FRAGMENT, type VectorPage } from '../../batches.js'
import { OperationError } from '../indexing/primary-key.js'
import type { Json, JsonObject } from '../store/json.js'
import { quantized } from './distance.js'
import { type Embedder, embeddersOf } from './embedder.js'
import { MissingVectors } from './missing-vectors.js'
import { type EmbedderPending, mergedWant, type Want } from './pending-embeddings.js'
import { vectorEntry } from './readback.js'
import { readSent, readStored, type Sent, storedEntry, vectorsIn } from './sent.js'
import { type DocumentVectors, VectorSet, type VectorState } from './set.js'

/** Changed vectors of a document, by embedder. */
export type StagedDocumentVectors = ReadonlyMap<string, DocumentVectors>

/** Wants of a document, by embedder. */
export type StagedWants = ReadonlyMap<string, Want>

/** Vectors in a document, and embedders that need further vectors. */
interface SentVectors {
  /** Vectors that change. */
  readonly staged: StagedDocumentVectors
  /** Embedders that must embed it; `always`: even if its text did not change. */
  readonly toEmbed: ReadonlyMap<string, { readonly always: boolean }>
  /** Embedders that need vectors but generate none. */
  readonly missing: readonly Embedder[]
}

/** An embedder after the batch. */
export interface EmbedderChange {
  readonly embedder: Embedder
  /** Vectors before the batch; null: none. */
  readonly base: VectorSet | null
  /** Docid → new vectors, null if removed. */
  readonly changes: ReadonlyMap<number, DocumentVectors | null>
}

interface StagedEmbedder extends EmbedderChange {
  base: VectorSet | null
  readonly changes: Map<number, DocumentVectors | null>
  readonly wants: Map<number, Want>
}

/** A document with its docid, for settings changes that affect all documents. */
interface StagedDocument {
  readonly docid: number
  readonly id: string
  /** A parsed copy that the caller may change. */
  readonly document: JsonObject
  /** The stored bytes. */
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

  /** Embedders whose vectors in `sets` are removed, even if an embedder of the unchanged name exists. */
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

  /** Vector states of these documents for an embedder. */
  *states(name: string, docids: Iterable<number>): Generator<readonly [docid: number, state: VectorState]> {
    for (const docid of docids) {
      const state = this.state(name, docid)
      if (state !== undefined) yield [docid, { ...state, count: state.rows.length }]
    }
  }

  /** Wants by embedder. */
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
      staged?.wants.set(docid, mergedWant(staged.wants.get(docid), want))
    }
  }

  /** Adds generated vectors. */
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
   * Removes the vectors of configured embedders from `document` and returns them.
   * @param before current vectors of the document; undefined for a new document
   * @throws OperationError for a malformed entry
   */
  take(
    document: JsonObject,
    id: string,
    before: ((name: string) => DocumentVectors | undefined) | undefined,
  ): SentVectors {
    const vectors = vectorsIn(document, id)
    const staged = new Map<string, DocumentVectors>()
    const toEmbed = new Map<string, { readonly always: boolean }>()
    const missing: Embedder[] = []
    for (const [name, { embedder }] of this.embedders) {
      const value = vectors?.get(name)
      const sent = value === undefined ? null : readSent(id, embedder, value)
      const outcome = stateAfter(before?.(name), sent, before === undefined, embedder)
      if (outcome === 'missing') missing.push(embedder)
      else if (outcome === 'always' || outcome === 'ifChanged')
        toEmbed.set(name, { always: outcome === 'always' })
      else if (outcome !== 'unchanged') staged.set(name, outcome)
    }
    if (vectors !== null) document.set('_vectors', this.unclaimed(vectors, id))
    if (vectors !== null && (document.get('_vectors') as JsonObject).size === 0) document.delete('_vectors')
    return { staged, toEmbed, missing }
  }

  private unclaimed(vectors: JsonObject, id: string): JsonObject {
    const unclaimed: JsonObject = new Map()
    for (const [name, value] of vectors)
      if (!this.embedders.has(name)) unclaimed.set(name, storedEntry(id, name, value))
    return unclaimed
  }

  /**
   * Switches to the embedders of `settings`.
   * @param before current settings
   * @param remakes embedders whose documents must be checked again
   * @param documents all documents, parsed only if they have to be checked
   * @returns rewritten documents
   * @throws OperationError if stored documents do not suit an added embedder; then nothing adapted
   */
  async reconfigure(
    { before: settingsBefore, settings, remakes }: Reconfiguration,
    documents: () => AsyncIterable<StagedDocument>,
  ): Promise<readonly StagedDocument[]> {
    const wanted = embeddersOf(settings)
    const before = this.embedders
    const after = new Map<string, StagedEmbedder>()
    const added: StagedEmbedder[] = []
    for (const [name, embedder] of wanted) {
      const old = before.get(name)
      const staged =
        old === undefined
          ? newStagedEmbedder(embedder)
          : adapted(old, embedder, ownValue(remakes, name) === 'all')
      if (old === undefined) added.push(staged)
      after.set(name, staged)
    }
    const removed = [...before].filter(([name]) => !wanted.has(name))
    const remade = [...after.values()].filter(({ embedder }) => {
      const old = before.get(embedder.name)
      if (old === undefined || embedder.source !== 'userProvided')
        return ownValue(remakes, embedder.name) !== undefined
      return old.embedder.source !== embedder.source
    })
    const rewritten: StagedDocument[] = []
    if (added.length + removed.length + remade.length > 0) {
      const missing = new MissingVectors()
      for await (const stored of documents()) {
        for (const staged of remade) {
          if (stateOf(staged, stored.docid)?.skipRegenerate === true) continue
          const { embedder, wants } = staged
          if (embedder.source === 'userProvided') missing.note(stored.id, embedder, stored.document)
          const always = ownValue(remakes, embedder.name) === 'all'
          const want = { before: always ? null : { source: stored.source, settings: settingsBefore } }
          wants.set(stored.docid, mergedWant(wants.get(stored.docid), want))
        }
        const taken = takeStored(stored, added, missing)
        const returned = giveBack(stored, removed)
        if (taken || returned) rewritten.push(stored)
      }
      missing.throwIfAny()
    }
    this.embedders = after
    return rewritten
  }
}

/** A change of embedder settings. */
interface Reconfiguration {
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

/** Applies the vector changes of a planned batch. */
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

/** Decides the vectors of a document after it was sent. */
function stateAfter(
  before: DocumentVectors | undefined,
  sent: Sent | null,
  isNew: boolean,
  { source }: Embedder,
): DocumentVectors | 'unchanged' | 'missing' | 'always' | 'ifChanged' {
  const makesNone = source === 'userProvided'
  if (sent === null) {
    // Vectors from the client are kept for an embedder that generates none.
    if (before !== undefined && (before.skipRegenerate || makesNone)) return 'unchanged'
    if (makesNone) return 'missing'
    return isNew ? 'always' : 'ifChanged'
  }
  const { rows, regenerate } = sent
  if (rows !== null) return { userProvided: true, skipRegenerate: !regenerate, rows, fragments: null }
  if (regenerate && makesNone) return 'missing'
  if (regenerate) return isNew || before?.skipRegenerate === true ? 'always' : 'ifChanged'
  if (!isNew && before !== undefined) return 'unchanged'
  return { userProvided: false, skipRegenerate: true, rows: new Float32Array(0), fragments: null }
}

/**
 * Adapts an embedder to adapted settings. @throws OperationError if stored vectors do not allow it
 * @param remade true if its vectors are regenerated, except those that never are. These are dropped if they have other
 * dimensions.
 */
function adapted(old: StagedEmbedder, embedder: Embedder, remade: boolean): StagedEmbedder {
  const wants = new Map(old.wants)
  const stored = new Set([...(old.base?.docids() ?? []), ...old.changes.keys()])
  const states = [...stored].map((docid) => [docid, stateOf(old, docid)] as const)
  const hasVectors = states.some(([, state]) => (state?.rows.length ?? 0) > 0)
  if (hasVectors && !remade && old.embedder.dimensions !== embedder.dimensions)
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

/** Moves vectors for added embedders from a stored document. */
function takeStored(
  { docid, id, document }: StagedDocument,
  added: readonly StagedEmbedder[],
  missing: MissingVectors,
): boolean {
  if (added.length === 0) return false
  const vectors = vectorsIn(document, id)
  let found = false
  for (const { embedder, changes, wants } of added) {
    const value = vectors?.get(embedder.name)
    const sent = value === undefined ? null : readStored(id, embedder, value)
    const state = stateAfter(undefined, sent, true, embedder)
    if (state === 'missing') missing.note(id, embedder, document)
    else if (state === 'always' || state === 'ifChanged') wants.set(docid, { before: null })
    else if (state !== 'unchanged') changes.set(docid, state)
    found = vectors?.delete(embedder.name) === true || found
  }
  if (vectors?.size === 0) document.delete('_vectors')
  return found
}

/** Writes vectors of removed embedders back into the document, for a later embedder. */
function giveBack(
  { docid, document }: StagedDocument,
  removed: readonly (readonly [string, StagedEmbedder])[],
): boolean {
  let written = false
  for (const [name, staged] of removed) {
    const state = stateOf(staged, docid)
    if (state?.skipRegenerate !== true) continue
    const vectors = new Map<string, Json>(document.get('_vectors') as JsonObject | undefined)
    // In the order of other stored entries, as the native engine writes them.
    const embeddings = vectorEntry(state, staged.embedder.dimensions ?? 0).get('embeddings')!
    vectors.set(
      name,
      new Map<string, Json>([
        ['regenerate', false],
        ['embeddings', embeddings],
      ]),
    )
    document.set('_vectors', vectors)
    written = true
  }
  return written
}
