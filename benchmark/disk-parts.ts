/** Sums the file sizes of a data directory by part, with the names of docs/index-format.md. */
import { readdir, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { DiskPart } from './report/figures.js'

/** Patterns of paths and their parts. The first match counts. */
const parts: readonly (readonly [RegExp, string])[] = [
  [/^tasks\/|^tasks\.mark$/, 'tasks'],
  [/^update_files\//, 'uploads'],
  [/\/segment-[^/]+\.term$/, 'words'],
  [/\/segment-[^/]+\.idx$/, 'documents of each word'],
  [/\/segment-[^/]+\.pos$/, 'positions of words'],
  [/\/segment-[^/]+\.fast$/, 'columns'],
  [/\/segment-[^/]+\.store$/, 'documents'],
  [/\/segment-[^/]+\.initials$/, 'first letters'],
  [/\/segment-[^/]+\.places$/, 'short-prefix lists'],
  [/\/commit-[^/]+$/, 'commits, small parts'],
  [/\/late-[^/]+$/, 'deferred columns'],
  [/\/commits\.log$/, 'documents'],
  // A temporary file has a suffix.
  [/\/built\.snapshot/, 'words, positions, columns'],
]

/** Returns the part of a file, from its path in the data directory with `/` between folders. */
export const partOf = (path: string): string =>
  parts.find(([pattern]) => pattern.test(path))?.[1] ?? 'everything else'

/** Returns the parts of a data directory, largest first. */
export async function diskParts(directory: string): Promise<readonly DiskPart[]> {
  const bytes = new Map<string, number>()
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const part = partOf(relative(directory, path).split(sep).join('/'))
    // A merge may have removed the file in between.
    const { size } = await stat(path).catch(() => ({ size: 0 }))
    bytes.set(part, (bytes.get(part) ?? 0) + size)
  }
  return [...bytes]
    .map(([name, size]) => ({ name, bytes: size }))
    .filter((part) => part.bytes > 0)
    .sort((a, b) => b.bytes - a.bytes)
}
