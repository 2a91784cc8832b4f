/** Checks that a file from a hub arrived complete. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { OutboundStream } from '../../outbound/index.js'

/** The checksum of a file on its hub: SHA-256 for large files, the git object id for others. */
export interface Checksum {
  readonly kind: 'sha256' | 'git'
  /** Hexadecimal. */
  readonly digest: string
}

/** Returns the checksum in the headers of an answer or of a redirect before it; null if there is none. */
export function checksumIn({ headers, redirects }: OutboundStream): Checksum | null {
  for (const name of ['x-linked-etag', 'etag']) {
    for (const from of [...redirects, headers]) {
      const [, digest] = /^(?:W\/)?"?([0-9a-f]{64}|[0-9a-f]{40})"?$/.exec(String(from[name] ?? '')) ?? []
      if (digest !== undefined) return { kind: digest.length === 64 ? 'sha256' : 'git', digest }
    }
  }
  return null
}

/** Returns true if the file at `path` has this checksum. */
export async function hasChecksum(path: string, { kind, digest }: Checksum): Promise<boolean> {
  const hash = createHash(kind === 'git' ? 'sha1' : 'sha256')
  if (kind === 'git') hash.update(`blob ${(await stat(path)).size}\0`)
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex') === digest
}
