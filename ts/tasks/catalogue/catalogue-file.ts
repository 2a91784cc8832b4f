/**
 * A file next to the index directories that lists the indexes. It is written when an index is created, deleted or
 * renamed. It is read only to rebuild a lost task store; otherwise the store is authoritative.
 */
import { existsSync } from 'node:fs'
import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { indexesPath } from '../store/paths.js'
import type { CatalogueRow } from '../store/records.js'
import type { Catalogue } from './catalogue.js'

/** Name, id and creation date of an index. */
type NamedIndex = Pick<CatalogueRow, 'uid' | 'id' | 'createdAt'>

/** Keeps the file up to date with the catalogue. */
export interface CatalogueFile {
  /** Writes the file if its content changed. @param rows returns the current indexes; called right before the write */
  update(rows: () => readonly NamedIndex[]): Promise<void>
}

export const catalogueFilePath = (directory: string): string => join(indexesPath(directory), 'catalogue.json')

export function catalogueFile(directory: string): CatalogueFile {
  const path = catalogueFilePath(directory)
  let written: string | null = null
  let last: Promise<void> = Promise.resolve()
  return {
    update(rows) {
      // Serializes batches that end at the same time. Each reads the names only when its own write begins.
      const next = last.catch(() => undefined).then(() => write(rows))
      last = next
      return next
    },
  }

  async function write(rows: () => readonly NamedIndex[]): Promise<void> {
    const text = textOf(rows())
    // An unreadable file is written again.
    written ??= await readFile(path, 'utf8').catch(() => '')
    if (text === written) return
    // A failed write leaves the old or the new content, so the next update always writes.
    written = ''
    await replace(path, text)
    written = text
  }
}

function textOf(rows: readonly NamedIndex[]): string {
  const indexes = rows
    .map(({ uid, id, createdAt }): NamedIndex => ({ uid, id, createdAt }))
    .sort((a, b) => (a.uid < b.uid ? -1 : 1))
  return `${JSON.stringify({ checksum: crc32(JSON.stringify(indexes)), indexes })}\n`
}

async function replace(path: string, text: string): Promise<void> {
  const file = await open(`${path}.new`, 'w')
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
}

/**
 * Reads the indexes from the file. Returns null if the file is missing or its checksum does not match.
 * @throws Error of the system if the file exists and cannot be read
 */
export async function readCatalogueFile(directory: string): Promise<readonly NamedIndex[] | null> {
  const text = await readFile(catalogueFilePath(directory), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (text === null) return null
  try {
    const { checksum, indexes } = JSON.parse(text) as { checksum: number; indexes: readonly NamedIndex[] }
    return crc32(JSON.stringify(indexes)) === checksum ? indexes : null
  } catch {
    return null
  }
}

/** Logs that the file is damaged. The next update repairs it. */
export async function warnOfDamagedCatalogueFile(
  directory: string,
  log: { warn(facts: object, message: string): void },
): Promise<void> {
  const file = catalogueFilePath(directory)
  // An unreadable file makes the next update fail, and the failure is logged there.
  const names = await readCatalogueFile(directory).catch(() => undefined)
  if (names === null && existsSync(file))
    log.warn({ file }, 'the file that lists the indexes is damaged; it is written again')
}

/** Updates the file from the catalogue and logs a failure. The next change or start tries again. */
export async function updateCatalogueFile(
  catalogue: Catalogue,
  {
    names,
    log,
  }: { readonly names: CatalogueFile; readonly log: { warn(facts: object, message: string): void } },
): Promise<void> {
  try {
    await names.update(() => catalogue.rows())
  } catch (error) {
    log.warn({ err: error }, 'the file that lists the indexes could not be written')
  }
}
