/**
 * Checkpoints: the state of the log up to a record, so that readers can skip the records before.
 *
 * The object `base/<seq>` is, in bytes: `SFBS`, one byte, the `Checkpoint` as JSON, and the CRC-32 of everything before
 * (four bytes, little endian). The byte is twice `LOG_FORMAT` if the JSON is compressed with gzip, as in long checkpoints,
 * and one less otherwise. The data that it references is in separate objects.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { crc32, createGunzip, createGzip, gunzipSync, gzip } from 'node:zlib'
import { makeDirectory } from '../../engine/index.js'
import { shapes } from '../../parse/index.js'
import {
  CHECKPOINT_BYTES_MAX,
  CHECKPOINT_CONTENT_BYTES_MAX,
  COMPRESSED_CHECKPOINT_BYTES_MAX,
  IMAGE_PART_BYTES,
} from '../limits.js'
import {
  checkpointKey,
  DamagedPartError,
  type FilePart,
  filesShape,
  isSealed,
  type ObjectStore,
  type PartLocation,
  partsAhead,
  recordKey,
  SEALED_MESSAGE,
} from '../object-store/index.js'
import { indexId, type Reached } from './body.js'
import { type Fence, fenceShape } from './fence.js'
import { LOG_FORMAT, NewerFormatError } from './format.js'
import { inParts } from './in-parts.js'

export interface Checkpoint {
  /** The last log record that it covers. */
  readonly seq: number
  readonly instanceUid: string
  /** Milliseconds since 1970 by the clock of the writer. */
  readonly writtenAt: number
  /** The fence that the log record belongs to. */
  readonly fence: Fence
  readonly image: Image
  /** The last transaction of the covered log records. */
  readonly reached: Reached | null
  /** Uid and id of each index. */
  readonly ids: readonly (readonly [uid: string, id: string])[]
  /** No part of them is in a log record. */
  readonly files: DescribedFiles
}

/** Id of an index → name of a file → its parts. */
type DescribedFiles = Readonly<Record<string, Readonly<Record<string, readonly FilePart[]>>>>

/** A copy of the task store, a little newer than the last log record that the checkpoint covers. */
interface Image {
  /** Parts of its compressed file, in order. */
  readonly parts: readonly ImagePart[]
  /** The last transaction in it. Log records after the checkpoint contain the newest of its transactions too. */
  readonly reached: Reached
}

export interface ImagePart {
  readonly key: string
  readonly bytes: number
  readonly crc: number
}

/** A checkpoint that cannot be read. */
export class DamagedCheckpointError extends Error {
  override readonly name = 'DamagedCheckpointError'
}

const MAGIC = Buffer.from('SFBS')
const PACKED = 2 * LOG_FORMAT
const PLAIN = PACKED - 1

/** @param plainBytesMax length from which the content is compressed */
export async function encodeCheckpoint(
  checkpoint: Checkpoint,
  plainBytesMax: number = CHECKPOINT_BYTES_MAX,
): Promise<Buffer> {
  const json = Buffer.from(JSON.stringify(checkpoint))
  if (json.length > CHECKPOINT_CONTENT_BYTES_MAX)
    throw new Error(`a checkpoint of ${json.length} bytes is longer than ${CHECKPOINT_CONTENT_BYTES_MAX}`)
  const isPacked = json.length > plainBytesMax
  const text = isPacked ? await promisify(gzip)(json, { level: 1 }) : json
  const content = Buffer.concat([MAGIC, Buffer.of(isPacked ? PACKED : PLAIN), text])
  const sum = Buffer.alloc(4)
  sum.writeUInt32LE(crc32(content))
  const bytes = Buffer.concat([content, sum])
  if (bytes.length > COMPRESSED_CHECKPOINT_BYTES_MAX)
    throw new Error(
      `a compressed checkpoint of ${bytes.length} bytes is longer than ${COMPRESSED_CHECKPOINT_BYTES_MAX}`,
    )
  return bytes
}

const reachedShape = shapes.object({ outbox: shapes.text, last: shapes.integer() })

const imagePart = shapes.object({
  key: shapes.text,
  bytes: shapes.integer(2 * IMAGE_PART_BYTES),
  crc: shapes.integer(0xffff_ffff),
})

const shape = shapes.object({
  seq: shapes.integer(),
  instanceUid: shapes.text,
  writtenAt: shapes.integer(),
  fence: fenceShape,
  image: shapes.object({ parts: shapes.list(imagePart), reached: reachedShape }),
  reached: shapes.orNull(reachedShape),
  ids: shapes.list(shapes.tuple(shapes.text, indexId)),
  files: shapes.record(indexId, filesShape),
})

/** @param seq the last log record that the checkpoint covers @throws DamagedCheckpointError, NewerFormatError */
export function decodeCheckpoint(seq: number, bytes: Buffer): Checkpoint {
  const damaged = (message: string) =>
    new DamagedCheckpointError(`the checkpoint at log record ${seq} cannot be read: ${message}`)
  if (isSealed(bytes)) throw damaged(SEALED_MESSAGE)
  const at = MAGIC.length + 1
  if (bytes.length < at + 4 || !bytes.subarray(0, MAGIC.length).equals(MAGIC))
    throw damaged('it is no checkpoint of a log')
  const content = bytes.subarray(0, -4)
  if (crc32(content) !== bytes.readUInt32LE(content.length))
    throw damaged('its bytes do not have their checksum')
  const kind = bytes.readUInt8(MAGIC.length)
  const format = Math.ceil(kind / 2)
  if (format > LOG_FORMAT)
    throw new NewerFormatError(
      `the checkpoint at log record ${seq}`,
      `format ${format}, this one reads up to ${LOG_FORMAT}`,
    )
  const text = kind % 2 === 0 ? unpacked(content.subarray(at), damaged) : content.subarray(at)
  const checkpoint = shapes.readShape<Checkpoint>(text.toString(), 'its content', shape, damaged)
  if (checkpoint.seq !== seq) throw damaged(`it is that of log record ${checkpoint.seq}`)
  return checkpoint
}

function unpacked(bytes: Buffer, damaged: (message: string) => Error): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: CHECKPOINT_CONTENT_BYTES_MAX })
  } catch (error) {
    throw damaged(
      `its content cannot be decompressed: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

/** Keys of the objects that a checkpoint references. */
export const keysOfCheckpoint = ({ image, files }: Checkpoint): readonly string[] => [
  ...image.parts.map(({ key }) => key),
  ...keysOfFiles(files),
]

/** Keys of the objects and log records that hold parts of these files. */
export const keysOfFiles = (files: DescribedFiles): readonly string[] =>
  Object.values(files)
    .flatMap((of) => Object.values(of).flat())
    .map(({ location }) => ('key' in location ? location.key : recordKey(location.seq)))

/** Returns the files with the new locations of their parts. @param locationOf returns null for a part that stays */
export function movedFiles(
  files: DescribedFiles,
  locationOf: (location: PartLocation) => PartLocation | null,
): DescribedFiles {
  const moved = (parts: readonly FilePart[]): readonly FilePart[] =>
    parts.map((part) => ({ ...part, location: locationOf(part.location) ?? part.location }))
  const ofIndex = (of: DescribedFiles[string]): DescribedFiles[string] =>
    Object.fromEntries(Object.entries(of).map(([name, parts]) => [name, moved(parts)]))
  return Object.fromEntries(Object.entries(files).map(([id, of]) => [id, ofIndex(of)]))
}

/** Reads the checkpoint that covers the log up to record `seq`. @throws BucketError, and like `decodeCheckpoint` */
export async function readCheckpoint(
  store: Pick<ObjectStore, 'get'>,
  seq: number,
  signal: AbortSignal,
): Promise<Checkpoint> {
  const bytes = await store.get(checkpointKey(seq), { bytesMax: COMPRESSED_CHECKPOINT_BYTES_MAX, signal })
  if (bytes === null) throw new DamagedCheckpointError(`the checkpoint at log record ${seq} is gone`)
  return decodeCheckpoint(seq, bytes)
}

/** Compresses a file and uploads it. @param keyFor returns the key of the object for a part */
export async function uploadImage(
  path: string,
  store: Pick<ObjectStore, 'put'>,
  keyFor: (number: number) => string,
  signal: AbortSignal,
): Promise<readonly ImagePart[]> {
  const parts: ImagePart[] = []
  const compress = createGzip({ level: 1 })
  await pipeline(createReadStream(path), compress, async (compressed: AsyncIterable<Buffer>) => {
    for await (const bytes of inParts(compressed, IMAGE_PART_BYTES)) {
      const key = keyFor(parts.length)
      await store.put(key, bytes, signal)
      parts.push({ key, bytes: bytes.length, crc: crc32(bytes) })
    }
  })
  return parts
}

/** Downloads a file that `uploadImage` uploaded. @throws BucketError, DamagedPartError; the file is unusable then */
export async function fetchImage(
  parts: readonly ImagePart[],
  path: string,
  store: Pick<ObjectStore, 'get'>,
  signal: AbortSignal,
): Promise<void> {
  const stop = new AbortController()
  const both = AbortSignal.any([signal, stop.signal])
  const read = async ({ key, bytes, crc }: ImagePart): Promise<Buffer> => {
    const found = await store.get(key, { bytesMax: bytes, signal: both })
    if (found === null) throw new DamagedPartError(`the object ${key} is missing: a part of the task store`)
    if (found.length !== bytes || crc32(found) !== crc)
      throw new DamagedPartError(`the object ${key} is damaged: a part of the task store`)
    return found
  }
  await makeDirectory(dirname(path))
  const written = createWriteStream(path, { flush: true })
  try {
    await pipeline(Readable.from(partsAhead(parts, read)), createGunzip(), written, { signal })
  } finally {
    stop.abort()
  }
}
