/** Up to where a client has seen what it wrote, as text that it gives to another server. */
import type { Reached } from './body.js'

/** A transaction of a data directory. */
export type Position = Reached

export const positionText = ({ outbox, last }: Position): string => `${outbox}:${last}`

/** null: the text is no position. */
export function readPosition(text: string): Position | null {
  const [, outbox, last] = /^([0-9a-f-]{36}):(\d{1,15})$/.exec(text) ?? []
  return outbox === undefined ? null : { outbox, last: Number(last) }
}
