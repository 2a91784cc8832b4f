/**
 * Three servers share a bucket and replace a lost leader by themselves, while clients write and read through all of
 * them. Each round has one fault. Rules tested here, in addition to those of `history.ts`:
 * 1. With `--bucket-ack bucket` every server has each acknowledged document after each round. With `local` at most as
 *    many are missing as the servers have set aside transactions.
 * 2. No server has a document whose write was refused with "nothing was written".
 * 3. Servers without a fault answer searches all the time.
 * 4. Writes are accepted again within five minutes, also on a busy machine.
 */
import { mkdir } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { numbers } from '../../__test__/support/numbers.js'
import { Records, startClients, write } from './clients.js'
import { fallenPositions, formerEpochs, incompleteReads } from './history.js'
import { Node } from './node.js'

export interface FailoverSetup {
  readonly engine: string
  readonly ack: 'bucket' | 'local'
  readonly seed: number
  readonly rounds: number
  /** Faults to choose from. Default: all. */
  readonly kinds?: readonly Kind[]
  /** True: the logs of all servers are reported after each round. */
  readonly showsLogs?: boolean
  /** Origin of an object store that does not check signatures. */
  readonly store: string
  /** An empty directory. */
  readonly directory: string
  /** Called before each round. False ends the trial early. Default: always true. */
  readonly shouldContinue?: () => boolean
  report(line: string): void
}

export interface FailoverResult {
  /** A line for each. */
  readonly problems: readonly string[]
  readonly rounds: number
  readonly acknowledged: number
  readonly missing: number
  /** Milliseconds from each fault to the first acknowledgement by another leader, or after it, by kind of fault. */
  readonly recoveries: ReadonlyMap<Kind, readonly number[]>
}

/** Faults of the leader. */
export const kinds = [
  /** Killed, started again once another server leads, or at once. */
  'killed',
  /** Suspended until another server leads. */
  'suspended',
  /** Suspended for a time after which no other server leads yet, or just leads. */
  'paused',
  /** Neither the bucket nor other servers reach it, clients do. */
  'isolated',
  /** It does not reach the bucket for some time. */
  'bucket cut',
  /** It does not reach the bucket until another server leads. Only with `bucket`: else it takes writes meanwhile. */
  'bucket lost',
  /** Other servers do not reach it for some time. */
  'peers cut',
  /** No server reaches the bucket for some time. */
  'outage',
  /** Stopped, which hands over. */
  'handover',
  /** Another server is started to take over, while the leader is busy. */
  'taken over',
] as const
export type Kind = (typeof kinds)[number]

/** A wait that takes longer is a problem. */
const PATIENCE_MS = 300_000
/** Each so many rounds all documents are read, otherwise those of the round. */
const FULL_EVERY = 20
const FETCHED = 1_000
const NAMES = ['one', 'two', 'three']

class StuckError extends Error {}

/** @throws StuckError if it takes longer than `PATIENCE_MS` */
async function until(what: string, isDone: () => boolean | Promise<boolean>): Promise<void> {
  for (const limit = patience(what); !(await isDone()); await pause(50)) limit()
}

/** Returns a function that throws once `PATIENCE_MS` have passed. */
function patience(what: string): () => void {
  const end = performance.now() + PATIENCE_MS
  return () => {
    if (performance.now() > end) throw new StuckError(`not within ${PATIENCE_MS / 1000} s: ${what}`)
  }
}

class Cluster {
  readonly #setup: FailoverSetup
  readonly #nodes: readonly Node[]
  readonly #random: () => number
  readonly #records = new Records()
  readonly #missing = new Set<number>()
  readonly recoveries = new Map<Kind, number[]>()
  readonly problems: string[] = []
  /** Acknowledged documents that were checked in an earlier round. */
  #checked = 0
  rounds = 0

  constructor(setup: FailoverSetup, nodes: readonly Node[]) {
    this.#setup = setup
    this.#nodes = nodes
    this.#random = numbers(setup.seed)
  }

  get acknowledged(): number {
    return this.#records.acknowledged.length
  }

  get missing(): number {
    return this.#missing.size
  }

  async begin(): Promise<void> {
    const [first, ...others] = this.#nodes
    first!.start('first')
    // The first acknowledged document implies a first checkpoint, from which others can copy.
    await until('a first document', async () => {
      await write(first!, this.#records)
      return this.#records.acknowledged.length > 0
    })
    for (const node of others) node.start('follower')
    await this.#atRest()
  }

  /** Causes a fault under load, then compares the servers when no write is pending. */
  async round(kind: Kind): Promise<void> {
    const records = this.#records
    const before = this.problems.length
    const leader = await this.#leader()
    const end = startClients(this.#nodes, records, this.#random)
    let recovery: number | null = null
    try {
      await this.#sleep(300, 1_500)
      const answered = records.acknowledged.length
      await until('a write before the fault', () => records.acknowledged.length > answered)
      recovery = await this.#fault(kind, leader)
      this.recoveries.set(kind, [...(this.recoveries.get(kind) ?? []), recovery])
      await this.#sleep(300, 1_500)
    } catch (error) {
      if (!(error instanceof StuckError)) throw error
      this.problems.push(error.message)
    } finally {
      for (const node of this.#nodes) node.heal()
      await end()
    }
    await this.#atRest()
    this.#judge()
    this.rounds++
    const shown = recovery === null ? 'not recovered' : `recovered after ${Math.round(recovery)} ms`
    this.#setup.report(
      `${this.rounds}: ${kind} ${leader.name}, ${shown}, ${this.acknowledged} acknowledged, ${records.refused} refused, ${records.unknown} without an answer, ${this.missing} missing`,
    )
    for (let index = before; index < this.problems.length; index++)
      this.problems[index] = `round ${this.rounds} (${kind} ${leader.name}): ${this.problems[index]}`
    for (const problem of this.problems.slice(before)) this.#setup.report(`PROBLEM ${problem}`)
  }

  /** @returns milliseconds from the fault, or from its end if the leader stays, to the next acknowledgement */
  async #fault(kind: Kind, leader: Node): Promise<number> {
    const others = this.#nodes.filter((node) => node !== leader)
    const how = this.#random() < 0.5 ? 'refused' : 'silent'
    const epoch = this.#epoch
    const beganAt = performance.now()
    leader.isWell = false
    switch (kind) {
      case 'killed':
        await leader.end('SIGKILL')
        if (this.#random() >= 0.3) return await this.#acknowledged(beganAt, epoch + 1)
        leader.start('follower')
        return await this.#acknowledged(beganAt, epoch)
      case 'suspended':
        leader.signal('SIGSTOP')
        return await this.#acknowledged(beganAt, epoch + 1)
      case 'paused':
        leader.signal('SIGSTOP')
        await this.#sleep(1_000, 22_000)
        leader.signal('SIGCONT')
        return await this.#acknowledged(performance.now(), epoch)
      case 'isolated':
        leader.cutFromBucket(how)
        leader.cutFromPeers()
        return await this.#acknowledged(beganAt, epoch + 1)
      case 'bucket cut':
        leader.cutFromBucket(how)
        await this.#sleep(1_000, 15_000)
        leader.heal()
        return await this.#acknowledged(performance.now(), epoch)
      case 'bucket lost':
        leader.cutFromBucket(how)
        return await this.#acknowledged(beganAt, epoch + 1)
      case 'peers cut':
        leader.cutFromPeers()
        await this.#sleep(1_000, 20_000)
        leader.heal()
        return await this.#acknowledged(performance.now(), epoch)
      case 'outage':
        for (const node of this.#nodes) node.cutFromBucket(how)
        await this.#sleep(1_000, 15_000)
        for (const node of this.#nodes) node.heal()
        return await this.#acknowledged(performance.now(), epoch)
      case 'handover':
        await Promise.all([leader.end('SIGTERM'), this.#acknowledged(beganAt, epoch + 1)])
        return this.#firstAfter(beganAt, epoch + 1)! - beganAt
      case 'taken over': {
        const other = others[Math.floor(this.#random() * others.length)]!
        other.isWell = false
        await other.end('SIGTERM')
        const startedAt = performance.now()
        other.start('successor')
        return await this.#acknowledged(startedAt, epoch + 1)
      }
    }
  }

  get #epoch(): number {
    return Math.max(...this.#records.acknowledged.map((write) => write.epoch ?? 0))
  }

  /** Waits for the acknowledgement of a write sent after `from`. @returns milliseconds until then */
  async #acknowledged(from: number, epochMin: number): Promise<number> {
    await until('a write is acknowledged after the fault', () => this.#firstAfter(from, epochMin) !== null)
    return this.#firstAfter(from, epochMin)! - from
  }

  #firstAfter(from: number, epochMin: number): number | null {
    const all = this.#records.acknowledged.filter(
      ({ sentAt, epoch }) => sentAt > from && epoch !== null && epoch >= epochMin,
    )
    return all.length === 0 ? null : Math.min(...all.map(({ answeredAt }) => answeredAt))
  }

  async #leader(): Promise<Node> {
    let found: Node | null = null
    await until('one server leads', async () => {
      const healths = await Promise.all(this.#nodes.map((node) => node.health()))
      const leading = this.#nodes.filter((_, at) => healths[at]?.role === 'writer')
      found = leading.length === 1 && healths.every((health) => health !== null) ? leading[0]! : null
      return found !== null && healths[this.#nodes.indexOf(found)]?.leadConfirmed === true
    })
    return found!
  }

  /** Waits until all tasks have ended everywhere, and compares the documents. */
  async #atRest(): Promise<void> {
    await this.#leader()
    for (const node of this.#nodes) node.isWell = true
    const { acknowledged, unwritten } = this.#records
    const isFull = this.rounds % FULL_EVERY === 0
    const ids = acknowledged.slice(isFull ? 0 : this.#checked).map(({ id }) => id)
    const lost = new Set<number>()
    for (const node of this.#nodes) {
      const limit = patience(`all tasks of ${node.name} have ended`)
      const waiting = '/tasks?statuses=enqueued,processing&limit=1'
      while ((await node.read('GET', waiting, undefined, limit)).total !== 0) {
        limit()
        await pause(50)
      }
      const found = await idsIn(node, [...ids, ...unwritten])
      const missing = ids.filter((id) => !found.has(id) && !this.#missing.has(id))
      for (const id of missing) lost.add(id)
      if (missing.length > 0 && this.#setup.ack === 'bucket')
        this.problems.push(
          `${missing.length} acknowledged documents are missing on ${node.name}: ${missing.slice(0, 5)}`,
        )
      const written = unwritten.filter((id) => found.has(id))
      if (written.length > 0)
        this.problems.push(`${node.name} has documents of refused writes: ${written.slice(0, 5)}`)
      await node.noteDiverged()
    }
    for (const id of lost) this.#missing.add(id)
    const aside = this.#nodes.flatMap(({ diverged }) => [...diverged.values()])
    const asideCount = aside.reduce((sum, count) => sum + count, 0)
    if (this.#setup.ack === 'local' && this.missing > asideCount)
      this.problems.push(
        `${this.missing} documents are missing, but ${asideCount} transactions were set aside`,
      )
    this.#checked = acknowledged.length
    unwritten.length = 0
  }

  #judge(): void {
    const { acknowledged, seen, strong, unanswered } = this.#records
    const isDurable = this.#setup.ack === 'bucket'
    this.problems.push(
      ...(isDurable ? formerEpochs(acknowledged) : []),
      ...fallenPositions(seen),
      // Numbers of lost tasks are used again, so a task does not tell which document was added.
      ...(isDurable ? incompleteReads(strong) : []),
      ...unanswered.slice(0, 3),
    )
    for (const checked of [seen, strong, unanswered, this.#records.shown]) checked.length = 0
  }

  async #sleep(msMin: number, msMax: number): Promise<void> {
    await pause(msMin + this.#random() * (msMax - msMin))
  }

  /** Returns the next fault. */
  next(): Kind {
    const { ack, kinds: given = kinds } = this.#setup
    const chosen = given.filter((kind) => ack === 'bucket' || kind !== 'bucket lost')
    return chosen[Math.floor(this.#random() * chosen.length)]!
  }
}

/** Returns which of these documents a server has. */
async function idsIn(node: Node, ids: readonly number[]): Promise<ReadonlySet<number>> {
  const found = new Set<number>()
  const limit = patience(`the documents of ${node.name}`)
  for (let from = 0; from < ids.length; from += FETCHED) {
    const body = { ids: ids.slice(from, from + FETCHED), fields: ['id'], limit: FETCHED }
    const page = await node.read('POST', '/indexes/things/documents/fetch', body, limit)
    for (const { id } of page.results as readonly { id: number }[]) found.add(id)
  }
  return found
}

export async function failovers(setup: FailoverSetup): Promise<FailoverResult> {
  const { engine, ack, seed, rounds, store, directory, report, shouldContinue = () => true } = setup
  await mkdir(directory, { recursive: true })
  const nodes: Node[] = []
  for (const [at, name] of NAMES.entries())
    nodes.push(await Node.create({ name, engine, ack, store, directory, seed: seed + at, failing: 0.02 }))
  const cluster = new Cluster(setup, nodes)
  try {
    await cluster.begin()
    while (cluster.rounds < rounds && shouldContinue()) {
      const before = cluster.problems.length
      await cluster.round(cluster.next())
      if (cluster.problems.length > before || setup.showsLogs === true)
        for (const { name, log } of nodes) report(`log of ${name}:\n${log.slice(-20_000)}`)
    }
  } catch (error) {
    cluster.problems.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
    for (const { name, log } of nodes) report(`log of ${name}:\n${log.slice(-20_000)}`)
  } finally {
    for (const node of nodes) await node.close()
  }
  const { problems, acknowledged, missing, recoveries } = cluster
  return { problems, rounds: cluster.rounds, acknowledged, missing, recoveries }
}
