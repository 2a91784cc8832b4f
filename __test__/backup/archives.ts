/** Helpers for reading and creating archives. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { ExecutionContext } from 'ava'
import { extract, Header } from 'tar'

/** A directory that is removed after the test. */
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

/** The lines of an entry, parsed as JSON. */
export function linesOf(entries: Entries, path: string): readonly Line[] {
  const text = entries.get(path)
  if (text === undefined)
    throw new Error(`the archive has no ${path}, only ${[...entries.keys()].join(', ')}`)
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
}

/** An entry as a hostile writer creates it. */
export interface MadeEntry {
  readonly path: string
  readonly content?: string | Buffer
  readonly type?: 'File' | 'SymbolicLink' | 'Link' | 'Directory' | 'CharacterDevice' | 'FIFO'
  readonly linkpath?: string
  /** The size in the header, if it is wrong. */
  readonly size?: number
}

/** A compressed tar of any entries, valid or not. */
export function archiveOf(entries: readonly MadeEntry[]): Buffer {
  const blocks = entries.flatMap(({ path, content = '', type = 'File', linkpath, size }) => {
    const body = typeof content === 'string' ? Buffer.from(content) : content
    const header = Buffer.alloc(512)
    new Header({
      path,
      type,
      mode: 0o644,
      mtime: new Date(0),
      size: size ?? body.length,
      ...(linkpath !== undefined && { linkpath }),
    }).encode(header)
    return [header, body, Buffer.alloc((512 - (body.length % 512)) % 512)]
  })
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]))
}

/** Metadata of a dump in the newest layout. */
export const metadata = {
  path: 'metadata.json',
  content: '{"dumpVersion":"V6","dbVersion":"1.50.0","dumpDate":"2030-01-01T00:00:00Z"}',
}
/** An index of two documents. */
export const indexAt = (uid: string, folder = uid): readonly MadeEntry[] => [
  {
    path: `indexes/${folder}/metadata.json`,
    content: JSON.stringify({
      uid,
      primaryKey: 'id',
      createdAt: '2030-01-01T00:00:00Z',
      updatedAt: '2030-01-01T00:00:00Z',
    }),
  },
  { path: `indexes/${folder}/settings.json`, content: '{}' },
  { path: `indexes/${folder}/documents.jsonl`, content: '{"id":1}\n{"id":2}' },
]
/** A line of a finished task, with additional members. */
export const task = (some: object) =>
  JSON.stringify({
    uid: 0,
    indexUid: 'a',
    status: 'succeeded',
    type: 'documentClear',
    enqueuedAt: '2030-01-01T00:00:00Z',
    finishedAt: '2030-01-01T00:00:00Z',
    ...some,
  })
