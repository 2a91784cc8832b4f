/** Helps tests to look into archives and to make them. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import type { ExecutionContext } from 'ava'
import { extract } from 'tar'

/** A directory that goes with the test. */
export async function tempDir(t: ExecutionContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'siftd-backup-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  return path
}

/** Path inside the archive → text of the entry. */
export type Entries = ReadonlyMap<string, string>

export async function entriesOf(t: ExecutionContext, archive: string): Promise<Entries> {
  const directory = await tempDir(t)
  await extract({ file: archive, cwd: directory })
  const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((it) =>
    it.isFile(),
  )
  const read = files.map(async (file) => {
    const path = join(file.parentPath, file.name)
    return [relative(directory, path), await readFile(path, 'utf8')] as const
  })
  return new Map(await Promise.all(read))
}

export type Line = Readonly<Record<string, unknown>>

/** The lines of an entry, each as JSON. */
export function linesOf(entries: Entries, path: string): readonly Line[] {
  const text = entries.get(path)
  if (text === undefined)
    throw new Error(`the archive has no ${path}, only ${[...entries.keys()].join(', ')}`)
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
}
