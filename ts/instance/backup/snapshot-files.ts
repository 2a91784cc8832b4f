/** Files of a snapshot, and the table of contents in its last entry. */

import { ArchiveError } from './archive-error.js'
import type { ArchivedFile } from './archive-writer.js'
import { fieldsOf, unexpected } from './fields.js'

export const STORE_FILE = 'tasks/tasks.db'
export const ENGINE_FILE = 'engine'
export const UPLOADS = 'update_files'
export const INDEXES = 'indexes'

/** The last entry. It proves that all others were written. */
export const CONTENTS_FILE = 'contents.json'

/** The snapshot format that this version writes and reads. */
const FORMAT = 1

/** The table of contents. */
export interface SnapshotContents {
  /** `major.minor.patch` of the build that wrote the snapshot. */
  readonly version: string
  /** By path. */
  readonly files: ReadonlyMap<string, ArchivedFile>
}

export const contentsText = ({ version, files }: SnapshotContents): string =>
  JSON.stringify({ format: FORMAT, version, files: Object.fromEntries(files) })

/** @throws ArchiveError if it does not list files, or has another format */
export function readContents(value: unknown): SnapshotContents {
  const { format, version, files } = fieldsOf(value, CONTENTS_FILE)
  if (format !== FORMAT)
    throw unexpected(format, `${CONTENTS_FILE}: format`, `${FORMAT}, the one this version reads`)
  if (typeof version !== 'string') throw unexpected(version, `${CONTENTS_FILE}: version`, 'a version')
  const listed = Object.entries(fieldsOf(files, `${CONTENTS_FILE}: files`)).map(([path, facts]) => {
    const { bytes, crc32 } = fieldsOf(facts, `${CONTENTS_FILE}: files: ${path}`)
    if (typeof bytes === 'number' && typeof crc32 === 'number') return [path, { bytes, crc32 }] as const
    throw new ArchiveError(`${CONTENTS_FILE} lacks the length or checksum of ${path}`)
  })
  return { version, files: new Map(listed) }
}

/** Returns true if a snapshot can have this entry. Archives of other programs have other entries. */
export const isSnapshotFile = (path: string): boolean =>
  path === CONTENTS_FILE ||
  path === ENGINE_FILE ||
  path === STORE_FILE ||
  path.startsWith(`${UPLOADS}/`) ||
  path.startsWith(`${INDEXES}/`)
