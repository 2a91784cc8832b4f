/**
 * Encrypts the objects of a bucket, so that its owner can neither read them nor change them undetected.
 *
 * An object is a sequence of frames. A frame is, in bytes: `SFSL`, the version of the format (one byte), 1 if it is the
 * last of its object, else 0 (one byte), the id of the key (8 bytes), the salt of the object (32 bytes), its content
 * encrypted with AES-256-GCM, and the tag (16 bytes). All frames but the last have 64 KiB of content. The key of an
 * object is derived from the key of the bucket and the salt, which is random for each write. The nonce is the number of
 * the frame, so no nonce is used twice with a key. The tag covers the head, the number of the frame and the name of the
 * object.
 *
 * Each frame has the salt, so a range is read with one call and without the start of the object.
 *
 * Not detected: a deleted object, and an object replaced by an older version of itself. Names and lengths of objects
 * are not hidden. The tag covers names without the prefix, so that a bucket can be moved.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { FRAME_BYTES, FRAMES_IN_TURN } from './limits.js'
import { BucketError, type ObjectStore } from './object-store.js'

const MAGIC = Buffer.from('SFSL')
const VERSION = 1
const ALGORITHM = 'aes-256-gcm'
const LAST_AT = MAGIC.length + 1
const ID_AT = LAST_AT + 1
const ID_BYTES = 8
const SALT_AT = ID_AT + ID_BYTES
const SALT_BYTES = 32
const HEAD_BYTES = SALT_AT + SALT_BYTES
const TAG_BYTES = 16
const EXTRA_BYTES = HEAD_BYTES + TAG_BYTES
const SEALED_FRAME_BYTES = FRAME_BYTES + EXTRA_BYTES

/** Returns true for the bytes of an encrypted object. */
export const isSealed = (bytes: Uint8Array): boolean => MAGIC.equals(bytes.subarray(0, MAGIC.length))

/** Message of readers that find encrypted bytes but have no key. */
export const SEALED_MESSAGE = 'it is encrypted: give the key of the bucket with --bucket-key-file'

/**
 * Wraps a store with encryption. Object keys are not encrypted. `list` returns the lengths of the decrypted contents.
 * Each write of the same content stores different bytes.
 *
 * `get` throws a BucketError of kind `refused` for an object without encryption or with another key, and `malformed`
 * for a changed object.
 * @param key 32 bytes, see `bucketKey`
 */
export function sealedStore(store: ObjectStore, key: Uint8Array): ObjectStore {
  const seal = new Seal(key, store.name)
  return {
    name: store.name,
    create: async (name, body, signal) => store.create(name, await seal.sealed(name, body), signal),
    put: async (name, body, signal) => store.put(name, await seal.sealed(name, body), signal),
    async get(name, { bytesMax, range, signal }) {
      if (range === undefined) {
        const bytes = await store.get(name, { bytesMax: sealedLength(bytesMax), signal })
        return bytes && seal.opened(name, bytes, { first: 0, end: Number.POSITIVE_INFINITY })
      }
      const first = Math.floor(range[0] / FRAME_BYTES)
      const end = Math.floor(range[1] / FRAME_BYTES) + 1
      const part = async (from: number, to: number): Promise<Buffer | null> => {
        const asked = [from * SEALED_FRAME_BYTES, to * SEALED_FRAME_BYTES - 1] as const
        const bytesOfFrames = (to - from) * SEALED_FRAME_BYTES
        const bytes = await store.get(name, { bytesMax: bytesOfFrames, range: asked, signal })
        if (bytes === null || (bytes.length === 0 && from > 0)) return bytes
        return seal.opened(name, bytes, { first: from, end: to })
      }
      const found = await part(first, end)
      if (found === null) return null
      if (found.length === 0 && first > 0) {
        // The object ends before the range, or its end was cut off. The last frame decides.
        const last = await lastFrame(name, signal)
        if (last === null) return null
        if (last >= first) throw seal.damaged(name, 'it changed while it was read')
        const end = await store.get(name, {
          bytesMax: SEALED_FRAME_BYTES,
          range: [last * SEALED_FRAME_BYTES, (last + 1) * SEALED_FRAME_BYTES - 1],
          signal,
        })
        if (end === null) return null
        await seal.opened(name, end, { first: last, end: Number.POSITIVE_INFINITY })
        return found
      }
      const wanted = found.subarray(range[0] - first * FRAME_BYTES, range[1] + 1 - first * FRAME_BYTES)
      if (wanted.length > bytesMax)
        throw new BucketError(`${store.name}: \`${name}\` is longer than ${bytesMax} bytes`, 'malformed')
      return wanted
    },
    async *list(prefix, options) {
      for await (const { key: name, bytes } of store.list(prefix, options))
        yield { key: name, bytes: openedLength(bytes) }
    },
    delete: (name, signal) => store.delete(name, signal),
  }

  /** Number of the last frame of an object; null: the object does not exist. */
  async function lastFrame(name: string, signal: AbortSignal | undefined): Promise<number | null> {
    for await (const object of store.list(name, { signal }))
      if (object.key === name) return framesIn(object.bytes, SEALED_FRAME_BYTES) - 1
    return null
  }
}

/** Number of frames of an object with so many bytes, at least one. */
const framesIn = (bytes: number, frame: number): number => Math.max(1, Math.ceil(bytes / frame))

/** Length of the encrypted object for a content of so many bytes. */
const sealedLength = (bytes: number): number => bytes + framesIn(bytes, FRAME_BYTES) * EXTRA_BYTES

const openedLength = (bytes: number): number =>
  Math.max(0, bytes - framesIn(bytes, SEALED_FRAME_BYTES) * EXTRA_BYTES)

/** Requested frames: from `first` to before `end`, or to the end of the object. */
interface Asked {
  readonly first: number
  readonly end: number
}

/** Encrypts and decrypts objects with the key of a bucket. */
class Seal {
  readonly #key: Uint8Array
  readonly #id: Buffer
  readonly #store: string

  constructor(key: Uint8Array, store: string) {
    if (key.length !== KEY_BYTES) throw new Error(`a key has ${KEY_BYTES} bytes, not ${key.length}`)
    this.#key = key
    this.#store = store
    this.#id = Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), 'siftd bucket key id', ID_BYTES))
  }

  async sealed(name: string, body: Uint8Array): Promise<Buffer> {
    const salt = randomBytes(SALT_BYTES)
    const key = this.#keyOf(salt)
    const frames = framesIn(body.length, FRAME_BYTES)
    const sealed = Buffer.allocUnsafe(sealedLength(body.length))
    for (let number = 0, at = 0; number < frames; number++) {
      const content = body.subarray(number * FRAME_BYTES, (number + 1) * FRAME_BYTES)
      const isLast = number === frames - 1
      const head = Buffer.concat([MAGIC, Buffer.of(VERSION, isLast ? 1 : 0), this.#id, salt])
      const cipher = createCipheriv(ALGORITHM, key, nonceOf(number), { authTagLength: TAG_BYTES })
      cipher.setAAD(coveredBy(head, number, name))
      for (const bytes of [head, cipher.update(content), cipher.final(), cipher.getAuthTag()])
        at += bytes.copy(sealed, at)
      if (number % FRAMES_IN_TURN === FRAMES_IN_TURN - 1) await turn()
    }
    return sealed
  }

  /** Decrypts frames. @throws BucketError */
  async opened(name: string, bytes: Buffer, { first, end }: Asked): Promise<Buffer> {
    if (bytes.length < MAGIC.length || !isSealed(bytes))
      throw new BucketError(
        `${this.#store}: \`${name}\` is not encrypted; leave out --bucket-key-file, or choose another prefix to begin an encrypted copy`,
        'refused',
      )
    const salt = bytes.subarray(SALT_AT, HEAD_BYTES)
    const frames = framesIn(bytes.length, SEALED_FRAME_BYTES)
    if (bytes.length < EXTRA_BYTES) throw this.damaged(name, 'it was cut off')
    if (bytes[MAGIC.length] !== VERSION)
      throw this.damaged(
        name,
        `its encryption has the version ${bytes[MAGIC.length]}, and this build reads ${VERSION}`,
      )
    if (!bytes.subarray(ID_AT, SALT_AT).equals(this.#id))
      throw new BucketError(
        `${this.#store}: \`${name}\` is encrypted with another key than the one of --bucket-key-file`,
        'refused',
      )
    const key = this.#keyOf(salt)
    const opened = Buffer.allocUnsafe(openedLength(bytes.length))
    for (let index = 0, at = 0; index < frames; index++) {
      const frame = bytes.subarray(index * SEALED_FRAME_BYTES, (index + 1) * SEALED_FRAME_BYTES)
      const head = frame.subarray(0, HEAD_BYTES)
      const isLast = head[LAST_AT] === 1
      const mayEnd = index === frames - 1
      const isAllAsked = first + frames === end && frame.length === SEALED_FRAME_BYTES
      if (frame.length < EXTRA_BYTES || (mayEnd && !isLast && !isAllAsked))
        throw this.damaged(name, 'it was cut off')
      if (isLast && !mayEnd) throw this.damaged(name, 'something follows its end')
      if (!head.subarray(SALT_AT).equals(salt)) throw this.damaged(name, 'it is made of several objects')
      const number = first + index
      const decipher = createDecipheriv(ALGORITHM, key, nonceOf(number), { authTagLength: TAG_BYTES })
      decipher.setAAD(coveredBy(head, number, name))
      decipher.setAuthTag(frame.subarray(-TAG_BYTES))
      try {
        at += decipher.update(frame.subarray(HEAD_BYTES, -TAG_BYTES)).copy(opened, at)
        decipher.final()
      } catch (error) {
        throw this.damaged(name, `frame ${number} does not have its tag`, error)
      }
      if (index % FRAMES_IN_TURN === FRAMES_IN_TURN - 1) await turn()
    }
    return opened
  }

  damaged(name: string, how: string, cause?: unknown): BucketError {
    const message = `${this.#store}: \`${name}\` was changed after it was encrypted: ${how}`
    return new BucketError(message, 'malformed', { cause })
  }

  #keyOf(salt: Uint8Array): Uint8Array {
    return new Uint8Array(hkdfSync('sha256', this.#key, salt, 'siftd bucket object', KEY_BYTES))
  }
}

/** Length of a key in bytes. */
export const KEY_BYTES = 32

const nonceOf = (number: number): Buffer => {
  const nonce = Buffer.alloc(12)
  nonce.writeUIntBE(number, 6, 6)
  return nonce
}

/** Additional authenticated data of a frame. */
const coveredBy = (head: Uint8Array, number: number, name: string): Buffer =>
  Buffer.concat([head, nonceOf(number), Buffer.from(name)])
