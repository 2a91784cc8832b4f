/** Changes the state over one connection, and asks for it over all connections as soon as the change is acknowledged. */
import { isDeepStrictEqual } from 'node:util'
import type { Connection } from '../../__test__/support/connection.js'
import { numbers } from '../../__test__/support/numbers.js'
import { MASTER_KEY, ServerProcess } from '../../__test__/support/server-process.js'
import { type Change, changeGroups } from './changes.js'
import { type Question, questionsOf } from './questions.js'
import { spreadConnections } from './spread.js'
import { type Call, initialState, preparation, type State } from './state.js'

export interface ThreadsTrial {
  readonly engine: string
  readonly threads: number
  readonly connections: number
  readonly rounds: number
  readonly seed: number
  /** Directory for the data. */
  readonly directory: string
  readonly shouldContinue?: () => boolean
}

export interface ThreadsReport {
  readonly rounds: number
  /** Answers compared with the state. */
  readonly answers: number
  /** Connections by thread. */
  readonly spread: Readonly<Record<string, number>>
  /** Rounds by change. */
  readonly changes: Readonly<Record<string, number>>
  /** A line for each answer that was not by the newest state. */
  readonly problems: readonly string[]
}

const START_MS_MAX = 60_000
const STOP_MS_MAX = 30_000
/** Problems after which a trial ends. */
const PROBLEMS_MAX = 20

/**
 * Runs rounds on a new server. A round asks a question over all connections, makes a change over one of them, waits
 * until the change is acknowledged, and asks again. In every second round the others also ask during the change.
 */
export async function threadsTrial(setup: ThreadsTrial): Promise<ThreadsReport> {
  const { engine, threads, directory, shouldContinue = () => true } = setup
  const started = await ServerProcess.start({
    ...{ data: directory, engine, httpThreads: threads, startMsMax: START_MS_MAX },
    args: ['--log-level', 'INFO'],
  })
  if (started.kind !== 'listening') throw new Error(`the server did not start: ${started.errors}`)
  const { server } = started
  try {
    const { connections, spread } = await spreadConnections(server, setup.connections)
    const rounds = new Rounds(connections, numbers(setup.seed))
    await rounds.prepare()
    for (let round = 1; round <= setup.rounds && shouldContinue(); round++) {
      await rounds.run(round)
      if (rounds.problems.length >= PROBLEMS_MAX) break
    }
    for (const connection of connections) connection.close()
    const code = await server.stop(STOP_MS_MAX)
    if (code !== 0) rounds.problems.push(`exit code ${code} after SIGTERM`)
    return { ...rounds.report(), spread }
  } finally {
    await server.kill()
  }
}

class Rounds {
  readonly #connections: readonly Connection[]
  readonly #random: () => number
  readonly #questions = questionsOf(MASTER_KEY)
  readonly #changes: Record<string, number> = {}
  readonly problems: string[] = []
  #state = initialState
  #answers = 0
  #rounds = 0
  /** The rest of the current group of changes. */
  #group: readonly (typeof changeGroups)[number][number][] = []

  constructor(connections: readonly Connection[], random: () => number) {
    this.#connections = connections
    this.#random = random
  }

  async prepare(): Promise<void> {
    for (const call of preparation()) await this.#acknowledged(this.#connections[0]!, call)
  }

  async run(round: number): Promise<void> {
    const change = this.#nextChange(round)
    const question = this.#oneOf(this.#questions[change.subject])
    const [before, after] = [this.#state, change.next]
    const label = `round ${round}, ${change.name}, ${question.name}`
    // Leaves the old answer in every cache.
    await this.#askAll(question, before, `${label}, before`)
    const writer = this.#oneOf(this.#connections)
    if (round % 2 === 0) await this.#changeWhileAsking(writer, { change, question, label })
    else await this.#acknowledged(writer, change.call)
    this.#state = after
    await this.#askAll(question, after, label)
    this.#rounds++
    this.#changes[change.name] = (this.#changes[change.name] ?? 0) + 1
  }

  report(): Omit<ThreadsReport, 'spread'> {
    return {
      ...{ rounds: this.#rounds, answers: this.#answers },
      ...{ changes: this.#changes, problems: this.problems },
    }
  }

  #nextChange(round: number): Change {
    if (this.#group.length === 0) this.#group = this.#oneOf(changeGroups)
    const [make, ...rest] = this.#group
    this.#group = rest
    return make!(this.#state, round)
  }

  async #askAll(question: Question, state: State, label: string): Promise<void> {
    await Promise.all(this.#connections.map((one) => this.#ask(one, question, { states: [state], label })))
  }

  /** Asks over the other connections until an answer to a question sent after the acknowledgement. */
  async #changeWhileAsking(
    writer: Connection,
    {
      change,
      question,
      label,
    }: { readonly change: Change; readonly question: Question; readonly label: string },
  ): Promise<void> {
    const [before, after] = [this.#state, change.next]
    let isAcknowledged = false
    const asking = this.#connections
      .filter((one) => one !== writer)
      .map(async (one) => {
        for (let isLast = false; !isLast; ) {
          isLast = isAcknowledged
          const states = isLast ? [after] : [before, after]
          await this.#ask(one, question, {
            states,
            label: `${label}, ${isLast ? 'after' : 'during'} the change`,
          })
        }
      })
    await this.#acknowledged(writer, change.call)
    isAcknowledged = true
    await Promise.all(asking)
  }

  /** Records a problem if the answer is by none of the states. */
  async #ask(
    connection: Connection,
    { call, key, seen, expected }: Question,
    { states, label }: { readonly states: readonly State[]; readonly label: string },
  ): Promise<void> {
    const { method, path, body } = call
    const answer = await connection.call(method, path, body, key === undefined ? {} : { key })
    this.#answers++
    const found = answer.status === 200 ? seen(answer.body) : answer.body.code
    if (states.some((state) => isDeepStrictEqual(found, expected(state)))) return
    const wanted = states.map((state) => JSON.stringify(expected(state))).join(' or ')
    this.problems.push(
      `${label}: connection ${this.#connections.indexOf(connection)} saw ${JSON.stringify(found)}, expected ${wanted}`,
    )
  }

  /** Sends a change. Returns when it was answered and its task, if any, was reported as succeeded. */
  async #acknowledged(writer: Connection, { method, path, body }: Call): Promise<void> {
    const { status, body: answer } = await writer.call(method, path, body)
    if (status >= 400) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`)
    if (status !== 202) return
    const isWaiting = this.#random() < 0.5
    const reader = this.#oneOf(this.#connections)
    for (;;) {
      const path = `/tasks/${answer.taskUid}${isWaiting ? '?waitMs=60000' : ''}`
      const { body: task } = await (isWaiting ? writer : reader).call('GET', path)
      if (task.status === 'succeeded') return
      if (task.status !== 'enqueued' && task.status !== 'processing') throw new Error(JSON.stringify(task))
    }
  }

  #oneOf<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)]!
  }
}
