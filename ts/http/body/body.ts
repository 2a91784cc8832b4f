import { createWriteStream } from 'node:fs'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { crc32, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors/index.js'
import {
  type JsonLimits,
  type JsonNode,
  readJson,
  readJsonInSlices,
  readNode,
  type Type,
} from '../../operations/index.js'
import { BODY_IDLE_MS_MAX, bodyLimits, SHORT_BYTES_MAX, UNSLICED_BYTES_MAX, VALUE_BYTES } from '../limits.js'
import type { MemoryBudget, MemoryReservation } from '../memory-budget.js'
import { ByteCollector } from './byte-collector.js'
import { YoungGarbage } from './young-garbage.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes of a JSON body that was read, if the server keeps them. */
    received: Uint8Array | null
    /** Memory that counts for the body; null: none. */
    bodyReservation: MemoryReservation | null
    /** True if another thread answers the request: it is neither logged nor counted here. */
    isHandedOver: boolean
  }
  interface FastifyInstance {
    /** True if requests keep the bytes of their body, to be handed over. */
    keepsBodies: boolean
    /** Starts to count the JSON body of `request` against the memory limit of all bodies. */
    reserveForBody(request: FastifyRequest): MemoryReservation
    /** Written parts of all bodies. */
    youngGarbage: YoungGarbage
  }
}

/** Bounds the memory of all JSON bodies. A body counts until its request is answered. */
export function boundBodies(app: FastifyInstance, budget: MemoryBudget, keepsBodies: boolean): void {
  app.decorate('keepsBodies', keepsBodies)
  app.decorate('youngGarbage', new YoungGarbage())
  app.decorateRequest('received', null)
  app.decorateRequest('isHandedOver', false)
  app.decorateRequest('bodyReservation', null)
  app.decorate('reserveForBody', (request: FastifyRequest) => {
    request.bodyReservation = budget.reserve()
    return request.bodyReservation
  })
  app.addHook('onSend', (request, _reply, _payload, done) => {
    request.bodyReservation?.release()
    done()
  })
  // A client that disconnects while its body is read gets no answer, so `onSend` never runs for it.
  app.addHook('onResponse', (request, _reply, done) => {
    request.bodyReservation?.release()
    done()
  })
}

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/** The content type as sent; empty if the header is missing. */
export const contentType = ({ headers }: FastifyRequest): string => headers['content-type'] ?? ''

/** Content type without parameters, in lower case; empty if the header is missing. */
export function mimeType(request: FastifyRequest): string {
  return contentType(request).split(';')[0]?.trim().toLowerCase() ?? ''
}

/**
 * Returns the parsed JSON body of a request.
 * @param bytesMax limit of the decompressed body
 * @throws ApiError `missing_content_type`, `invalid_content_type`, `payload_too_large`, `bad_request`,
 * `missing_payload`, `malformed_payload`, or an error of `type`
 */
export async function jsonBody<T>(request: FastifyRequest, bytesMax: number, type: Type<T>): Promise<T> {
  const { node, isLong } = await received(request, bytesMax)
  const value = readNode(node, type)
  // Yield to the event loop: the route handles a long body in its own turn.
  if (isLong) await nextTurn()
  return value
}

/** The bytes of a JSON body, and the limits that apply when another thread parses it. */
export interface UnparsedBody {
  readonly bytes: Uint8Array
  readonly limits: JsonLimits
}

/**
 * Like `jsonBody`, but does not parse the body.
 * @throws ApiError `missing_content_type`, `invalid_content_type`, `payload_too_large`, `bad_request`
 */
export async function unparsedBody(request: FastifyRequest, bytesMax: number): Promise<UnparsedBody> {
  requireJson(request)
  const limits = bodyLimits(request.routeOptions.url ?? '')
  const bytes = isShort(request, bytesMax)
    ? await collectShort(request)
    : await collectLong(request, bytesMax, request.server.reserveForBody(request))
  return { bytes, limits }
}

/** A body that has been parsed. */
interface Received {
  readonly node: JsonNode
  /** True if the body was so long that it was parsed in slices. */
  readonly isLong: boolean
}

async function received(request: FastifyRequest, bytesMax: number): Promise<Received> {
  requireJson(request)
  const limits = bodyLimits(request.routeOptions.url ?? '')
  if (isShort(request, bytesMax)) {
    const short = await collectShort(request)
    if (request.server.keepsBodies) request.received = short
    return { node: readJson(short, limits), isLong: false }
  }
  const reservation = request.server.reserveForBody(request)
  const body = await collectLong(request, bytesMax, reservation)
  if (request.server.keepsBodies) request.received = body
  if (body.length <= UNSLICED_BYTES_MAX) return { node: readJson(body, limits), isLong: false }
  const nextSlice = (valuesRead: number): Promise<void> => {
    reservation.take(valuesRead * VALUE_BYTES)
    return nextTurn()
  }
  const node = await reservation.parsed(() => readJsonInSlices(body, limits, nextSlice))
  return { node, isLong: true }
}

async function collectLong(
  request: FastifyRequest,
  bytesMax: number,
  reservation: MemoryReservation,
): Promise<Buffer> {
  const collector = new ByteCollector()
  await readDecoded(request, bytesMax, async (decoded) => {
    for await (const chunk of decoded as AsyncIterable<Buffer>) {
      reservation.take(chunk.length)
      collector.push(chunk)
      request.server.youngGarbage.note(chunk.length)
    }
  })
  return collector.bytes()
}

/**
 * Streams the body, decompressed, into a new file.
 * @returns number of bytes written and their CRC-32
 * @throws ApiError `payload_too_large`, `bad_request`
 */
export async function bodyToFile(
  request: FastifyRequest,
  bytesMax: number,
  path: string,
): Promise<{ readonly bytes: number; readonly checksum: number }> {
  let [bytes, checksum] = [0, 0]
  await readDecoded(request, bytesMax, async (decoded) => {
    const file = createWriteStream(path, { flags: 'wx' })
    await pipeline(
      decoded,
      async function* count(source: AsyncIterable<Buffer>) {
        for await (const chunk of source) {
          bytes += chunk.length
          checksum = crc32(chunk, checksum)
          yield chunk
          request.server.youngGarbage.note(chunk.length)
        }
      },
      file,
    )
  })
  return { bytes, checksum }
}

function requireJson(request: FastifyRequest): void {
  if (contentType(request) === 'application/json') return
  const mime = mimeType(request)
  if (mime === '') {
    throw new ApiError(
      'missing_content_type',
      'the content-type header is missing; accepted: `application/json`',
    )
  }
  if (mime !== 'application/json' && !/^application\/[^/]+\+json$/.test(mime)) {
    throw new ApiError(
      'invalid_content_type',
      `the content type \`${contentType(request)}\` is not supported; accepted: \`application/json\``,
    )
  }
}

/**
 * Returns the body if its announced length is at most `bytesMax` and it is not compressed. Else reads nothing: null.
 */
export async function shortBody(request: FastifyRequest, bytesMax: number): Promise<Buffer | null> {
  return isShort(request, bytesMax) ? collectShort(request) : null
}

/** Returns true if the body can be read without decoding and without counting bytes, like that of most searches. */
function isShort(request: FastifyRequest, bytesMax: number): boolean {
  const announced = Number(request.headers['content-length'])
  return announced <= Math.min(SHORT_BYTES_MAX, bytesMax) && decoderOf(request) === undefined
}

function collectShort(request: FastifyRequest): Promise<Buffer> {
  const collector = new ByteCollector()
  return new Promise((resolve, reject) => {
    const cutOff = (): void => reject(new ApiError('bad_request', 'the body ended before it was complete'))
    request.raw
      .on('data', (chunk: Buffer) => collector.push(chunk))
      .once('end', () => resolve(collector.bytes()))
      .once('aborted', cutOff)
      .once('error', cutOff)
  })
}

function encodingOf(request: FastifyRequest): string {
  return (request.headers['content-encoding'] ?? '').trim().toLowerCase()
}

function decoderOf(request: FastifyRequest): (() => Transform) | undefined {
  const encoding = encodingOf(request)
  return Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined
}

/** Runs `consume` on the decompressed body. The stream fails after more than `bytesMax` bytes. */
async function readDecoded(
  request: FastifyRequest,
  bytesMax: number,
  consume: (decoded: Readable) => Promise<void>,
): Promise<void> {
  const encoding = encodingOf(request)
  const decoder = decoderOf(request)
  if (decoder === undefined && Number(request.headers['content-length']) > bytesMax) throw tooLarge(bytesMax)

  const raw = request.raw
  const idle = setTimeout(() => {
    const seconds = BODY_IDLE_MS_MAX / 1000
    fail(new ApiError('bad_request', `nothing of the body arrived for ${seconds} seconds`, 408))
  }, BODY_IDLE_MS_MAX)
  const limit = limiter(bytesMax, idle)
  const decode = decoder?.()
  const out = decode === undefined ? limit : decode.pipe(limit)
  // Pipes do not forward errors, so each stream reports its own. The socket stays open for the answer.
  const fail = (error: Error): void => {
    raw.unpipe()
    limit.destroy(error)
    raw.resume()
  }
  decode?.on('error', () => fail(new ApiError('bad_request', `the body is not valid ${encoding}`)))
  raw.once('aborted', () => fail(new ApiError('bad_request', 'the body ended before it was complete')))
  raw.once('error', () => fail(new ApiError('bad_request', 'the body could not be read')))
  raw.pipe(decode ?? limit)
  try {
    await consume(out)
  } catch (error) {
    raw.unpipe()
    decode?.destroy()
    raw.resume()
    throw error
  } finally {
    clearTimeout(idle)
  }
}

/** Passes up to `bytesMax` bytes, and restarts `idle` with each chunk. */
function limiter(bytesMax: number, idle: NodeJS.Timeout): Transform {
  let bytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      idle.refresh()
      bytes += chunk.length
      if (bytes > bytesMax) done(tooLarge(bytesMax))
      else done(null, chunk)
    },
  })
}

function tooLarge(bytesMax: number): ApiError {
  const limit = bytesMax % 1_000_000 === 0 ? `${bytesMax / 1_000_000} MB` : `${bytesMax} bytes`
  return new ApiError('payload_too_large', `the payload is larger than the accepted ${limit}`)
}
