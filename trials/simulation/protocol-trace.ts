import { AsyncLocalStorage } from 'node:async_hooks'
import { Log, type LogRecord, type Position } from '../../ts/replication/index.js'
import { decodeBody } from '../../ts/replication/log/body.js'
import { decodeCheckpoint } from '../../ts/replication/log/checkpoint.js'
import type { Candidate, Claim, LogSetup, LogWriter } from '../../ts/replication/log/log.js'
import { decodeRecord } from '../../ts/replication/log/log-record.js'

/** An event of a run, as `trials/protocol/LogTrace.tla` reads it. */
export type TraceEvent = { readonly a: string } & Readonly<Record<string, string | number | boolean>>

/** Observes a call to the store. */
export interface CallObserver {
  readonly sent?: () => void
  /** The store has carried out the call. */
  readonly applied?: (result: unknown) => void
  readonly answered?: () => void
  /** No answer arrives. */
  readonly lost?: () => void
}

/** The record that a server tries to create. */
interface Creating {
  readonly slot: number
  readonly writeId: string
}

/** A position of a client, and the server that issued it. */
interface Issued extends Position {
  readonly server: number
}

/** Followers are asked for so many of the newest positions. */
const POSITIONS = 4

/** Records the events of the log during a run, by server. A server is a data directory. */
export class ProtocolTrace {
  /** Events in order; null: a reserved place. */
  readonly #events: (TraceEvent | null)[] = []
  #servers = 0
  #requests = 0
  readonly #machines = new WeakMap<object, number>()
  /** Server → identity of its directory. */
  readonly #identities = new Map<number, string>()
  readonly #epochs = new Map<number, number>()
  #positions: Issued[] = []

  get events(): readonly TraceEvent[] {
    return this.#events.filter((event) => event !== null)
  }

  add(event: TraceEvent): void {
    this.#events.push(event)
  }

  /** Reserves a place for an event at this moment. @returns a function that adds the event there */
  reserve(event: TraceEvent): () => void {
    const at = this.#events.push(null) - 1
    return () => {
      this.#events[at] = event
    }
  }

  newServer(): number {
    return ++this.#servers
  }

  newRequest(): number {
    return ++this.#requests
  }

  /** Server of a machine. A machine without one gets `server`, or a new one. */
  serverOf(machine: object, server?: number): number {
    const found = this.#machines.get(machine) ?? server ?? this.newServer()
    this.#machines.set(machine, found)
    return found
  }

  names(server: number, identity: string): void {
    this.#identities.set(server, identity)
  }

  leads(server: number, epoch: number): void {
    this.#epochs.set(server, epoch)
  }

  /** Issues the position of the last write of a leader. */
  issue(server: number, last: number): void {
    const [outbox, epoch] = [this.#identities.get(server), this.#epochs.get(server)]
    if (outbox === undefined || epoch === undefined) return
    this.#positions = [...this.#positions, { server, outbox, last, epoch }].slice(-POSITIONS)
  }

  /** Asks a follower for the newest positions. */
  ask(server: number, hasReached: (position: Position) => boolean): void {
    for (const position of this.#positions)
      if (hasReached(position))
        this.add({
          a: 'reached',
          s: server,
          of: position.server,
          last: position.last,
          epoch: position.epoch ?? 0,
        })
  }
}

/** The view of a server on the bucket. */
export class ServerTrace {
  /** null: it has no directory yet. */
  server: number | null = null
  readonly #trace: ProtocolTrace
  readonly #creating = new AsyncLocalStorage<Creating>()
  #last: Creating | null = null

  constructor(trace: ProtocolTrace) {
    this.#trace = trace
  }

  /** Observes the creation of an object. */
  create(key: string, body: Uint8Array): CallObserver {
    const [prefix, number] = key.split('/')
    const slot = Number(number)
    if (prefix === 'base') return this.#publish(slot, body)
    if (prefix !== 'log') return {}
    const trace = this.#trace
    const s = this.#known
    const id = trace.newRequest()
    const record = decodeRecord(Buffer.from(body))
    return {
      sent: () => {
        if (this.#last?.slot === slot && this.#last.writeId === record.writeId)
          trace.add({ a: 'resend', s, id })
        else trace.add({ a: 'send', s, id, slot, ...sentIn(slot, record) })
        this.#last = { slot, writeId: record.writeId }
        trace.names(s, record.writer)
      },
      applied: (result) => trace.add({ a: 'apply', id, created: result === 'created' }),
      answered: () => trace.add({ a: 'answer', s }),
      lost: () => trace.add({ a: 'lose', s }),
    }
  }

  /** Observes a read. Only a read that looks for the outcome of a create matters. */
  get(): CallObserver {
    const creating = this.#creating.getStore()
    if (creating === undefined) return {}
    let add: () => void = () => undefined
    return {
      applied: (bytes) => {
        const writeId = bytes === null ? null : decodeRecord(bytes as Buffer).writeId
        const found = writeId === null ? 'none' : writeId === creating.writeId ? 'own' : 'other'
        add = this.#trace.reserve({ a: 'look', s: this.#known, found })
      },
      answered: () => add(),
    }
  }

  /** Runs the creation of a record. */
  creating<T>(creating: Creating, run: () => Promise<T>): Promise<T> {
    return this.#creating.run(creating, run)
  }

  add(event: TraceEvent): void {
    this.#trace.add({ ...event, s: this.#known })
  }

  /** @param machine whose directory was copied from checkpoint `seq` */
  copied(machine: object, seq: number): void {
    this.server = this.#trace.serverOf(machine)
    this.add({ a: 'copy', seq })
  }

  /** Gives a client the position of a transaction. */
  issues(last: number): void {
    if (this.server !== null) this.#trace.issue(this.server, last)
  }

  leads(writer: LogWriter): void {
    this.#trace.leads(this.#known, writer.epoch)
    this.add({ a: 'leads', slot: writer.epoch })
  }

  get #known(): number {
    if (this.server === null) throw new Error('a server without a directory writes to the log')
    return this.server
  }

  #publish(seq: number, body: Uint8Array): CallObserver {
    const { image } = decodeCheckpoint(seq, Buffer.from(body))
    const trace = this.#trace
    return {
      sent: () => this.add({ a: 'publish', seq, last: image.reached.last }),
      applied: (result) => {
        if (result === 'created') trace.add({ a: 'published', seq })
      },
    }
  }
}

function sentIn(slot: number, { kind, body }: LogRecord): { readonly kind: string; readonly last: number } {
  if (kind === 'fence') return { kind, last: 0 }
  const { handover, isOpen, last } = decodeBody(slot, body)
  // Rows of an open record count once a later record completes them.
  return { kind: handover === undefined ? 'data' : 'handover', last: isOpen ? 0 : last }
}

/** A log whose takeovers are traced. */
export class TracedLog extends Log {
  readonly #trace: ServerTrace
  /** Number of the fence that it has created in the takeover in progress. */
  #fence: number | null = null

  constructor(setup: LogSetup, trace: ServerTrace) {
    super(setup)
    this.#trace = trace
  }

  override async takeOver(candidate: Candidate, signal: AbortSignal): Promise<LogWriter> {
    return this.#leading(candidate, () => super.takeOver(candidate, signal))
  }

  override async stand(claim: Claim, signal: AbortSignal): Promise<LogWriter | null> {
    return this.#leading(claim, () => super.stand(claim, signal))
  }

  async #leading<T extends LogWriter | null>({ next }: Claim, run: () => Promise<T>): Promise<T> {
    this.#trace.add({ a: 'begin', next })
    try {
      const writer = await run()
      if (writer !== null) this.#trace.leads(writer)
      return writer
    } finally {
      this.#fence = null
    }
  }

  override async covers(seq: number, signal: AbortSignal): Promise<boolean> {
    const isCovered = await super.covers(seq, signal)
    if (isCovered && this.#fence === seq) this.#trace.add({ a: 'covered', slot: seq })
    return isCovered
  }

  override async write(
    seq: number,
    bytes: Uint8Array,
    writeId: string,
    signal: AbortSignal,
  ): Promise<LogRecord | null> {
    this.#fence = null
    const other = await this.#trace.creating({ slot: seq, writeId }, () =>
      super.write(seq, bytes, writeId, signal),
    )
    if (other === null) this.#fence = seq
    return other
  }
}
