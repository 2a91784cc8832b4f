/** Damages chosen parts of an index of either engine, for tests. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { FRAME_HEAD_BYTES, frame } from '../../ts/engine/fallback/store/frames.js'

interface Blob {
  readonly file: string
  readonly offset: number
  readonly length: number
}

interface Manifest {
  readonly settings: Blob | null
  readonly segments: readonly { readonly pieces: Readonly<Record<string, Blob>> }[]
}

/** The newest commit file of a native index. The grammar is in docs/index-format.md. */
async function newestCommit(directory: string) {
  const names = (await readdir(directory)).filter((name) => name.startsWith('commit-')).sort()
  const path = join(directory, names.at(-1) ?? '')
  const bytes = await readFile(path)
  const trailer = bytes.subarray(-28)
  const from = Number(trailer.readBigUInt64LE(0))
  const manifest = bytes.toString('utf8', from, from + Number(trailer.readBigUInt64LE(8)))
  return { path, bytes, from, manifest, magic: trailer.subarray(20) }
}

/** Reads the manifest of the newest commit of a native index. */
export async function manifestOf(directory: string): Promise<Manifest> {
  return JSON.parse((await newestCommit(directory)).manifest) as Manifest
}

/** The versions of what cuts texts into words; null: none, as in earlier versions. */
export type StoredAnalysis = Readonly<Record<string, string>> | null

/** Replaces the stored versions of what cut the documents of an index. A fallback index must have a snapshot. */
export async function storeAnalysis(directory: string, analysis: StoredAnalysis): Promise<void> {
  const replaced = (json: string): Buffer =>
    Buffer.from(JSON.stringify({ ...JSON.parse(json), analysis: analysis ?? undefined }))
  if (!(await readdir(directory)).includes('commits.log')) {
    const { path, bytes, from, manifest, magic } = await newestCommit(directory)
    const written = replaced(manifest)
    const trailer = Buffer.alloc(20)
    trailer.writeBigUInt64LE(BigInt(from))
    trailer.writeBigUInt64LE(BigInt(written.length), 8)
    trailer.writeUInt32LE(crc32(written), 16)
    return writeFile(path, Buffer.concat([bytes.subarray(0, from), written, trailer, magic]))
  }
  const path = join(directory, 'built.snapshot')
  const bytes = await readFile(path)
  // The header, the frame of the place, and the frame of the head.
  const place = 8
  const head = place + FRAME_HEAD_BYTES + bytes.readUInt32LE(place + 1)
  const end = head + FRAME_HEAD_BYTES + bytes.readUInt32LE(head + 1)
  const written = frame(bytes[head]!, replaced(bytes.toString('utf8', head + FRAME_HEAD_BYTES, end)))
  await writeFile(path, Buffer.concat([bytes.subarray(0, head), written, bytes.subarray(end)]))
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
