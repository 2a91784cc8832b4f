import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { DriverName } from '../../ts/sqlite/driver.js'
import { indexesPath, replicaStorePath, uploadsPath } from '../../ts/tasks/index.js'
import { OUTBOX_STORED_AS } from '../../ts/tasks/replicated/tables.js'
import { Store } from '../../ts/tasks/store/store.js'
import { Disk } from './disk.js'
import type { Applied, EngineFiles, Files } from './files.js'
import type { World } from './world.js'

/** Parent of the data directories: in memory if the system supports it. */
const shared = '/dev/shm'
const base = readdirSync('/dev').includes('shm') ? shared : tmpdir()

/** A data directory. Its store, indexes and uploads are in memory. Files to send and fetched files are real. */
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

  /** The directory of the real files. */
  get directory(): string {
    this.#directory ??= mkdtempSync(join(base, 'siftd-simulation-'))
    return this.#directory
  }

  /** Opens the store without serving it. @param isImage true to replace the store by a fetched image first */
  replica(isImage: boolean): Store {
    if (isImage) this.disk.load(replicaStorePath(this.directory))
    return new Store(this.disk, {
      isCompared: true,
      identity: null,
      reached: () => undefined,
      settle: () => undefined,
      copying: this.disk.copying,
    })
  }

  /** Returns the path of an upload. Writes the file first, or removes it if the upload is gone. */
  uploadPath(name: string): string {
    const path = join(uploadsPath(this.directory), name)
    mkdirSync(dirname(path), { recursive: true })
    const text = this.files.get(name)
    if (text === undefined) rmSync(path, { force: true })
    else writeFileSync(path, text)
    return path
  }

  /** Captures the current state of an index. @returns a function that writes it to a directory */
  copierOf(index: string): (directory: string) => void {
    const content = this.written.indexes.get(index)
    const applied = [...(this.written.applied.get(index) ?? [])]
    const merges = this.written.merges.get(index) ?? 0
    return (directory) => {
      mkdirSync(directory, { recursive: true })
      if (content === undefined) return
      writeFileSync(join(directory, 'applied'), applied.map((each) => `${JSON.stringify(each)}\n`).join(''))
      const last = content.lastCommit?.batchUid ?? 'none'
      writeFileSync(join(directory, `commit-${last}`), JSON.stringify(content))
      // Every second time longer than the content of a log record may be.
      if (merges > 0)
        writeFileSync(join(directory, `merged-${merges}`), 'm'.repeat(merges % 2 === 0 ? 300_000 : 10))
    }
  }

  /** Loads indexes and uploads from the fetched files. */
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

  /** Returns the batch uid of the newest commit of an index in the fetched files; null if none. */
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

/** Sets the identity of a store's outbox. */
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
