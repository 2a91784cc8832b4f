/** What do the files of a data directory hold? Their bytes by part, as docs/index-format.md names the parts. */
import { readdir, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { DiskPart } from './report/figures.js'

/** The first pattern that a path matches names its part. */
const parts: readonly (readonly [RegExp, string])[] = [
  [/^tasks\/|^tasks\.mark$/, 'tasks'],
  [/^update_files\//, 'uploads'],
  [/\/segment-[^/]+\.term$/, 'words'],
  [/\/segment-[^/]+\.idx$/, 'documents of each word'],
  [/\/segment-[^/]+\.pos$/, 'positions of words'],
  [/\/segment-[^/]+\.fast$/, 'columns'],
  [/\/segment-[^/]+\.store$/, 'documents'],
  [/\/segment-[^/]+\.initials$/, 'first letters'],
  [/\/segment-[^/]+\.places$/, 'places of letters'],
  [/\/commit-[^/]+$/, 'commits, small parts'],
  [/\/late-[^/]+$/, 'deferred columns'],
  [/\/commits\.log$/, 'documents'],
  // While it is written, its name has an ending.
  [/\/built\.snapshot/, 'words, positions, columns'],
]

/** The part of a file, by its path in the data directory with `/` between folders. */
export const partOf = (path: string): string =>
  parts.find(([pattern]) => pattern.test(path))?.[1] ?? 'everything else'

/** The largest part first. */
export async function diskParts(directory: string): Promise<readonly DiskPart[]> {
  const bytes = new Map<string, number>()
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const part = partOf(relative(directory, path).split(sep).join('/'))
    // A file that a merge removed meanwhile takes nothing.
    const { size } = await stat(path).catch(() => ({ size: 0 }))
    bytes.set(part, (bytes.get(part) ?? 0) + size)
  }
  return [...bytes]
    .map(([name, size]) => ({ name, bytes: size }))
    .filter((part) => part.bytes > 0)
    .sort((a, b) => b.bytes - a.bytes)
}
