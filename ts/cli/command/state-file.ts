/** Progress of a long command, so that its next run can continue. */
import { createHash } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LaunchError } from '../../launch/index.js'

/** A file with the state of each part of the work, by name. It is deleted when everything has succeeded. */
export class StateFile<S> {
  readonly path: string
  readonly #states: Record<string, S>
  /** The last write. Writes run one after the other. */
  #last: Promise<void> = Promise.resolve()

  private constructor(path: string, states: Record<string, S>) {
    this.path = path
    this.#states = states
  }

  /**
   * @param given path of the file; null: a file in the current directory with a name that is unique for this work
   * @param work texts that identify the work, such as URLs
   * @typeParam S state of a part; it is not checked
   */
  static async open<S>(
    given: string | null,
    command: string,
    work: readonly string[],
  ): Promise<StateFile<S>> {
    // Hashed, so that user names and passwords in URLs do not appear in the file name.
    const hash = createHash('sha256').update(work.join('\n')).digest('hex').slice(0, 12)
    const path = given ?? join(process.cwd(), `siftd-${command}-${hash}.json`)
    return new StateFile<S>(path, await readStates<S>(path))
  }

  of(part: string): S | null {
    return Object.hasOwn(this.#states, part) ? (this.#states[part] ?? null) : null
  }

  /**
   * Resolves once the state is in the file. The file is replaced atomically, so a kill leaves the old or the new file.
   * @throws LaunchError if the file cannot be written
   */
  set(part: string, state: S): Promise<void> {
    this.#states[part] = state
    this.#last = this.#last.then(async () => {
      try {
        await writeFile(`${this.path}.new`, JSON.stringify(this.#states), { mode: 0o600 })
        await rename(`${this.path}.new`, this.path)
      } catch (error) {
        throw unusable(this.path, 'written', error)
      }
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
    // Without a readable file the work starts over, which is harmless.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw unusable(path, 'read', error)
  }
}

function unusable(path: string, done: 'read' | 'written', error: unknown): LaunchError {
  const { code } = error as NodeJS.ErrnoException
  return new LaunchError(`the progress in ${path} cannot be ${done}: ${code}; --state names another file`, 1)
}
