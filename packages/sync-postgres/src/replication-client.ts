/** A connection in replication mode. */
import type { Duplex } from 'node:stream'
import pg from 'pg'
import { EPOCH_MS } from './pgoutput.js'
import type { PostgresSettings } from './settings.js'
import { postgresError } from './source-error.js'

/** A message of the database in the stream. */
export type StreamMessage =
  | { readonly kind: 'data'; readonly bytes: Buffer }
  /** All changes before `end` were sent. */
  | { readonly kind: 'keepalive'; readonly end: bigint; readonly isReplyWanted: boolean }

/** Parts of `pg` that have no types: it passes the messages of a stream on, and sends chunks. */
interface RawConnection {
  readonly stream: Duplex
  on(event: 'copyData', listener: (message: { readonly chunk: Buffer }) => void): void
  sendCopyFromChunk(chunk: Buffer): void
}

export class ReplicationClient {
  readonly #client: pg.Client
  readonly #connection: RawConnection

  private constructor(client: pg.Client, connection: RawConnection) {
    this.#client = client
    this.#connection = connection
  }

  /** @param failed called when the connection breaks @throws PostgresError */
  static async connect(
    { client: config }: PostgresSettings,
    failed: (error: Error) => void = () => undefined,
  ): Promise<ReplicationClient> {
    const client = new pg.Client({ ...config, replication: 'database' } as pg.ClientConfig)
    client.on('error', (error) => failed(postgresError(error, 'the stream of changes')))
    client.on('end', () =>
      failed(postgresError(new Error('the connection was closed'), 'the stream of changes')),
    )
    try {
      await client.connect()
    } catch (error) {
      throw postgresError(error, 'connecting for replication')
    }
    return new ReplicationClient(client, (client as unknown as { connection: RawConnection }).connection)
  }

  /** Runs a command of the replication protocol. */
  async command(doing: string, command: string): Promise<Readonly<Record<string, unknown>>> {
    try {
      const { rows } = await this.#client.query<Record<string, unknown>>(command)
      return rows[0] ?? {}
    } catch (error) {
      throw postgresError(error, doing)
    }
  }

  /** Starts the stream. @param failed called if it cannot start or ends */
  start(command: string, received: (message: StreamMessage) => void, failed: (error: Error) => void): void {
    this.#connection.on('copyData', ({ chunk }) => {
      try {
        const message = streamMessage(chunk)
        if (message !== null) received(message)
      } catch (error) {
        failed(error as Error)
      }
    })
    this.#client.query(command).then(
      () => failed(postgresError(new Error('it ended'), 'the stream of changes')),
      (error) => failed(postgresError(error, 'the stream of changes')),
    )
  }

  /** Reports positions. @param received everything before it was received @param confirmed nothing before it is needed */
  report(received: bigint, confirmed: bigint, isReplyWanted = false): void {
    const status = Buffer.alloc(34)
    status.write('r')
    status.writeBigInt64BE(received, 1)
    status.writeBigInt64BE(confirmed, 9)
    status.writeBigInt64BE(confirmed, 17)
    status.writeBigInt64BE(BigInt(Date.now() - EPOCH_MS) * 1000n, 25)
    status.writeUInt8(isReplyWanted ? 1 : 0, 33)
    this.#connection.sendCopyFromChunk(status)
  }

  pause(): void {
    this.#connection.stream.pause()
  }

  resume(): void {
    this.#connection.stream.resume()
  }

  /** Ends the connection without waiting for the database, which may be busy sending. */
  destroy(): void {
    this.#connection.stream.destroy()
  }

  async end(): Promise<void> {
    await this.#client.end()
  }
}

function streamMessage(chunk: Buffer): StreamMessage | null {
  const kind = String.fromCharCode(chunk.readUInt8(0))
  if (kind === 'w') return { kind: 'data', bytes: chunk.subarray(25) }
  if (kind === 'k')
    return { kind: 'keepalive', end: chunk.readBigInt64BE(1), isReplyWanted: chunk.readUInt8(17) === 1 }
  return null
}
