/** Sends batches and finds the documents that the server refuses. */
import { acceptedTask, endedTask, type Peer, PeerError, RefusedError } from '../../../transfer/index.js'
import { type Batch, halvesOf, payloadOf } from './batches.js'
import { BATCHES_WAITING_MAX, REFUSED_MAX, UPLOAD_MS_MAX } from './limits.js'

/** A document that the server refused. */
export interface Refused {
  /** Its position in the input, from 1. */
  readonly document: number
  readonly code: string
  readonly reason: string
}

interface UploadTarget {
  readonly peer: Peer
  /** Path of the documents of the index, with parameters. */
  readonly path: string
  /** PUT merges with existing documents, POST replaces them. */
  readonly method: 'POST' | 'PUT'
  /** Called when all documents of a batch and of earlier batches are indexed or refused. */
  indexed(batch: Batch): Promise<void>
  refused(document: Refused): void
}

/** Why a batch was not indexed. */
interface Refusal {
  readonly code: string | null
  readonly status: number | null
  /** Message of the server. */
  readonly reason: string
  /** Message that also names the refused call. */
  readonly message: string
}

/** A batch that was sent. */
interface Sent {
  readonly batch: Batch
  /** Uid of its task, or the reason why it was not accepted. */
  readonly answer: number | Refusal
}

/** Sends batches in order, several at a time, and finds refused documents. */
export class Uploader {
  readonly #target: UploadTarget
  readonly #waiting: Sent[] = []
  #refused = 0

  constructor(target: UploadTarget) {
    this.#target = target
  }

  /** Sends a batch, once few enough are pending. @throws PeerError for errors other than refused documents */
  async add(batch: Batch): Promise<void> {
    if (this.#waiting.length >= BATCHES_WAITING_MAX) await this.#settleFirst()
    this.#waiting.push(await this.#send(batch))
  }

  /** Resolves when all batches are indexed. */
  async end(): Promise<void> {
    while (this.#waiting.length > 0) await this.#settleFirst()
  }

  async #settleFirst(): Promise<void> {
    const first = this.#waiting.shift()!
    const refusal = await this.#refusalOf(first)
    if (refusal !== null) {
      // Later batches may have newer versions of the same documents, so they are sent again afterwards.
      const later = this.#waiting.splice(0)
      for (const sent of later) await this.#refusalOf(sent)
      await this.#narrow(first.batch, refusal)
      for (const { batch } of later) this.#waiting.push(await this.#send(batch))
    }
    await this.#target.indexed(first.batch)
  }

  /** Splits a refused batch until the refused documents are found. Indexes all others. */
  async #narrow(batch: Batch, refusal: Refusal): Promise<void> {
    if (!isAboutDocuments(refusal)) throw this.#failure(batch, refusal)
    if (batch.documents.length === 1) {
      this.#target.refused({
        document: batch.offset + 1,
        code: refusal.code ?? String(refusal.status),
        reason: refusal.reason,
      })
      this.#refused++
      if (this.#refused < REFUSED_MAX) return
      throw new PeerError(`gave up after ${REFUSED_MAX} refused documents; correct the input and start again`)
    }
    for (const half of halvesOf(batch)) {
      const found = await this.#refusalOf(await this.#send(half))
      if (found !== null) await this.#narrow(half, found)
    }
  }

  async #send(batch: Batch): Promise<Sent> {
    const { peer, path, method } = this.#target
    const call = { ...payloadOf(batch), isRepeatable: true, timeoutMs: UPLOAD_MS_MAX, shape: acceptedTask }
    try {
      const { taskUid } = await peer.json<{ readonly taskUid: number }>(method, path, call)
      return { batch, answer: taskUid }
    } catch (error) {
      if (!(error instanceof PeerError) || error.status === null) throw error
      const { apiCode: code, status, message, cause } = error
      const reason = cause instanceof RefusedError ? cause.reason : message
      return { batch, answer: { code, status, message, reason } }
    }
  }

  /** Returns null if the batch is indexed. */
  async #refusalOf({ answer }: Sent): Promise<Refusal | null> {
    if (typeof answer !== 'number') return answer
    const { status, error } = await endedTask(this.#target.peer, answer)
    if (status === 'succeeded') return null
    const reason = error?.message ?? `task ${answer} was ${status}`
    return { code: error?.code ?? null, status: null, reason, message: reason }
  }

  #failure({ offset, documents }: Batch, { code, status, message }: Refusal): PeerError {
    const range = `documents ${offset + 1} to ${offset + documents.length}`
    const reason = status === null ? `${range} were refused: ${code ?? ''} ${message}` : message
    return new PeerError(reason, status, code)
  }
}

/** Returns true if a smaller batch may be accepted: the reason is a document or the size. */
const isAboutDocuments = ({ code, status }: Refusal): boolean =>
  status === 413 ||
  (code !== null &&
    /^(missing_document_id|malformed_payload|payload_too_large|invalid_document_.*|invalid_vectors_type)$/.test(
      code,
    ))
