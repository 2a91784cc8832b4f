/** Copies all documents of a mapping. */

import type { Destination, IdentifiedLine } from './destination.js'
import { documentId, documentLine, keyOfId } from './document-ids.js'
import { COPY_PAGES_WAITING_MAX, IDS_MAX } from './limits.js'
import { PageSize } from './page-size.js'
import type { MappingProgress } from './progress.js'
import type { Key, Mapping, MappingFacts, Source, SourceDocument } from './source.js'

export interface Copy {
  readonly source: Source
  readonly target: Destination
  readonly mapping: Mapping
  readonly facts: MappingFacts
  readonly signal: AbortSignal
  log(line: string): void
  /** Called after each page that the target has indexed. */
  progress(progress: MappingProgress): Promise<void>
}

/** Uid of the index that receives the copy before it replaces the index. */
const copyUid = (uid: string): string => `${uid}_siftd_copy`

export const linesOf = (
  facts: MappingFacts,
  documents: readonly SourceDocument[],
): readonly IdentifiedLine[] =>
  documents.map(({ key, json }) => {
    const id = documentId(key)
    return { id, line: documentLine(facts.primaryKey, id, facts.hasNumberId, json) }
  })

/**
 * Copies all documents. If the index has documents, copies into a new index with the same settings and swaps both at the
 * end. So searches see either all old or all new documents.
 * @param before progress of an interrupted copy, which continues
 */
export async function copyDocuments(copy: Copy, before: MappingProgress | null): Promise<void> {
  const { target, mapping, facts, log } = copy
  const { uid } = mapping
  const { fingerprint } = facts
  await target.forAllIndexes()
  if (before?.state === 'copying' && before.fingerprint === fingerprint && before.after !== null) {
    // The index may have been removed meanwhile, and its documents with it.
    if ((await target.documents(before.into)) !== null) {
      log(`index \`${uid}\`: continuing after ${before.rows} copied rows`)
      await copyRows(copy, before.into, before.after, before.rows)
      return finished(copy, before.into, before.into !== uid)
    }
    log(`index \`${uid}\`: the copied rows are missing in \`${before.into}\``)
  }
  const { into, wasEmpty } = await preparedIndex(copy)
  log(`index \`${uid}\`: copying ${mapping.table}${into === uid ? '' : ' into a new index'}`)
  await copy.progress({ state: 'copying', fingerprint, into, after: null, rows: 0 })
  await target.ensureIndex(into, facts.primaryKey)
  const rows = await copyRows(copy, into, null, 0)
  // An earlier copy may have left uploads in the queue of the target.
  await finished(copy, into, wasEmpty && (into !== uid || (await target.documents(uid)) === rows))
}

/** An index to copy into. */
interface PreparedIndex {
  readonly into: string
  readonly wasEmpty: boolean
}

async function preparedIndex({ target, mapping: { uid }, facts, log }: Copy): Promise<PreparedIndex> {
  const into = copyUid(uid)
  await target.deleteIndex(into)
  const documents = await target.documents(uid)
  if (documents === null || documents === 0) return { into: uid, wasEmpty: true }
  const settings = await target.settings(uid)
  if (settings === null) return { into: uid, wasEmpty: true }
  if (hasSecrets(settings)) {
    log(
      `index \`${uid}\`: copying in place, because the secrets of its embedders and rerankers cannot be read for a new index`,
    )
    return { into: uid, wasEmpty: false }
  }
  await target.ensureIndex(into, facts.primaryKey)
  await target.putSettings(into, settings)
  return { into, wasEmpty: true }
}

/** Servers mask secrets. A new index would take the masks for the secrets. */
const hasSecrets = ({ embedders, rerankers }: Readonly<Record<string, unknown>>): boolean =>
  /"(apiKey|headers)"/.test(JSON.stringify([embedders, rerankers]))

/** @param hasOnlyRows true if all documents of the index come from rows */
async function finished(copy: Copy, into: string, hasOnlyRows: boolean): Promise<void> {
  const { target, mapping, facts, log } = copy
  const { uid } = mapping
  const { fingerprint } = facts
  if (!hasOnlyRows) await target.remove(uid, await orphansOf(copy))
  if (into !== uid) {
    await copy.progress({ state: 'swapping', fingerprint, into })
    await target.swap(uid, into)
    await target.deleteIndex(into)
  }
  await copy.progress({ state: 'ready', fingerprint })
  log(`index \`${uid}\`: copied`)
}

/** Returns the number of copied rows, including those of an interrupted copy. */
async function copyRows(copy: Copy, into: string, after: Key | null, rowsBefore: number): Promise<number> {
  const { source, target, mapping, facts, signal } = copy
  const { fingerprint } = facts
  const size = new PageSize()
  let rows = rowsBefore
  // Each promise resolves once its page and all earlier ones are indexed, so progress never skips a page.
  const waiting: Promise<void>[] = []
  let indexed: Promise<void> = Promise.resolve()
  let reading = awaitedLater(source.page(mapping.uid, after, size.rows))
  try {
    for (;;) {
      signal.throwIfAborted()
      const page = await reading
      size.note(page.documents.length, bytesOf(page.documents))
      const { last } = page
      if (last !== null) reading = awaitedLater(source.page(mapping.uid, last, size.rows))
      if (waiting.length >= COPY_PAGES_WAITING_MAX) await waiting.shift()
      const keys = page.documents.map(({ key }) => key)
      // Does not keep the documents: too many pages wait for their documents to fit in memory.
      const origin = {
        ids: () => keys.map(documentId),
        read: async () => linesOf(facts, await source.read(mapping.uid, keys)),
      }
      const ended = await target.upload(into, facts.primaryKey, linesOf(facts, page.documents), origin)
      const before = indexed
      const count = keys.length
      const next = async (): Promise<void> => {
        await before
        await ended()
        rows += count
        if (last !== null) await copy.progress({ state: 'copying', fingerprint, into, after: last, rows })
      }
      indexed = awaitedLater(next())
      waiting.push(indexed)
      if (last !== null) continue
      await indexed
      return rows
    }
  } finally {
    // Waits for this session's uploads: the next session must not start while they run.
    await indexed.catch(() => undefined)
  }
}

/** Returns the promise and marks its error as handled, since it is awaited later. */
function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}

export const bytesOf = (documents: readonly SourceDocument[]): number =>
  documents.reduce((sum, { json }) => sum + json.length, 0)

/** Returns the ids of documents whose rows do not exist. */
export async function orphansOf({
  source,
  target,
  mapping,
  facts,
  signal,
}: Pick<Copy, 'source' | 'target' | 'mapping' | 'facts' | 'signal'>): Promise<readonly string[]> {
  const { uid } = mapping
  const orphans: string[] = []
  for (let offset = 0; ; offset += IDS_MAX) {
    signal.throwIfAborted()
    const ids = await target.ids(uid, facts.primaryKey, offset, IDS_MAX)
    if (ids.length === 0) return orphans
    orphans.push(...(await withoutRows(source, uid, facts, ids)))
  }
}

/** Returns the ids without a row. Ids that are hashes are not checked. */
export async function withoutRows(
  source: Source,
  uid: string,
  facts: MappingFacts,
  ids: readonly string[],
): Promise<readonly string[]> {
  const keys = new Map<string, Key>()
  const foreign: string[] = []
  for (const id of ids) {
    const key = keyOfId(id, facts.keyColumns)
    const isPossible = key !== null && (!facts.hasNumberId || /^-?\d{1,19}$/.test(id))
    if (isPossible) keys.set(id, key)
    else if (!id.startsWith('_-')) foreign.push(id)
  }
  const found = await source.read(uid, [...keys.values()])
  for (const { key } of found) keys.delete(documentId(key))
  return [...foreign, ...keys.keys()]
}
