/**
 * Which indexes are there, if the task store is gone? A file beside their directories says, written whenever an index
 * comes, goes or changes its name. The task store decides; this file is only read to rebuild one.
 */
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
  /** Writes the file unless it says the same. */
  update(rows: readonly NamedIndex[]): Promise<void>
}

const pathIn = (directory: string): string => join(indexesPath(directory), 'catalogue.json')

export function catalogueFile(directory: string): CatalogueFile {
  const path = pathIn(directory)
  let written: string | null = null
  return {
    async update(rows) {
      const text = textOf(rows)
      // A file that cannot be read is written anew.
      written ??= await readFile(path, 'utf8').catch(() => '')
      if (text === written) return
      // If this fails half-way, the file may say either.
      written = ''
      await replace(path, text)
      written = text
    },
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
 * What the file says; null if there is none, or its checksum does not match.
 * @throws Error of the system if the file is there and cannot be read
 */
export async function readCatalogueFile(directory: string): Promise<readonly NamedIndex[] | null> {
  const text = await readFile(pathIn(directory), 'utf8').catch((error: NodeJS.ErrnoException) => {
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

/** Writes the names of the indexes down outside the store. If that fails, the next change or start does it. */
export async function noteNames(
  catalogue: Catalogue,
  {
    names,
    log,
  }: { readonly names: CatalogueFile; readonly log: { warn(facts: object, message: string): void } },
): Promise<void> {
  try {
    await names.update(catalogue.rows())
  } catch (error) {
    log.warn({ err: error }, 'the names of the indexes could not be written beside them')
  }
}
