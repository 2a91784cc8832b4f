/** Uploaded bodies of enqueued tasks. The bucket stores them under `spool/`, in parts numbered from 0. */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory } from '../../engine/index.js'
import { type NeededUpload, type OutgoingChanges, uploadsPath } from '../../tasks/index.js'
import { UPLOAD_PART_BYTES } from '../limits.js'
import { inParts } from '../log/in-parts.js'
import { DamagedPartError, type ObjectStore } from '../object-store/index.js'

/** Prefix of the keys of all parts of an upload. */
export const uploadPrefix = (name: string): string => `spool/${name}/`

/** Sends uploads, each upload once. */
export class UploadSender {
  readonly #uploads: Pick<OutgoingChanges['uploads'], 'pathOf'>
  /** Names of uploads that the bucket has. */
  readonly #sent = new Set<string>()
  /** Names of uploads that were sent after the last `keepOnly`. Their tasks may not be stored yet. */
  #fresh = new Set<string>()

  constructor(uploads: Pick<OutgoingChanges['uploads'], 'pathOf'>) {
    this.#uploads = uploads
  }

  /** Sends uploads of these names. @returns false if the file of an upload is gone @throws BucketError */
  async send(
    names: readonly string[],
    store: Pick<ObjectStore, 'put'>,
    signal: AbortSignal,
  ): Promise<boolean> {
    let areAllSent = true
    for (const name of names) {
      if (this.#sent.has(name)) continue
      try {
        await sendUpload(this.#uploads.pathOf(name), name, store, signal)
        this.#sent.add(name)
        this.#fresh.add(name)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
        areAllSent = false
      }
    }
    return areAllSent
  }

  /** Forgets uploads that are not `needed` and were sent before the last call. */
  keepOnly(needed: readonly string[]): void {
    const kept = new Set(needed)
    for (const name of this.#sent) if (!kept.has(name) && !this.#fresh.has(name)) this.#sent.delete(name)
    this.#fresh = new Set()
  }
}

/** @throws BucketError; a system error with `ENOENT` if the file is gone */
async function sendUpload(
  path: string,
  name: string,
  store: Pick<ObjectStore, 'put'>,
  signal: AbortSignal,
): Promise<void> {
  let number = 0
  for await (const bytes of inParts(createReadStream(path), UPLOAD_PART_BYTES))
    await store.put(`${uploadPrefix(name)}${number++}`, bytes, signal)
}

/**
 * Downloads the uploads that tasks of a data directory need.
 * @returns keys of parts that are missing
 * @throws BucketError, DamagedPartError
 */
export async function fetchUploads(
  uploads: readonly NeededUpload[],
  directory: string,
  store: Pick<ObjectStore, 'get'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const missing: string[] = []
  if (uploads.length === 0) return missing
  await makeDirectory(uploadsPath(directory))
  for (const { name, bytes } of uploads) {
    if (!FILE_NAME.test(name)) throw new DamagedPartError(`no upload has the name ${JSON.stringify(name)}`)
    const file = await open(join(uploadsPath(directory), name), 'w')
    try {
      let left = bytes
      for (let number = 0; left > 0; number++) {
        const key = `${uploadPrefix(name)}${number}`
        const part = await store.get(key, { bytesMax: 2 * UPLOAD_PART_BYTES, signal })
        if (part === null) {
          missing.push(key)
          break
        }
        if (part.length === 0 || part.length > left)
          throw new DamagedPartError(`the object ${key} is damaged: a part of an upload`)
        await file.writeFile(part)
        left -= part.length
      }
      await file.sync()
    } finally {
      await file.close()
    }
  }
  return missing
}

/** Names of uploads come from outside this machine, so they are checked. */
const FILE_NAME = /^[0-9a-f-]{36}\.[a-z]+$/
