import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type Answer, AnswerReader } from './answers.js'
import { bytesOf, compressed, type HostileRequest, lengthOf } from './request.js'

/** The answers to a request and how the exchange ended. */
export interface Exchange {
  readonly answers: readonly Answer[]
  /**
   * `answered`, `closed` (the server closed the connection without an answer), `silent` (no answer in time), `garbled`
   * (the answer is not HTTP), `left` (we closed the connection).
   */
  readonly ended: 'answered' | 'closed' | 'silent' | 'garbled' | 'left'
}

/** Server and substitutions for requests. */
export interface Destination {
  readonly port: number
  readonly provider: string
  /** Returns the authorization header of a client; null sends none. */
  authorization(client: string): string | null
  /** Timeout for an answer, in milliseconds. */
  readonly answerMsMax: number
}

/** Length at which an endless body stops. */
const ENDLESS_BYTES_MAX = 300_000_000
/** How long a client that does not read keeps its connection. */
const UNREAD_MS = 2_000
/** How long a client listens to a stream. */
const LISTENING_MS = 100
const PIPELINED = 3

/**
 * Sends one request over a new connection.
 * @param whileUnread called while a client does not read its answer
 */
export async function send(
  request: HostileRequest,
  destination: Destination,
  whileUnread: () => Promise<void> = async () => undefined,
): Promise<Exchange> {
  const { delivery = 'whole' } = request
  const isEndless = delivery === 'endless'
  const packed =
    request.body !== undefined && request.encoding !== undefined
      ? await compressed(bytesOf(request.body, destination.provider), request.encoding)
      : null
  const body = (): Iterable<Buffer> =>
    packed === null ? bytesOf(request.body ?? '', destination.provider) : [packed]
  const length = packed?.length ?? lengthOf(request.body ?? '', destination.provider)
  const head = headOf(request, destination, length)

  const socket = connect({ port: destination.port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
  const reader = new AnswerReader(request.method)
  const wanted = delivery === 'pipelined' ? PIPELINED : 1
  const ended = new Promise<Exchange['ended']>((resolve) => {
    const timer = setTimeout(() => resolve('silent'), destination.answerMsMax)
    const end = (how: Exchange['ended']): void => {
      clearTimeout(timer)
      resolve(how)
    }
    const atEnd = (): void => {
      reader.end()
      end(reader.answers.length >= wanted ? 'answered' : 'closed')
    }
    socket.on('data', (chunk: Buffer) => {
      try {
        reader.push(chunk)
      } catch {
        end('garbled')
      }
      if (reader.answers.length >= wanted) end('answered')
      if (delivery === 'listening' && reader.begun) setTimeout(() => end('left'), LISTENING_MS)
    })
    socket.once('end', atEnd)
    socket.once('error', atEnd)
    socket.once('close', atEnd)
  })
  if (delivery === 'unread') socket.pause()
  const stopped = (): boolean => socket.destroyed || reader.begun
  const sending = (async () => {
    if (delivery === 'pipelined') {
      // In one write, so that the server sees the next request while it answers the previous one.
      const once = Buffer.concat([head, ...body()])
      await written(socket, Buffer.concat(Array<Buffer>(PIPELINED).fill(once)))
    } else {
      await write(socket, [head], () => socket.destroyed)
      const limit = delivery === 'truncated' ? Math.floor(length / 2) : Number.POSITIVE_INFINITY
      if (isEndless || delivery === 'chunked') await writeChunked(socket, body, isEndless, stopped)
      else await write(socket, first(body(), limit), stopped)
    }
  })()
  try {
    // A server may answer before it has read everything. The rest is not sent then.
    await Promise.race([sending, ended])
    if (delivery === 'truncated') socket.end()
    if (delivery === 'abandoned') return { answers: [], ended: 'left' }
    if (delivery === 'unread') {
      await Promise.all([whileUnread(), pause(UNREAD_MS)])
      return { answers: [], ended: 'left' }
    }
    const how = await ended
    return { answers: reader.answers, ended: how }
  } finally {
    socket.destroy()
    await sending.catch(() => undefined)
  }
}

function headOf(request: HostileRequest, destination: Destination, length: number): Buffer {
  const { method, path, body, encoding, delivery = 'whole', headers = {}, as = 'master' } = request
  const authorization = destination.authorization(as)
  const given: Record<string, string> = {
    host: `127.0.0.1:${destination.port}`,
    ...(authorization !== null && { authorization }),
    ...(body !== undefined && {
      'content-type': 'application/json',
      ...(delivery === 'chunked' || delivery === 'endless'
        ? { 'transfer-encoding': 'chunked' }
        : { 'content-length': String(length) }),
    }),
    ...(encoding !== undefined && { 'content-encoding': encoding }),
    ...headers,
  }
  const lines = Object.entries(given).flatMap(([name, value]) => (value === '' ? [] : [`${name}: ${value}`]))
  const target = Buffer.concat([...bytesOf(path, destination.provider)])
  return Buffer.concat([
    Buffer.from(`${method} `),
    target,
    Buffer.from(` HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`),
  ])
}

async function write(socket: Socket, chunks: Iterable<Buffer>, stopped: () => boolean): Promise<void> {
  for (const chunk of chunks) {
    if (stopped()) return
    await written(socket, chunk)
  }
}

async function writeChunked(
  socket: Socket,
  body: () => Iterable<Buffer>,
  isEndless: boolean,
  stopped: () => boolean,
): Promise<void> {
  let bytes = 0
  do {
    const before = bytes
    for (const chunk of body()) {
      if (stopped() || bytes > ENDLESS_BYTES_MAX) return
      bytes += chunk.length
      await written(socket, Buffer.from(`${chunk.length.toString(16)}\r\n`))
      await written(socket, chunk)
      await written(socket, Buffer.from('\r\n'))
    }
    if (bytes === before) break
  } while (isEndless)
  await written(socket, Buffer.from('0\r\n\r\n'))
}

/** Resolves once the system accepted the bytes or the connection is closed. */
function written(socket: Socket, chunk: Buffer): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed || socket.writableEnded) resolve()
    else socket.write(chunk, () => resolve())
  })
}

function* first(chunks: Iterable<Buffer>, bytes: number): Generator<Buffer> {
  let left = bytes
  for (const chunk of chunks) {
    if (left <= 0) return
    yield chunk.subarray(0, left)
    left -= chunk.length
  }
}
