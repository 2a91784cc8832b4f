/**
 * Which indexes exist, if the task store is lost? A file beside their directories lists them. It is written whenever an
 * index is created, deleted or renamed, and read only to rebuild a task store; in all other cases the store decides.
 */
import { existsSync } from 'node:fs'
import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { indexesPath } from '../store/paths.js'
import type { CatalogueRow } from '../store/records.js'
import type { Catalogue } from './catalogue.js'

/** The name of an index, and since when it exists. */
export type NamedIndex = Pick<CatalogueRow, 'uid' | 'id' | 'createdAt'>

/** Keeps the file in step with the catalogue. */
export interface CatalogueFile {
  /** Writes the file unless its content would be the same. @param rows the indexes that exist when it is called */
  update(rows: () => readonly NamedIndex[]): Promise<void>
}

export const catalogueFilePath = (directory: string): string => join(indexesPath(directory), 'catalogue.json')

export function catalogueFile(directory: string): CatalogueFile {
  const path = catalogueFilePath(directory)
  let written: string | null = null
  let last: Promise<void> = Promise.resolve()
  return {
    update(rows) {
      // Batches that end at the same time write one after another. Each writes the newest names, which it asks for last.
      const next = last.catch(() => undefined).then(() => write(rows))
      last = next
      return next
    },
  }

  async function write(rows: () => readonly NamedIndex[]): Promise<void> {
    const text = textOf(rows())
    // A file that cannot be read is written anew.
    written ??= await readFile(path, 'utf8').catch(() => '')
    if (text === written) return
    // A write that fails leaves the old or the new content, so the next update writes in any case.
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
 * The indexes that the file lists; null without a file, or if its checksum does not match.
 * @throws Error of the system if the file is there and cannot be read
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

/** Logs that the file is damaged, which the next update mends. */
export async function warnOfDamagedNames(
  directory: string,
  log: { warn(facts: object, message: string): void },
): Promise<void> {
  const file = catalogueFilePath(directory)
  // A file that cannot be read now is told by its update.
  const names = await readCatalogueFile(directory).catch(() => undefined)
  if (names === null && existsSync(file))
    log.warn({ file }, 'the list of indexes beside them is damaged; it is written again')
}

/** Brings the file in step with the catalogue, and logs a failure. The next change or start tries again. */
export async function noteNames(
  catalogue: Catalogue,
  {
    names,
    log,
  }: { readonly names: CatalogueFile; readonly log: { warn(facts: object, message: string): void } },
): Promise<void> {
  try {
    await names.update(() => catalogue.rows())
  } catch (error) {
    log.warn({ err: error }, 'the names of the indexes could not be written beside them')
  }
}
