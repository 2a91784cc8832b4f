/** Writes and reads registers concurrently, and records what clients see. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerProcess } from '../../__test__/support/server-process.js'
import type { TaskView } from '../faults/model.js'
import { type RegisterRead, type RegisterWrite, violations } from './history.js'

const INDEX = 'registers'
const REGISTERS = 6
/** `customMetadata` of tasks that write registers. */
const METADATA = 'register'
/** Number of newest reads to judge. Older reads were judged before. */
const READS_MAX = 20_000

/** Returns true if a task wrote a register. */
export const isRegisterTask = ({ customMetadata }: TaskView): boolean => customMetadata === METADATA

interface Sent {
  readonly register: number
  readonly version: number
  readonly sentAt: number
  taskUid: number | null
  outcome: RegisterWrite['outcome']
  knownAt: number | null
}

export class Registers {
  readonly #writes: Sent[] = []
  #reads: RegisterRead[] = []
  /** Newest version sent by each writer. */
  readonly #versions = new Array<number>(REGISTERS).fill(0)
  readonly #problems: string[] = []

  get counts(): { readonly writes: number; readonly reads: number } {
    return { writes: this.#writes.length, reads: this.#reads.length }
  }

  /** Writes and reads until the signal aborts or the server ends. */
  async run(server: ServerProcess, signal: AbortSignal): Promise<void> {
    const registers = [...this.#versions.keys()]
    await Promise.all([
      ...registers.map((register) => this.#write(server, register, signal)),
      ...registers.map((register) => this.#read(server, register, signal)),
    ])
  }

  async #write(server: ServerProcess, register: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !server.hasEnded) {
      const version = (this.#versions[register] ?? 0) + 1
      this.#versions[register] = version
      const sent: Sent = {
        register,
        version,
        sentAt: performance.now(),
        taskUid: null,
        outcome: 'unknown',
        knownAt: null,
      }
      this.#writes.push(sent)
      const path = `/indexes/${INDEX}/documents?customMetadata=${METADATA}`
      const answer = await server.call('POST', path, [{ id: register, version }]).catch(() => null)
      if (answer === null) {
        await sleep(50)
        continue
      }
      if (answer.status === 202) {
        sent.taskUid = (answer.body as { readonly taskUid: number }).taskUid
        await this.#follow(server, sent, signal)
      } else {
        sent.outcome = 'failed'
        await sleep(50)
      }
    }
  }

  /** Polls a task until it ends or the signal aborts. */
  async #follow(server: ServerProcess, sent: Sent, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !server.hasEnded && sent.knownAt === null) {
      await this.#poll(server, sent)
      await sleep(10)
    }
  }

  async #poll(server: ServerProcess, sent: Sent): Promise<void> {
    const answer = await server.call('GET', `/tasks/${sent.taskUid}`).catch(() => null)
    if (answer?.status === 404)
      this.#problems.push(`task ${sent.taskUid} of a register was accepted and is lost`)
    if (answer?.status !== 200) return
    const { status } = answer.body as { readonly status: string }
    if (status === 'enqueued' || status === 'processing') return
    sent.outcome = status === 'succeeded' ? 'succeeded' : 'failed'
    sent.knownAt = performance.now()
  }

  async #read(server: ServerProcess, register: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !server.hasEnded) {
      await this.#readOnce(server, register)
      await sleep(5)
    }
  }

  /** @returns true if the server returned a version or reported that the document does not exist */
  async #readOnce(server: ServerProcess, register: number): Promise<boolean> {
    const beganAt = performance.now()
    const answer = await server.call('GET', `/indexes/${INDEX}/documents/${register}`).catch(() => null)
    const endedAt = performance.now()
    const { version = 0, code } = (answer?.body ?? {}) as {
      readonly version?: number
      readonly code?: string
    }
    const isMissing = code === 'document_not_found' || code === 'index_not_found'
    if (answer?.status !== 200 && !isMissing) return false
    this.#reads.push({ register, beganAt, endedAt, version })
    return true
  }

  /**
   * Polls the outcome of every accepted write, reads each register once more, and judges the complete history.
   * @param server a server whose tasks have all ended
   */
  async judge(server: ServerProcess): Promise<string[]> {
    for (const sent of this.#writes)
      if (sent.taskUid !== null && sent.knownAt === null) await this.#poll(server, sent)
    for (const register of this.#versions.keys())
      if (!(await this.#readOnce(server, register)))
        this.#problems.push(`register ${register} cannot be read from a healthy server`)
    const problems = [...this.#problems.splice(0), ...violations(this.#writes, this.#reads)]
    this.#reads = this.#reads.slice(-READS_MAX)
    return problems
  }
}
