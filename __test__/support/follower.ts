/** An engine over the files of another one's index, brought there as a process that follows a bucket brings them. */
import { appendFile, cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { ExecutionContext } from 'ava'
import type { Engine } from '../../ts/engine/index.js'
import { TestEngine } from './engine.js'
import type { TestedEngine } from './engines.js'

export const INDEX = 'things'

/** Names of all files below a directory, with slashes. */
export async function namesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return files.map((entry) => relative(directory, join(entry.parentPath, entry.name))).sort()
}

/** Whether a file makes others count: it is written after them. */
export const isCommit = (name: string): boolean => /^(commit-\d{20}|commits\.log)$/.test(name)

export class Follower {
  readonly writer: TestEngine
  /** Of the engine that follows. */
  readonly test: TestEngine
  readonly #scratch: string
  #copies = 0

  private constructor(writer: TestEngine, test: TestEngine) {
    this.writer = writer
    this.test = test
    this.#scratch = join(test.directory, 'scratch')
  }

  static async start(t: ExecutionContext, { open, follow }: TestedEngine): Promise<Follower> {
    return new Follower(await TestEngine.start(t, open), await TestEngine.start(t, follow))
  }

  get engine(): Engine {
    return this.test.engine as Engine
  }

  /** Where the files of the index lie. */
  get directory(): string {
    return join(this.test.directory, 'indexes', INDEX)
  }

  /** A copy of the newest commit of the writer. */
  async copy(): Promise<string> {
    const directory = join(this.#scratch, `copy-${++this.#copies}`)
    await mkdir(this.#scratch, { recursive: true })
    await this.writer.snapshot(INDEX, directory)
    return directory
  }

  /** Writes the files of a copy: logs grow at their ends, other files appear whole, those with a commit last. */
  async bring(copy: string): Promise<void> {
    const names = await namesBelow(copy)
    for (const name of [...names.filter((one) => !isCommit(one)), ...names.filter(isCommit)])
      await this.#write(name, await readFile(join(copy, name)))
  }

  async #write(name: string, bytes: Buffer): Promise<void> {
    const path = join(this.directory, name)
    await mkdir(dirname(path), { recursive: true })
    const known = await readFile(path).catch(() => null)
    if (known !== null && bytes.subarray(0, known.length).equals(known))
      return appendFile(path, bytes.subarray(known.length))
    await writeFile(`${path}.brought`, bytes)
    await rename(`${path}.brought`, path)
  }

  /** Removes files that are not in a copy. */
  async tidy(copy: string): Promise<void> {
    const needed = new Set(await namesBelow(copy))
    for (const name of await namesBelow(this.directory))
      if (!needed.has(name)) await rm(join(this.directory, name))
  }

  /** Takes over what the writer has now. */
  async catchUp(): Promise<void> {
    const copy = await this.copy()
    await this.bring(copy)
    await this.engine.adopt(INDEX)
    await this.tidy(copy)
  }

  /** Keeps a copy of the files as they are now. */
  async saved(): Promise<string> {
    const directory = join(this.#scratch, `saved-${++this.#copies}`)
    await cp(this.directory, directory, { recursive: true })
    return directory
  }
}
