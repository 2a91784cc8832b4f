/** Up to where a client has seen what it wrote, as text that it gives to another server. */
import type { Reached } from './body.js'

/** A transaction of a data directory, and the epoch in which its number was given. */
export interface Position extends Reached {
  /** Number of the fence of its writer; null: a position of a former version, which does not tell. */
  readonly epoch: number | null
}

export const positionText = ({ outbox, last, epoch }: Position): string =>
  epoch === null ? `${outbox}:${last}` : `${outbox}:${last}:${epoch}`

/** null: the text is no position. */
export function readPosition(text: string): Position | null {
  const [, outbox, last, epoch] = /^([0-9a-f-]{36}):(\d{1,15})(?::(\d{1,15}))?$/.exec(text) ?? []
  if (outbox === undefined) return null
  return { outbox, last: Number(last), epoch: epoch === undefined ? null : Number(epoch) }
}
