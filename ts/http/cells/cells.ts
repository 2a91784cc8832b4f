import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { ApiError, type ErrorCode } from '../../errors/index.js'
import { type Outbound, type OutboundAnswer, OutboundError } from '../../outbound/index.js'
import {
  cellNamed,
  cellOfIndex,
  cellOfUid,
  type OpenedPlacement,
  type Placement,
} from '../../placement/index.js'
import { FAILED_MS, NEXT_MS, QUOTED_MAX } from './limits.js'

/** Request header: a request that another cell has passed on, with the version of its placement. */
export const CELL_HEADER = 'x-siftd-cell'

/** Answer header: the index is in another cell, by this version of the placement. */
export const MOVED_HEADER = 'x-siftd-placement'

/** Request header: shows that a cell sent the request, and not only a client. */
export const PROOF_HEADER = 'x-siftd-cell-proof'

export interface CellsSetup {
  /** Name of the cell of this server. */
  readonly name: string
  readonly placement: Pick<OpenedPlacement, 'current' | 'refresh'>
  /** Calls the other cells. */
  readonly peers: Pick<Outbound, 'call' | 'pass'>
  /** All cells share it; null: the instances are open. */
  readonly masterKey: string | null
}

/** A call of another cell. */
interface CellCall {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Path with its query string. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs: number
  readonly answerBytesMax: number
  readonly holdMemory?: (bytes: number) => void
  readonly signal?: AbortSignal
}

/** The cells of the placement, as this server reaches them. */
export class Cells {
  readonly name: string
  readonly peers: CellsSetup['peers']
  readonly #placement: CellsSetup['placement']
  readonly #proof: string
  /** Rights of calls that no client has caused. */
  readonly asMaster: { readonly headers: Readonly<Record<string, string>> }
  /** Address → when a call of it failed. */
  readonly #failedAt = new Map<string, number>()

  constructor({ name, placement, peers, masterKey }: CellsSetup) {
    this.name = name
    this.peers = peers
    this.#placement = placement
    this.asMaster = { headers: masterKey === null ? {} : { authorization: `Bearer ${masterKey}` } }
    this.#proof = createHmac('sha256', masterKey ?? '')
      .update('siftd cell')
      .digest('base64url')
  }

  get placement(): Placement {
    return this.#placement.current()
  }

  /** Reads the placement, unless that has just been done. */
  refresh(): Promise<void> {
    return this.#placement.refresh()
  }

  /** Returns the name of the cell that holds an index. */
  ofIndex(indexUid: string): string {
    return cellOfIndex(this.placement, indexUid) ?? this.name
  }

  /** Returns the name of the cell that has made a task or batch. A class that no cell has is looked up here. */
  ofUid(uid: number): string {
    return cellOfUid(this.placement, uid) ?? this.name
  }

  /** Returns the cell that holds all these indexes. @param code of the error @throws ApiError if there is none */
  requireOne(indexUids: readonly string[], code: ErrorCode): string {
    const [first, ...others] = [...new Set(indexUids.map((uid) => this.ofIndex(uid)))]
    if (others.length === 0) return first ?? this.name
    const where = indexUids.slice(0, 2 * QUOTED_MAX).map((uid) => `\`${uid}\` is in \`${this.ofIndex(uid)}\``)
    throw new ApiError(
      code,
      `these indexes are in several cells, and cannot change in one task: ${[...new Set(where)].slice(0, QUOTED_MAX).join(', ')}`,
    )
  }

  /** Name of the cell that has the keys. */
  get home(): string {
    return this.placement.home ?? this.name
  }

  /** Names of the other cells. */
  get others(): readonly string[] {
    return Object.keys(this.placement.cells).filter((name) => name !== this.name)
  }

  /** Returns the addresses of a cell, those that have just failed last. @throws ApiError `bucket_unavailable` */
  urlsOf(cell: string): readonly string[] {
    const urls = cellNamed(this.placement, cell)?.urls ?? []
    if (urls.length === 0) throw unavailable(cell, true)
    const failed = (url: string): boolean =>
      performance.now() - (this.#failedAt.get(url) ?? Number.NEGATIVE_INFINITY) < FAILED_MS
    return [...urls.filter((url) => !failed(url)), ...urls.filter(failed)]
  }

  noteFailure(url: string): void {
    this.#failedAt.set(url, performance.now())
  }

  /** Headers of a request that is passed on to another cell. Only a request of this server itself has a proof. */
  get headers(): Readonly<Record<string, string>> {
    return { [CELL_HEADER]: String(this.placement.version) }
  }

  /** Returns true if another cell sent the request. */
  hasSent({ headers }: FastifyRequest): boolean {
    const given = Buffer.from(String(headers[PROOF_HEADER] ?? ''))
    const proof = Buffer.from(this.#proof)
    return given.length === proof.length && timingSafeEqual(given, proof)
  }

  /**
   * Calls a cell with what may be sent again, at its next address if one does not answer.
   * @throws ApiError `bucket_unavailable` without an answer
   */
  async call(cell: string, { path, headers, ...call }: CellCall): Promise<OutboundAnswer> {
    const urls = this.urlsOf(cell)
    for (const [at, url] of urls.entries()) {
      try {
        const answer = await this.peers.call({
          ...call,
          timeoutMs: at < urls.length - 1 ? Math.min(call.timeoutMs, NEXT_MS) : call.timeoutMs,
          url: `${url.replace(/\/$/, '')}${path}`,
          headers: { ...headers, ...this.headers, [PROOF_HEADER]: this.#proof },
          redirects: 'refused',
        })
        // The refusal asks the client to repeat the request, which then goes to the right cell.
        if (Number(answer.headers[MOVED_HEADER] ?? 0) > this.placement.version) await this.refresh()
        return answer
      } catch (error) {
        if (!(error instanceof OutboundError) || error.fault === 'aborted') throw error
        if (error.fault === 'too_large')
          throw new ApiError('bucket_unavailable', `the answer of the cell \`${cell}\` is too large`)
        this.noteFailure(url)
      }
    }
    throw unavailable(cell, true)
  }
}

/** The error of a request to a cell of which no server answers. Nothing was written. */
export const unavailable = (cell: string, isRead: boolean): ApiError =>
  new ApiError(
    'bucket_unavailable',
    `the cell \`${cell}\` cannot be reached${isRead ? '' : ': nothing was written'}; retry`,
  )

/** Returns the headers of a client that a part of its request needs in another cell. */
export function clientHeaders({ headers }: FastifyRequest): Record<string, string> {
  const passed = ['authorization', 'x-siftd-read-consistency', 'user-agent']
  return Object.fromEntries(
    passed.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  )
}
