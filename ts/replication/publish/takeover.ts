import { SupersededError } from '../lead/connect.js'
import { NewerFormatError } from '../log/format.js'
import { FencedError } from '../object-store/index.js'

type Takeover = FencedError | NewerFormatError | SupersededError

/** Errors that show that another server has taken over. A record in a newer format also comes from another server. */
export const isTakeover = (error: unknown): error is Takeover =>
  error instanceof FencedError || error instanceof NewerFormatError || error instanceof SupersededError

/** Address of the server that has taken over; null: not known. */
export function addressIn(error: Takeover): string | null {
  if (error instanceof NewerFormatError) return null
  return error instanceof FencedError ? error.by.address : error.fence.address
}
