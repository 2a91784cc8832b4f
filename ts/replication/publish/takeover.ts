import { SupersededError } from '../lead/connect.js'
import { FencedError } from '../object-store/index.js'

/** Errors that show that another server has taken over. */
export const isTakeover = (error: unknown): error is FencedError | SupersededError =>
  error instanceof FencedError || error instanceof SupersededError

/** Address of the server that has taken over; null: not known. */
export const addressIn = (error: FencedError | SupersededError): string | null =>
  error instanceof FencedError ? error.by.address : error.fence.address
