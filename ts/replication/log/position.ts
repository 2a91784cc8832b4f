/** Position tokens: a client passes the position of its last write to another server, which waits until it has it. */
import type { Reached } from './body.js'

/** A transaction of a data directory, and the epoch in which it was numbered. */
export interface Position extends Reached {
  /** Number of the fence of the writer; null: a token of a former version, which lacks it. */
  readonly epoch: number | null
}

export const positionText = ({ outbox, last, epoch }: Position): string =>
  epoch === null ? `${outbox}:${last}` : `${outbox}:${last}:${epoch}`

/** Returns null if the text is not a position. */
export function readPosition(text: string): Position | null {
  const [, outbox, last, epoch] = /^([0-9a-f-]{36}):(\d{1,15})(?::(\d{1,15}))?$/.exec(text) ?? []
  if (outbox === undefined) return null
  return { outbox, last: Number(last), epoch: epoch === undefined ? null : Number(epoch) }
}
