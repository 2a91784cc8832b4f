/** An engine that reads copied index files of another engine, as a follower of a bucket does. */
import { appendFile, cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { ExecutionContext } from 'ava'
import type { Engine } from '../../ts/engine/index.js'
import { TestEngine } from './engine.js'
import type { TestedEngine } from './engines.js'

export const INDEX = 'things'

/** Returns the paths of all files below a directory, with slashes. */
export async function namesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return files.map((entry) => relative(directory, join(entry.parentPath, entry.name))).sort()
}

/** Returns true for files that make a commit visible. They are written last. */
export const isCommit = (name: string): boolean => /^(commit-\d{20}|commits\.log)$/.test(name)

export class Follower {
  readonly writer: TestEngine
  /** The following engine. */
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

  /** Directory of the index files. */
  get directory(): string {
    return join(this.test.directory, 'indexes', INDEX)
  }

  /** Copies the newest commit of the writer. @returns the directory of the copy */
  async copy(): Promise<string> {
    const directory = join(this.#scratch, `copy-${++this.#copies}`)
    await mkdir(this.#scratch, { recursive: true })
    await this.writer.snapshot(INDEX, directory)
    return directory
  }

  /** Writes the files of a copy: appends to logs, writes other files completely, and commits last. */
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

  /** Copies the current state of the writer. */
  async catchUp(): Promise<void> {
    const copy = await this.copy()
    await this.bring(copy)
    await this.engine.adopt(INDEX)
    await this.tidy(copy)
  }

  /** Saves a copy of the current files. @returns its directory */
  async saved(): Promise<string> {
    const directory = join(this.#scratch, `saved-${++this.#copies}`)
    await cp(this.directory, directory, { recursive: true })
    return directory
  }
}
