/** A webhook receiver that checks the delivered tasks: complete, unchanged and in order. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import type { ServerProcess } from '../../__test__/support/server-process.js'
import { finalTaskText } from '../faults/load.js'
import type { TaskView } from '../faults/model.js'

/** Maximum time from the end of the last task to its delivery, while every call succeeds. */
const DELIVERY_MS_MAX = 60_000
/** Maximum delay of a slow answer. */
const SLOW_MS_MAX = 300

export class Receiver {
  readonly #server: Server
  readonly #random: () => number
  /** Uid → the task's text in the last call, whether or not the call succeeded. */
  readonly #delivered = new Map<number, string>()
  /** Uids delivered in a successful call. */
  readonly #accepted = new Set<number>()
  readonly #problems: string[] = []
  #calls = 0
  /** When the batch ended that was most recently delivered for the first time. */
  #lastEnd = ''
  #isSteady = true
  #onCall: () => void = () => undefined

  private constructor(server: Server, random: () => number) {
    this.#server = server
    this.#random = random
  }

  static async open(random: () => number): Promise<Receiver> {
    const server = createServer()
    const receiver = new Receiver(server, random)
    server.on('request', (request, response) => receiver.#answer(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return receiver
  }

  get calls(): number {
    return this.#calls
  }

  /** Registers this receiver as a webhook. @throws if the server refuses it */
  async subscribe(server: ServerProcess): Promise<void> {
    const { port } = this.#server.address() as AddressInfo
    const { status, body } = await server.call('POST', '/webhooks', { url: `http://127.0.0.1:${port}/` })
    if (status !== 201) throw new Error(`POST /webhooks: ${status} ${JSON.stringify(body)}`)
  }

  /** Answers some calls late, with errors or not at all, until the next `judge`. */
  beginTrouble(): void {
    this.#isSteady = false
  }

  /**
   * Waits until every task was delivered, and compares.
   * @param tasks all tasks of a healthy server, all ended; the server was started after `beginTrouble`
   */
  async judge(tasks: readonly TaskView[]): Promise<string[]> {
    this.#isSteady = true
    const missing = (): readonly TaskView[] => tasks.filter(({ uid }) => !this.#accepted.has(uid))
    await this.#until(() => missing().length === 0)
    const problems = this.#problems.splice(0)
    for (const { uid, type, status } of missing())
      problems.push(`task ${uid} (${type}) is ${status}, and was not delivered to the webhook`)
    for (const [uid, delivered] of this.#delivered) {
      const task = tasks[uid]
      if (task === undefined || finalTaskText(task) !== delivered)
        problems.push(`the webhook received ${delivered}, but the task is ${JSON.stringify(task)}`)
    }
    return problems
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #until(holds: () => boolean): Promise<void> {
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, DELIVERY_MS_MAX)
      this.#onCall = () => {
        if (!holds()) return
        clearTimeout(late)
        resolve()
      }
      this.#onCall()
    })
    this.#onCall = () => undefined
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    // A killed server breaks off its call.
    request.on('error', () => undefined)
    request.on('end', () => {
      this.#calls++
      const tasks = this.#read(Buffer.concat(chunks))
      const dice = this.#isSteady ? 1 : this.#random()
      if (dice < 0.05) request.socket.destroy()
      else if (dice < 0.15) response.writeHead(dice < 0.1 ? 500 : 400).end()
      else {
        const accept = () => {
          for (const { uid } of tasks) this.#accepted.add(uid)
          response.writeHead(200).end()
          this.#onCall()
        }
        if (dice < 0.25) setTimeout(accept, this.#random() * SLOW_MS_MAX)
        else accept()
      }
    })
  }

  #read(body: Buffer): readonly TaskView[] {
    const lines = gunzipSync(body).toString().trimEnd().split('\n')
    const tasks = lines.map((line) => JSON.parse(line) as TaskView)
    for (const task of tasks) {
      const text = finalTaskText(task)
      const before = this.#delivered.get(task.uid)
      if (before !== undefined && before !== text)
        this.#problems.push(`the webhook received ${text}, and earlier ${before}`)
    }
    const isFirst = tasks.some(({ uid }) => !this.#delivered.has(uid))
    const end = tasks[0]?.finishedAt ?? ''
    if (isFirst && Date.parse(end) < Date.parse(this.#lastEnd))
      this.#problems.push(`the webhook received task ${tasks[0]?.uid} late: it ended before ${this.#lastEnd}`)
    if (isFirst) this.#lastEnd = end
    for (const task of tasks) this.#delivered.set(task.uid, finalTaskText(task))
    return tasks
  }
}
