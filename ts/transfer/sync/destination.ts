/** The search instance that receives documents. */
import { createHash, randomUUID } from 'node:crypto'
import {
  acceptedTask,
  endedTask,
  isCount,
  isTexts,
  list,
  object,
  type Peer,
  PeerError,
  type PeerTask,
} from '../peer/index.js'
import { DEAD_DOCUMENT_CHARS_MAX, DEAD_LETTERS_KNOWN_MAX, IDS_MAX, UPLOAD_MS_MAX } from './limits.js'
import { type Patience, patiently, TransientTaskError } from './retrying.js'

/** Index with the documents that the target refused, and the reasons. */
export const DEAD_LETTERS = '_siftd_sync_dead_letters'

/** A document to add. */
export interface IdentifiedLine {
  readonly id: string
  /** JSON. */
  readonly line: string
}

/** Documents that can be read again. */
interface DocumentOrigin {
  ids(): readonly string[]
  read(): Promise<readonly IdentifiedLine[]>
}

/** Refusals of valid requests that concern documents. All others are repeated. */
class DocumentsRefused extends Error {}

/** Attempts of an upload whose embedder fails, before its documents are added one by one. */
const EMBEDDER_ATTEMPTS = 5

/**
 * Writes documents. Every method resolves when its task has succeeded; while the target fails it tries again. Throws
 * only when the signal aborts.
 */
export class Destination {
  readonly #peer: Peer
  readonly #patience: Patience
  /** Ids of dead letters. */
  #dead: Set<string> | null = null

  constructor(peer: Peer, patience: Patience) {
    this.#peer = peer
    this.#patience = patience
  }

  get deadLetters(): number {
    return this.#dead?.size ?? 0
  }

  /** Returns the number of documents; null if the index does not exist. */
  async documents(uid: string): Promise<number | null> {
    const stats = await this.#found<{ numberOfDocuments?: number }>(`/indexes/${uid}/stats`)
    return stats === null ? null : (stats.numberOfDocuments ?? 0)
  }

  async ensureIndex(uid: string, primaryKey: string): Promise<void> {
    const index = await this.#found<{ primaryKey?: string | null }>(`/indexes/${uid}`)
    if (index === null) await this.#write('POST', '/indexes', { uid, primaryKey }, ['index_already_exists'])
    else if (index.primaryKey !== primaryKey)
      await this.#write('PATCH', `/indexes/${uid}`, { primaryKey }, [])
  }

  async deleteIndex(uid: string): Promise<void> {
    await this.#write('DELETE', `/indexes/${uid}`, undefined, ['index_not_found'])
  }

  /**
   * Resolves once the key may use all indexes. Another key does not see the tasks of swaps: the answer to one would
   * always seem lost.
   */
  async forAllIndexes(): Promise<void> {
    const uid = `no-index-${randomUUID()}`
    await patiently(this.#patience, async () => {
      try {
        await this.#peer.json('GET', `/indexes/${uid}`)
      } catch (error) {
        if (!(error instanceof PeerError) || error.status === null) throw error
        if (error.status === 404) return
        if (error.apiCode !== 'invalid_api_key') throw error
        const advice = "make one with `--indexes '*'`, since copies need new indexes and swaps"
        throw new PeerError(`the target refuses the key for all indexes: ${advice}`, 403, error.apiCode)
      }
    })
  }

  /** Swaps two indexes once. After a lost answer it looks for the task, since a second swap would undo the first. */
  async swap(a: string, b: string): Promise<void> {
    await this.forAllIndexes()
    let before = (await patiently(this.#patience, () => this.#swaps())).at(0)?.uid ?? -1
    const call = () => ({ body: [{ indexes: [a, b] }] })
    await patiently(this.#patience, async () => {
      const ours = (await this.#swaps()).find(
        ({ uid, indexes }) => uid > before && [a, b].every((one) => indexes.includes(one)),
      )
      const taskUid = ours?.uid ?? (await this.#accepted('POST', '/swap-indexes', call)).taskUid
      const { status, error } = await this.#outcome(taskUid)
      if (status === 'succeeded') return
      before = taskUid
      throw new TransientTaskError(`swapping \`${a}\` and \`${b}\` failed: ${error?.message ?? status}`)
    })
  }

  /** Returns the newest tasks that swap indexes, newest first. */
  async #swaps(): Promise<readonly { readonly uid: number; readonly indexes: readonly string[] }[]> {
    interface Listed {
      readonly results: readonly (Pick<PeerTask, 'uid'> & {
        readonly details: { readonly swaps: readonly { readonly indexes: readonly string[] }[] }
      })[]
    }
    const swap = object({ indexes: isTexts })
    const shape = { results: list(object({ uid: isCount, details: object({ swaps: list(swap) }) })) }
    const { results } = await this.#peer.json<Listed>('GET', '/tasks?types=indexSwap&limit=100', { shape })
    return results.map(({ uid, details }) => ({ uid, indexes: details.swaps.flatMap((one) => one.indexes) }))
  }

  settings(uid: string): Promise<Readonly<Record<string, unknown>> | null> {
    return this.#found(`/indexes/${uid}/settings`)
  }

  async putSettings(uid: string, settings: object): Promise<void> {
    await this.#write('PATCH', `/indexes/${uid}/settings`, settings, [])
  }

  /** Returns a document; null if it or the index does not exist. */
  document<T>(uid: string, id: string): Promise<T | null> {
    return this.#found(`/indexes/${uid}/documents/${encodeURIComponent(id)}`)
  }

  /** Returns the ids of consecutive documents. */
  async ids(uid: string, primaryKey: string, offset: number, limit: number): Promise<readonly string[]> {
    const path = `/indexes/${uid}/documents?fields=${encodeURIComponent(primaryKey)}&offset=${offset}&limit=${limit}`
    const found = await this.#found<{ results?: readonly Readonly<Record<string, unknown>>[] }>(path)
    return found?.results?.map((document) => String(document[primaryKey])) ?? []
  }

  /** Returns documents by id. Documents that do not exist are missing. */
  async documentsOf(
    uid: string,
    ids: readonly string[],
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const body = { ids, limit: ids.length }
    const call = { body, isRepeatable: true, timeoutMs: UPLOAD_MS_MAX }
    const path = `/indexes/${uid}/documents/fetch`
    const found = await patiently(this.#patience, () =>
      this.#peer.json<{ results?: readonly Readonly<Record<string, unknown>>[] }>('POST', path, call),
    )
    return found.results ?? []
  }

  /** Adds or replaces documents. Sets refused documents aside. */
  async put(uid: string, primaryKey: string, documents: readonly IdentifiedLine[]): Promise<void> {
    if (documents.length === 0) return
    const refused = new Set<string>()
    await this.#putOrSplit(uid, primaryKey, documents, refused)
    const added = documents.filter(({ id }) => !refused.has(id))
    await this.#revive(
      uid,
      added.map(({ id }) => id),
    )
  }

  /**
   * Sends documents. Resolves once the target has accepted them, to a function that waits for their task. The documents
   * are not kept meanwhile.
   */
  async upload(
    uid: string,
    primaryKey: string,
    documents: readonly IdentifiedLine[],
    origin: DocumentOrigin,
  ): Promise<() => Promise<void>> {
    if (documents.length === 0) return async () => undefined
    const taskUid = await this.#sent(uid, primaryKey, documents)
    if (taskUid !== null) return () => this.#uploaded(uid, primaryKey, taskUid, origin)
    await this.put(uid, primaryKey, documents)
    return async () => undefined
  }

  /** Returns the uid of the task; null if the target refuses the call. */
  async #sent(uid: string, primaryKey: string, documents: readonly IdentifiedLine[]): Promise<number | null> {
    const call = additionOf(uid, primaryKey, documents)
    try {
      return (await patiently(this.#patience, () => this.#accepted('POST', call.path, call.callOf))).taskUid
    } catch (error) {
      if (error instanceof PeerError && error.status !== null) return null
      throw error
    }
  }

  async #uploaded(uid: string, primaryKey: string, taskUid: number, origin: DocumentOrigin): Promise<void> {
    const hasSucceeded = await patiently(this.#patience, async () => {
      try {
        return (await this.#outcome(taskUid)).status === 'succeeded'
      } catch (error) {
        if (error instanceof TransientTaskError) return false
        throw error
      }
    })
    if (hasSucceeded) await this.#revive(uid, origin.ids())
    // Separates the documents that are refused.
    else await this.put(uid, primaryKey, await origin.read())
  }

  async remove(uid: string, ids: readonly string[]): Promise<void> {
    for (let at = 0; at < ids.length; at += IDS_MAX) {
      const some = ids.slice(at, at + IDS_MAX)
      await this.#write('POST', `/indexes/${uid}/documents/delete-batch`, some, ['index_not_found'])
    }
    await this.#revive(uid, ids)
  }

  async clear(uid: string): Promise<void> {
    await this.#write('DELETE', `/indexes/${uid}/documents`, undefined, ['index_not_found'])
  }

  /** @param refused gets the ids of refused documents */
  async #putOrSplit(
    uid: string,
    primaryKey: string,
    documents: readonly IdentifiedLine[],
    refused: Set<string>,
  ): Promise<void> {
    const reason = await this.#refusal(uid, primaryKey, documents)
    if (reason === null) return
    if (documents.length === 1) {
      refused.add(documents[0]!.id)
      return this.#bury(uid, documents[0]!, reason)
    }
    const half = Math.ceil(documents.length / 2)
    await this.#putOrSplit(uid, primaryKey, documents.slice(0, half), refused)
    await this.#putOrSplit(uid, primaryKey, documents.slice(half), refused)
  }

  /** Adds documents. @returns why they were refused; null if they were added */
  async #refusal(
    uid: string,
    primaryKey: string,
    documents: readonly IdentifiedLine[],
  ): Promise<string | null> {
    let embedderFailures = 0
    const attempt = async (): Promise<void> => {
      const { path, callOf } = additionOf(uid, primaryKey, documents)
      const task = await this.#ended('POST', path, callOf)
      if (task.status === 'succeeded') return
      const { code = 'canceled', message = '', type } = task.error ?? {}
      const isEmbedder = code === 'vector_embedding_error' && ++embedderFailures < EMBEDDER_ATTEMPTS
      if (type === 'invalid_request' && !isEmbedder) throw new DocumentsRefused(`${code}: ${message}`)
      throw new TransientTaskError(`index \`${uid}\`: adding documents failed: ${code} ${message}`)
    }
    try {
      await patiently(this.#patience, attempt)
      return null
    } catch (error) {
      if (error instanceof DocumentsRefused) return error.message
      if (error instanceof PeerError && error.status !== null) return error.message
      throw error
    }
  }

  async #bury(uid: string, { id, line }: IdentifiedLine, reason: string): Promise<void> {
    const letter = letterId(uid, id)
    ;(await this.#known()).add(letter)
    this.#patience.log(
      `index \`${uid}\`: document \`${id}\` was refused and set aside in ${DEAD_LETTERS}: ${reason}`,
    )
    const document = {
      ...{ id: letter, index: uid, documentId: id, reason, at: new Date().toISOString() },
      document: line.slice(0, DEAD_DOCUMENT_CHARS_MAX),
    }
    await this.#write('POST', `/indexes/${DEAD_LETTERS}/documents?primaryKey=id`, [document], [])
  }

  /** Removes the dead letters of documents that succeeded or were deleted. */
  async #revive(uid: string, ids: readonly string[]): Promise<void> {
    const dead = await this.#known()
    if (dead.size === 0) return
    const letters = ids.map((id) => letterId(uid, id)).filter((letter) => dead.has(letter))
    if (letters.length === 0) return
    for (const letter of letters) dead.delete(letter)
    await this.#write('POST', `/indexes/${DEAD_LETTERS}/documents/delete-batch`, letters, ['index_not_found'])
  }

  async #known(): Promise<Set<string>> {
    if (this.#dead !== null) return this.#dead
    const path = `/indexes/${DEAD_LETTERS}/documents?fields=id&limit=${DEAD_LETTERS_KNOWN_MAX}`
    const found = await this.#found<{ results?: readonly { readonly id: string }[] }>(path)
    this.#dead = new Set(found?.results?.map(({ id }) => id) ?? [])
    return this.#dead
  }

  /** Returns an answer; null for 404. */
  async #found<T>(path: string): Promise<T | null> {
    try {
      return await patiently(this.#patience, () => this.#peer.json<T>('GET', path))
    } catch (error) {
      if (error instanceof PeerError && error.status === 404) return null
      throw error
    }
  }

  /** @param accepted error codes that count as success @throws PeerError if the instance refuses the call for another reason */
  async #write(
    method: 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body: object | undefined,
    accepted: readonly string[],
  ): Promise<void> {
    await patiently(this.#patience, async () => {
      try {
        const task = await this.#ended(method, path, () => ({
          body,
          isRepeatable: true,
        }))
        if (task.status === 'succeeded' || accepted.includes(task.error?.code ?? '')) return
        const { code = 'canceled', message = '' } = task.error ?? {}
        throw new TransientTaskError(`${method} ${path.split('?', 1)[0]} failed: ${code} ${message}`)
      } catch (error) {
        if (error instanceof PeerError && error.apiCode !== null && accepted.includes(error.apiCode)) return
        throw error
      }
    })
  }

  /** @param callOf is a function, so that the body is released while the task runs */
  async #ended(
    method: 'POST' | 'PATCH' | 'DELETE',
    path: string,
    callOf: () => Parameters<Peer['json']>[2],
  ): Promise<PeerTask> {
    return this.#outcome((await this.#accepted(method, path, callOf)).taskUid)
  }

  async #outcome(taskUid: number): Promise<PeerTask> {
    try {
      return await endedTask(this.#peer, taskUid)
    } catch (error) {
      // The instance was replaced by an older state of itself.
      if (error instanceof PeerError && error.status === 404)
        throw new TransientTaskError(`task ${taskUid} is lost`)
      throw error
    }
  }

  // Not async: a suspended function keeps its arguments.
  #accepted(
    method: 'POST' | 'PATCH' | 'DELETE',
    path: string,
    callOf: () => Parameters<Peer['json']>[2],
  ): Promise<{ readonly taskUid: number }> {
    return this.#peer.json(method, path, { ...callOf(), shape: acceptedTask })
  }
}

/** Returns the call that adds documents. */
const additionOf = (uid: string, primaryKey: string, documents: readonly IdentifiedLine[]) => ({
  path: `/indexes/${uid}/documents?primaryKey=${encodeURIComponent(primaryKey)}`,
  callOf: () => ({
    body: documents.map(({ line }) => line).join('\n'),
    timeoutMs: UPLOAD_MS_MAX,
    isRepeatable: true,
  }),
})

const letterId = (uid: string, id: string): string =>
  createHash('sha256').update(`${uid}\n${id}`).digest('hex').slice(0, 32)
