/** Here is a file from a hub and what the hub said about it: did it arrive whole? */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { OutboundStream } from '../outbound/index.js'

/** The checksum of a file by its hub: SHA-256 of large files, the number that git gives to others. */
export interface Checksum {
  readonly kind: 'sha256' | 'git'
  /** Hexadecimal. */
  readonly digest: string
}

/** The checksum that an answer, or a redirect on the way to it, names; null: none does. */
export function checksumIn({ headers, redirects }: OutboundStream): Checksum | null {
  for (const name of ['x-linked-etag', 'etag']) {
    for (const from of [...redirects, headers]) {
      const [, digest] = /^(?:W\/)?"?([0-9a-f]{64}|[0-9a-f]{40})"?$/.exec(String(from[name] ?? '')) ?? []
      if (digest !== undefined) return { kind: digest.length === 64 ? 'sha256' : 'git', digest }
    }
  }
  return null
}

/** Whether the file at `path` has this checksum. */
export async function hasChecksum(path: string, { kind, digest }: Checksum): Promise<boolean> {
  const hash = createHash(kind === 'git' ? 'sha1' : 'sha256')
  if (kind === 'git') hash.update(`blob ${(await stat(path)).size}\0`)
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex') === digest
}
