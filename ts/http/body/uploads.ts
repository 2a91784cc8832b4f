import { isUtf8 } from 'node:buffer'
import { writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { crc32 } from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import type { Payload, PayloadFormat } from '../../engine/index.js'
import { INLINE_PAYLOAD_BYTES_MAX, type Tasks } from '../../tasks/index.js'
import { bodyToFile, shortBody } from './body.js'

/** An uploaded body that no task refers to yet. */
interface Upload {
  readonly payload: Payload
  readonly payloadBytes: number
  /** Syncs the payload to disk. @returns the payload as stored in its task */
  persist(): Promise<Payload>
  discard(): Promise<void>
}

/**
 * Receives the body of a request. A short body is stored inside its task, a longer one as a file of the spool.
 * @param bytesMax limit of the decompressed body
 * @throws ApiError `payload_too_large`, `bad_request`
 */
export async function receiveUpload(
  request: FastifyRequest,
  tasks: Tasks,
  bytesMax: number,
  kind: { readonly format: PayloadFormat; readonly csvDelimiter?: string },
): Promise<Upload> {
  const short = await shortBody(request, Math.min(INLINE_PAYLOAD_BYTES_MAX, bytesMax))
  if (short !== null && isUtf8(short)) {
    const payload = { ...kind, text: short.toString() }
    return {
      payload,
      payloadBytes: short.length,
      persist: async () => payload,
      discard: async () => undefined,
    }
  }
  const slot = await tasks.spool(kind.format)
  try {
    if (short !== null) await writeFile(slot.path, short, { flag: 'wx' })
    const { bytes, checksum } =
      short === null
        ? await bodyToFile(request, bytesMax, slot.path)
        : { bytes: short.length, checksum: crc32(short) }
    return {
      payload: { ...kind, path: slot.path },
      payloadBytes: bytes,
      async persist() {
        await slot.sync()
        return { ...kind, path: basename(slot.path), checksum }
      },
      discard: () => slot.discard(),
    }
  } catch (error) {
    await slot.discard()
    throw error
  }
}
