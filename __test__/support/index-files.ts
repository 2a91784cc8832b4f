/** Damages chosen parts of an index of either engine, for tests. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

interface Blob {
  readonly file: string
  readonly offset: number
  readonly length: number
}

interface Manifest {
  readonly settings: Blob | null
  readonly segments: readonly { readonly pieces: Readonly<Record<string, Blob>> }[]
}

/** Reads the manifest of the newest commit of a native index. The grammar is in docs/index-format.md. */
export async function manifestOf(directory: string): Promise<Manifest> {
  const names = (await readdir(directory)).filter((name) => name.startsWith('commit-')).sort()
  const bytes = await readFile(join(directory, names.at(-1) ?? ''))
  const trailer = bytes.subarray(-28)
  const from = Number(trailer.readBigUInt64LE(0))
  return JSON.parse(bytes.toString('utf8', from, from + Number(trailer.readBigUInt64LE(8)))) as Manifest
}

export async function flipBit(path: string, at: number): Promise<void> {
  const bytes = await readFile(path)
  bytes[at] = bytes[at]! ^ 4
  await writeFile(path, bytes)
}

/** Flips a bit in the middle of a part of the oldest segment, such as `store` (documents) or `term` (words). */
export async function damagePart(directory: string, part: string): Promise<void> {
  const { segments } = await manifestOf(directory)
  const blob = segments[0]?.pieces[part]
  if (blob === undefined) throw new Error(`no segment has the part ${part}`)
  await flipBit(join(directory, blob.file), blob.offset + (blob.length >> 1))
}

/** Makes some documents of an index with three commits unreadable. */
export async function damageDocuments(directory: string): Promise<void> {
  const names = await readdir(directory)
  if (!names.includes('commits.log')) return damagePart(directory, 'store')
  const log = join(directory, 'commits.log')
  await flipBit(log, (await readFile(log)).length >> 1)
}

/** Returns the directory of an index, from `catalogue.json`. */
export async function directoryOf(data: string, uid: string): Promise<string> {
  for (;;) {
    const listed = JSON.parse(await readFile(join(data, 'indexes', 'catalogue.json'), 'utf8')) as {
      readonly indexes: readonly { readonly uid: string; readonly id: string }[]
    }
    const found = listed.indexes.find((index) => index.uid === uid)
    if (found !== undefined) return join(data, 'indexes', found.id)
    // The file is written in the background.
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
