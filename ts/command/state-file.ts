/** How far a long command has come, for the next run of it. */
import { createHash } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What is known of each part of the work by its name, in a file that is there only until all has succeeded. */
export class StateFile<S> {
  readonly path: string
  readonly #states: Record<string, S>
  /** Writes happen one after the other. */
  #last: Promise<void> = Promise.resolve()

  private constructor(path: string, states: Record<string, S>) {
    this.path = path
    this.#states = states
  }

  /**
   * @param given its path; null: a name in the current directory that only this work has
   * @param work what the work is about, such as URLs
   * @typeParam S what the file holds of a part; it is not checked
   */
  static async open<S>(
    given: string | null,
    command: string,
    work: readonly string[],
  ): Promise<StateFile<S>> {
    // The hash keeps names and passwords of URLs out of the name.
    const hash = createHash('sha256').update(work.join('\n')).digest('hex').slice(0, 12)
    const path = given ?? join(process.cwd(), `siftd-${command}-${hash}.json`)
    return new StateFile<S>(path, await readStates<S>(path))
  }

  of(part: string): S | null {
    return Object.hasOwn(this.#states, part) ? (this.#states[part] ?? null) : null
  }

  /** Resolves once the file has it. The file is replaced whole, so that a kill leaves it as it was or as it is now. */
  set(part: string, state: S): Promise<void> {
    this.#states[part] = state
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

async function readStates<S>(path: string): Promise<Record<string, S>> {
  try {
    const found: unknown = JSON.parse(await readFile(path, 'utf8'))
    return typeof found === 'object' && found !== null ? (found as Record<string, S>) : {}
  } catch (error) {
    // Without a readable file the work begins anew, which does no harm.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}
