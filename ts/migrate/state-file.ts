import { createHash } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** How far the documents of an index have been copied. */
export interface IndexState {
  /** When the index was made on either side. An index that was made again begins anew. */
  readonly sourceCreatedAt: string
  readonly targetCreatedAt: string
  /** Documents of the source, in its order, that the target has indexed. */
  readonly documents: number
}

type States = Record<string, IndexState>

/** How far a migration between two instances has come, in a file that is there only until it has succeeded. */
export class StateFile {
  readonly path: string
  readonly #states: States
  /** Writes happen one after the other. */
  #last: Promise<void> = Promise.resolve()

  private constructor(path: string, states: States) {
    this.path = path
    this.#states = states
  }

  /** @param given its path; null: a name in the current directory that only these two URLs have */
  static async open(given: string | null, from: string, to: string): Promise<StateFile> {
    // The hash keeps names and passwords of URLs out of the name.
    const pair = createHash('sha256').update(`${from}\n${to}`).digest('hex').slice(0, 12)
    const path = given ?? join(process.cwd(), `siftd-migrate-${pair}.json`)
    return new StateFile(path, await readStates(path))
  }

  of(uid: string): IndexState | null {
    return Object.hasOwn(this.#states, uid) ? (this.#states[uid] ?? null) : null
  }

  /** Resolves once the file has it. The file is replaced whole, so that a kill leaves it as it was or as it is now. */
  set(uid: string, state: IndexState): Promise<void> {
    this.#states[uid] = state
    this.#last = this.#last.then(async () => {
      await writeFile(`${this.path}.new`, JSON.stringify(this.#states), { mode: 0o600 })
      await rename(`${this.path}.new`, this.path)
    })
    return this.#last
  }

  async remove(): Promise<void> {
    await this.#last
    await rm(this.path, { force: true })
  }
}

async function readStates(path: string): Promise<States> {
  try {
    const found: unknown = JSON.parse(await readFile(path, 'utf8'))
    return typeof found === 'object' && found !== null ? (found as States) : {}
  } catch (error) {
    // Without a readable file the migration begins anew, which does no harm.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}
