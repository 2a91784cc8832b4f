import { createWriteStream } from 'node:fs'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../errors/index.js'
import { type JsonNode, readJson, readNode, type Type } from './parse/index.js'
import { noteGarbage } from './young-garbage.js'

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/** Content type without parameters, in lower case; empty if the header is missing. */
export function mimeType(request: FastifyRequest): string {
  return request.contentType.split(';')[0]?.trim().toLowerCase() ?? ''
}

/**
 * The JSON body of a request.
 * @param bytesMax limit of the decompressed body
 * @throws ApiError `missing_content_type`, `invalid_content_type`, `payload_too_large`, `bad_request`,
 * `missing_payload`, `malformed_payload`, or what `type` refuses
 */
export async function jsonBody<T>(request: FastifyRequest, bytesMax: number, type: Type<T>): Promise<T> {
  return readNode(await jsonNode(request, bytesMax), type)
}

/** As `jsonBody`, leaving the fields to the caller. */
export async function jsonNode(request: FastifyRequest, bytesMax: number): Promise<JsonNode> {
  requireJson(request)
  const chunks: Buffer[] = []
  const collect = async (decoded: Readable): Promise<void> => {
    for await (const chunk of decoded) chunks.push(chunk as Buffer)
  }
  if (isShort(request, bytesMax)) await collectShort(request, chunks)
  else await readDecoded(request, bytesMax, collect)
  return readJson(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks))
}

/**
 * Streams the body, decompressed, into a new file.
 * @throws ApiError `payload_too_large`, `bad_request`
 */
export async function bodyToFile(request: FastifyRequest, bytesMax: number, path: string): Promise<number> {
  let bytes = 0
  await readDecoded(request, bytesMax, async (decoded) => {
    const file = createWriteStream(path, { flags: 'wx' })
    await pipeline(
      decoded,
      async function* count(source: AsyncIterable<Buffer>) {
        for await (const chunk of source) {
          bytes += chunk.length
          yield chunk
          noteGarbage(chunk.length)
        }
      },
      file,
    )
  })
  return bytes
}

function requireJson(request: FastifyRequest): void {
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
      `the content type \`${request.contentType}\` is not supported; accepted: \`application/json\``,
    )
  }
}

/** The body if it is announced to be at most `bytesMax` and not compressed, else null and nothing is read. */
export async function shortBody(request: FastifyRequest, bytesMax: number): Promise<Buffer | null> {
  if (!isShort(request, bytesMax)) return null
  const chunks: Buffer[] = []
  await collectShort(request, chunks)
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
}

/** Bodies announced to be at most this long are read without any stream in between. */
const SHORT_BYTES_MAX = 16_384

/** Most bodies are small searches; they need neither decoding nor a limit that could be reached. */
function isShort(request: FastifyRequest, bytesMax: number): boolean {
  const announced = Number(request.headers['content-length'])
  return announced <= Math.min(SHORT_BYTES_MAX, bytesMax) && decoderOf(request) === undefined
}

function collectShort(request: FastifyRequest, chunks: Buffer[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const cutOff = (): void => reject(new ApiError('bad_request', 'the body ended before it was complete'))
    request.raw
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .once('end', resolve)
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

/** Runs `consume` on the decompressed body, cut off with an error once it grows past `bytesMax`. */
async function readDecoded(
  request: FastifyRequest,
  bytesMax: number,
  consume: (decoded: Readable) => Promise<void>,
): Promise<void> {
  const encoding = encodingOf(request)
  const decoder = decoderOf(request)
  if (decoder === undefined && Number(request.headers['content-length']) > bytesMax) throw tooLarge(bytesMax)

  const raw = request.raw
  const limit = limiter(bytesMax)
  const decode = decoder?.()
  const out = decode === undefined ? limit : decode.pipe(limit)
  // Errors do not travel along pipes. The socket is not destroyed: it still has to carry the answer.
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
  }
}

function limiter(bytesMax: number): Transform {
  let bytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
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
