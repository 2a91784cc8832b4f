import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { KeyBook } from '../../auth/index.js'
import type { IndexId } from '../../engine/index.js'
import type { FeatureFlags } from '../../instance/index.js'
import type { IndexEntry } from '../../tasks/index.js'
import type { LogOutlets } from '../../telemetry/index.js'
import type { IndexFacts, StateChange } from './messages.js'

/** What a mirror writes changes to. */
interface Mirrored {
  readonly keys: KeyBook
  readonly outlets: LogOutlets
}

/** The state of the main thread as a thread for searches sees it. Every read is as new as the version. */
export class StateMirror {
  readonly #port: MessagePort
  readonly #version: Int32Array
  readonly #mirrored: Mirrored
  readonly #indexes = new Map<string, IndexEntry>()
  readonly #facts = new Map<IndexId, IndexFacts>()
  #flags: FeatureFlags | null = null
  #outdated = 0
  /** The version up to which changes were applied. */
  #applied: number

  constructor(port: MessagePort, version: Int32Array, mirrored: Mirrored) {
    this.#port = port
    this.#version = version
    this.#mirrored = mirrored
    this.#applied = Atomics.load(version, 0)
    this.#drain()
    // Reads the port also while there are no requests, so that changes do not pile up.
    port.on('message', (change: StateChange) => this.#apply(change))
    port.unref()
  }

  /** Applies every change that a client may have learnt of. */
  refresh(): void {
    const version = Atomics.load(this.#version, 0)
    if (version === this.#applied) return
    this.#applied = version
    this.#drain()
  }

  get flags(): FeatureFlags {
    this.refresh()
    return this.#flags!
  }

  /** Number of outdated indexes. */
  get outdated(): number {
    this.refresh()
    return this.#outdated
  }

  index(uid: string): IndexEntry | null {
    this.refresh()
    return this.#indexes.get(uid) ?? null
  }

  facts(id: IndexId): IndexFacts | null {
    this.refresh()
    return this.#facts.get(id) ?? null
  }

  #drain(): void {
    for (let next = receiveMessageOnPort(this.#port); next; next = receiveMessageOnPort(this.#port))
      this.#apply(next.message as StateChange)
  }

  #apply(change: StateChange): void {
    switch (change.kind) {
      case 'indexes': {
        const { isAll, removed, written } = change.change
        for (const uid of isAll ? [...this.#indexes.keys()] : removed) this.#remove(uid)
        for (const entry of written) this.#indexes.set(entry.uid, entry)
        for (const facts of change.facts) this.#facts.set(facts.id, facts)
        break
      }
      case 'facts':
        // An index that is not in the catalogue cannot be read. Its facts come with its entry.
        if (this.#facts.has(change.facts.id)) this.#facts.set(change.facts.id, change.facts)
        break
      case 'keys':
        this.#mirrored.keys.apply(change.change)
        break
      case 'flags':
        this.#flags = change.flags
        break
      case 'outdated':
        this.#outdated = change.count
        break
      case 'log':
        this.#mirrored.outlets.setConsoleTarget(change.target)
        break
    }
  }

  #remove(uid: string): void {
    const entry = this.#indexes.get(uid)
    if (entry === undefined) return
    this.#indexes.delete(uid)
    this.#facts.delete(entry.id)
  }
}
