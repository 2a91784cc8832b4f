/**
 * Remembers which index files of a copy have the checksums of their parts, so that a restart need not read them again.
 *
 * A file counts as unchanged if its length, inode and times of change are the same. Not found: bytes that a disk changes by
 * itself. `siftd verify` finds them, and the engine when it reads them.
 */
import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { textOf } from '../../instance/index.js'
import { shapes } from '../../parse/index.js'
import { indexesPath } from '../../tasks/index.js'
import { bytesOf, type FilePart, type IndexFiles } from '../object-store/index.js'

/** File in the data directory: index id → file name → `Entry`. */
const FILE = 'verified-files.json'

/** Identity of an unchanged file, number of its parts, and their digest. */
type Entry = readonly [identity: string, parts: number, digest: string]
type Entries = Readonly<Record<string, Readonly<Record<string, Entry>>>>

const entry = shapes.tuple(shapes.text, shapes.integer(), shapes.text)
const shape = shapes.record(shapes.text, shapes.record(shapes.text, entry))

/** Returns the leading parts that a file is known to have; null: it must be read. */
type KnownParts = (name: string, stats: BigIntStats, parts: readonly FilePart[]) => readonly FilePart[] | null

/** Returns what is remembered about the files of an index. A damaged memory is empty. */
export async function verifiedIn(directory: string): Promise<(id: string) => KnownParts> {
  const entries = await readEntries(directory)
  return (id) => (name, stats, parts) => {
    const files = Object.hasOwn(entries, id) ? entries[id]! : {}
    const [identity, count, digest] = Object.hasOwn(files, name) ? files[name]! : []
    if (identity === undefined || identity !== identityOf(stats)) return null
    const known = parts.slice(0, count)
    return known.length === count && digestOf(known) === digest ? known : null
  }
}

async function readEntries(directory: string): Promise<Entries> {
  try {
    const text = (await textOf(join(directory, FILE))) ?? '{}'
    return shapes.readShape<Entries>(text, FILE, shape, (message) => new Error(message))
  } catch {
    return {}
  }
}

/** Remembers the files of a copy. They were verified, and nothing changes them meanwhile. */
export async function rememberVerified(
  directory: string,
  indexes: ReadonlyMap<string, IndexFiles>,
): Promise<void> {
  const entries: Record<string, Record<string, Entry>> = {}
  for (const [id, files] of indexes) {
    const found: Record<string, Entry> = {}
    for (const [name, parts] of files) {
      const stats = await stat(join(indexesPath(directory), id, name), { bigint: true }).catch(() => null)
      const identity = stats !== null && Number(stats.size) === bytesOf(parts) ? identityOf(stats) : null
      if (identity !== null) found[name] = [identity, parts.length, digestOf(parts)]
    }
    entries[id] = found
  }
  const path = join(directory, FILE)
  // A crash may leave an empty file, which is as good as none.
  await writeFile(`${path}.new`, JSON.stringify(entries))
  await rename(`${path}.new`, path)
}

/** Returns null if the file system does not tell when a file was changed. */
function identityOf({ size, ino, mtimeNs, ctimeNs }: BigIntStats): string | null {
  return ctimeNs === 0n ? null : `${size} ${ino} ${mtimeNs} ${ctimeNs}`
}

const digestOf = (parts: readonly FilePart[]): string =>
  createHash('sha256')
    .update(JSON.stringify(parts.map(({ from, bytes, crc }) => [from, bytes, crc])))
    .digest('base64')
