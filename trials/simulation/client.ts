import {
  cancel,
  clear,
  create,
  deleteBy,
  deleteIds,
  drop,
  forget,
  settings,
  swap,
  update,
} from '../../__test__/tasks/test-queue.js'
import type { NewTask, OpenedTasks, TaskContent } from '../../ts/tasks/index.js'
import type { Files } from './files.js'
import type { Oracle } from './oracle.js'
import type { Sending } from './sending.js'
import type { World } from './world.js'

const names = ['boats', 'ferries', 'lakes']

/** The requests of the clients of all servers. */
export interface Requests {
  /** Name given by the client → content of the task. */
  readonly contents: Map<string, TaskContent>
  /** Names of tasks that are in the bucket, by acknowledgements to clients. */
  readonly inBucket: Set<string>
  count: number
}

/** A client that sends random requests at random times. */
export class Client {
  readonly #world: World
  readonly #files: Files
  readonly #oracle: Oracle
  readonly #requests: Requests

  constructor(world: World, files: Files, requests: Requests, oracle: Oracle) {
    this.#world = world
    this.#files = files
    this.#oracle = oracle
    this.#requests = requests
  }

  /** Sends a request. If the process ends first, no answer arrives. */
  ask(opened: OpenedTasks, sending: Sending | null): void {
    const { tasks } = sending?.writes ?? opened
    void this.#send(tasks, sending).catch(() => this.#world.note('a request is refused'))
  }

  async #send(tasks: OpenedTasks['tasks'], sending: Sending | null): Promise<void> {
    const world = this.#world
    const name = `request-${this.#requests.count++}`
    const task = await this.#randomTask(tasks, name)
    this.#requests.contents.set(name, task.content)
    world.note(`asks for ${task.content.kind} of ${task.indexUid} as ${name}`)
    const { taskUid } = await tasks.enqueue({ ...task, customMetadata: name })
    world.note(`${name} is task ${taskUid}`)
    if (sending?.mayWrite === false) world.problem('a write was taken before the log was read to its end')
    this.#oracle.acknowledge(taskUid, name)
    if (sending === null) return
    await sending.acknowledged()
    world.note(`the bucket has ${name}`)
    this.#requests.inBucket.add(name)
  }

  async #randomTask(tasks: OpenedTasks['tasks'], name: string): Promise<NewTask> {
    const world = this.#world
    const index = world.pick(names)
    const other = world.pick(names.filter((uid) => uid !== index))
    const choice = world.below(20)
    if (choice < 8) return this.#documents(tasks, index, name)
    switch (choice) {
      case 8:
        return deleteIds(index, `${world.below(20)}`)
      case 9:
        return deleteBy(index, `id = ${world.below(20)}`)
      case 10:
        return clear(index)
      case 11:
        return settings(index, { filterableAttributes: world.chance(0.5) ? ['id'] : ['id', '_geo'] })
      case 12:
        return settings(index, { typoTolerance: { minWordSizeForTypos: { oneTypo: 3 + world.below(9) } } })
      case 13:
        return create(index, world.chance(0.5) ? 'id' : null)
      case 14:
        return drop(index)
      case 15:
        return update(index, world.chance(0.5) ? { newUid: other } : { primaryKey: 'id' })
      case 16:
        return world.chance(0.8) ? swap([index, other]) : swap([index, other, 'rename'])
      case 17: {
        const uids = await tasks.match({ statuses: ['succeeded', 'failed', 'canceled'] })
        return forget('?statuses=succeeded', ...uids.filter(() => world.chance(0.5)))
      }
      default: {
        const uids = await tasks.match({ statuses: ['enqueued', 'processing'] })
        return cancel('?statuses=enqueued', ...uids.filter(() => world.chance(0.7)))
      }
    }
  }

  async #documents(tasks: OpenedTasks['tasks'], indexUid: string, name: string): Promise<NewTask> {
    const world = this.#world
    const count = 1 + world.below(3)
    const ids = Array.from({ length: count }, () => world.below(20))
    const text = JSON.stringify(
      ids.map((id) =>
        world.chance(0.05) ? { name } : world.chance(0.2) ? { id, name, _geo: 'nowhere' } : { id, name },
      ),
    )
    let payload: { format: 'json' } & ({ text: string } | { path: string }) = { text, format: 'json' }
    if (world.chance(0.5)) {
      const slot = await tasks.spool('json')
      this.#files.set(slot.path, text)
      await slot.sync()
      payload = { path: slot.path, format: 'json' }
    }
    const content = {
      kind: 'documents' as const,
      method: 'replace' as const,
      payload,
      payloadBytes: text.length,
      receivedDocuments: count,
      primaryKey: world.chance(0.3) ? 'id' : null,
      skipCreation: false,
      mayCreateIndex: world.chance(0.8),
    }
    return { indexUid, type: 'documentAdditionOrUpdate', content }
  }
}
