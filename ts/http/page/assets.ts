/** Reads the files of the page in all encodings. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { packageFolder } from '../../launch/index.js'

/** A file of the page in each encoding that it is served in. */
export interface Asset {
  readonly contentType: string
  /** Hash of the uncompressed file. `send` adds the encoding to it. */
  readonly etag: string
  readonly br: Buffer
  readonly gzip: Buffer
  readonly identity: Buffer
}

const contentTypes = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
  'errors.html': 'text/html; charset=utf-8',
} as const

export type AssetName = keyof typeof contentTypes
export type Assets = Readonly<Record<AssetName, Asset>>

/** Written by `scripts/build-page.mjs`. */
const folder = (): string => join(packageFolder(), 'dist', 'page')

/** @returns null if the page has not been built */
export function readAssets(): Assets | null {
  try {
    const read = Object.entries(contentTypes).map(([name, contentType]) => [name, asset(name, contentType)])
    return Object.fromEntries(read) as Assets
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function asset(name: string, contentType: string): Asset {
  const form = (suffix: string): Buffer => readFileSync(join(folder(), `${name}.${suffix}`))
  const gzip = form('gz')
  const identity = gunzipSync(gzip)
  const etag = createHash('sha256').update(identity).digest('base64url').slice(0, 22)
  return { contentType, etag, br: form('br'), gzip, identity }
}
