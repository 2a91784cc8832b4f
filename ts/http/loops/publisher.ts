import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { IndexEntry } from '../../tasks/index.js'
import type { Services } from '../services.js'
import type { IndexFacts, StateChange } from './messages.js'

type Sources = Pick<Services, 'engine' | 'tasks' | 'auth' | 'features' | 'outlets' | 'analysis'>

/**
 * Sends everything that searches depend on to other threads: indexes, keys, features, log levels.
 *
 * Each change is posted, then `version` is raised. Both happen in the same turn of the event loop in which the main
 * thread sees the change, so no client can learn of it earlier. A thread that finds a higher version than its own reads
 * its port before it answers.
 */
export class StatePublisher {
  readonly version = new Int32Array(new SharedArrayBuffer(4))
  readonly #sources: Sources
  readonly #ports = new Set<MessagePort>()

  constructor(sources: Sources) {
    this.#sources = sources
    const { engine, tasks, auth, features, outlets, analysis } = sources
    tasks.onIndexes((change) =>
      this.#publish({ kind: 'indexes', change, facts: change.written.map((entry) => this.#factsOf(entry)) }),
    )
    engine.onChange((id) => this.#publish({ kind: 'facts', facts: this.#factsOf({ id }) }))
    auth.keys.onChange((change) => this.#publish({ kind: 'keys', change }))
    features.onChange((flags) => this.#publish({ kind: 'flags', flags }))
    analysis?.onCount((count) => this.#publish({ kind: 'outdated', count }))
    outlets.onTarget((target) => this.#publish({ kind: 'log', target }))
  }

  /** Returns a port that first receives the complete state. */
  subscribe(): MessagePort {
    const { port1, port2 } = new MessageChannel()
    const { tasks, auth, features, outlets, analysis } = this.#sources
    const written = tasks.indexes()
    const state: readonly StateChange[] = [
      {
        kind: 'indexes',
        change: { isAll: true, removed: [], written },
        facts: written.map((entry) => this.#factsOf(entry)),
      },
      { kind: 'keys', change: { all: auth.keys.list() } },
      { kind: 'flags', flags: features.flags },
      { kind: 'log', target: outlets.target },
      { kind: 'outdated', count: analysis?.lastCount ?? 0 },
    ]
    for (const change of state) port1.postMessage(change)
    this.#ports.add(port1)
    port1.unref()
    port1.once('close', () => this.#ports.delete(port1))
    return port2
  }

  close(): void {
    for (const port of this.#ports) port.close()
  }

  #factsOf({ id }: Pick<IndexEntry, 'id'>): IndexFacts {
    const { engine } = this.#sources
    return { id, revision: engine.revision(id), isTrusted: engine.isTrusted(id) }
  }

  #publish(change: StateChange): void {
    if (this.#ports.size === 0) return
    for (const port of this.#ports) port.postMessage(change)
    Atomics.add(this.version, 0, 1)
  }
}
