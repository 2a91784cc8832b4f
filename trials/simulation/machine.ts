import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { imagePath, indexesPath, uploadsPath } from '../../ts/tasks/index.js'
import type { DriverName } from '../../ts/tasks/store/driver.js'
import { OUTBOX_STORED_AS } from '../../ts/tasks/store/replicated-tables.js'
import { Store } from '../../ts/tasks/store/store.js'
import { Disk } from './disk.js'
import type { Applied, EngineFiles, Files } from './parts.js'
import type { World } from './world.js'

/** Where directories are: in memory where the system has such a place. */
const shared = '/dev/shm'
const base = readdirSync('/dev').includes('shm') ? shared : tmpdir()

/** A data directory. Its store, indexes and uploads are in memory; real files are there for what is sent and fetched. */
export class Machine {
  readonly disk: Disk
  readonly files: Files = new Map()
  readonly written: EngineFiles = {
    indexes: new Map(),
    applied: new Map(),
    failed: new Set(),
    merges: new Map(),
  }
  #directory: string | null = null
  #isDestroyed = false

  constructor(world: World, driver?: DriverName) {
    this.disk = new Disk(world, driver)
  }

  /** Where real files are. */
  get directory(): string {
    this.#directory ??= mkdtempSync(join(base, 'siftd-simulation-'))
    return this.#directory
  }

  /** The store as a process that does not serve it has it open. @param image whether a fetched image becomes the store */
  replica(isImage: boolean): Store {
    if (isImage) this.disk.load(imagePath(this.directory))
    return new Store(this.disk, {
      isCompared: true,
      identity: null,
      reached: () => undefined,
      settle: () => undefined,
      copying: this.disk.copying,
    })
  }

  /** A path of an upload, where its bytes are unless it is gone. */
  uploadPath(name: string): string {
    const path = join(uploadsPath(this.directory), name)
    mkdirSync(dirname(path), { recursive: true })
    const text = this.files.get(name)
    if (text === undefined) rmSync(path, { force: true })
    else writeFileSync(path, text)
    return path
  }

  /** Writes an index as it is now into a directory. @returns does so at a later time */
  copierOf(index: string): (directory: string) => void {
    const content = this.written.indexes.get(index)
    const applied = [...(this.written.applied.get(index) ?? [])]
    const merges = this.written.merges.get(index) ?? 0
    return (directory) => {
      mkdirSync(directory, { recursive: true })
      if (content === undefined) return
      writeFileSync(join(directory, 'applied'), applied.map((one) => `${JSON.stringify(one)}\n`).join(''))
      const last = content.lastCommit?.batchUid ?? 'none'
      writeFileSync(join(directory, `commit-${last}`), JSON.stringify(content))
      // Longer than what goes into an entry, every second time.
      if (merges > 0)
        writeFileSync(join(directory, `merged-${merges}`), 'm'.repeat(merges % 2 === 0 ? 300_000 : 10))
    }
  }

  /** Takes indexes and uploads from the files that were fetched. */
  takeFetched(): void {
    const indexes = indexesPath(this.directory)
    for (const id of names(indexes)) {
      const commit = names(join(indexes, id)).find((name) => name.startsWith('commit-'))
      if (commit === undefined) continue
      this.written.indexes.set(id, JSON.parse(readFileSync(join(indexes, id, commit), 'utf8')))
      const lines = readFileSync(join(indexes, id, 'applied'), 'utf8')
        .split('\n')
        .slice(0, -1)
      this.written.applied.set(
        id,
        lines.map((line) => JSON.parse(line) as Applied),
      )
    }
    const uploads = uploadsPath(this.directory)
    for (const name of names(uploads)) this.files.set(name, readFileSync(join(uploads, name), 'utf8'))
  }

  /** Uid of the batch that an index ends with, by its fetched files; null without any. */
  lastFetched(id: string): number | null {
    const commit = names(join(indexesPath(this.directory), id)).find((name) => name.startsWith('commit-'))
    return commit === undefined ? null : Number(commit.slice('commit-'.length))
  }

  destroy(): void {
    if (this.#isDestroyed) return
    this.#isDestroyed = true
    this.disk.destroy()
    if (this.#directory !== null) rmSync(this.#directory, { recursive: true, force: true })
  }
}

/** Gives a store the identity that its changes are numbered under. */
export function identify(store: Store, identity: string): void {
  store.transaction([() => store.putValue(OUTBOX_STORED_AS, identity)], true)
}

function names(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}
