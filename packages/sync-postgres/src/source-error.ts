import type { SourceError } from '../../../ts/transfer/sync/source.js'

/** A failure of PostgreSQL or a mistake in its settings, as one line for the user. */
export class PostgresError extends Error implements SourceError {
  override readonly name = 'SourceError'

  constructor(
    message: string,
    readonly isTransient: boolean,
    options?: ErrorOptions,
  ) {
    super(message.replaceAll(/\s+/g, ' '), options)
  }
}

/** SQLSTATE classes after which the same call may succeed: connection, resources, rollback, operator, system. */
const transientClasses = ['08', '40', '53', '57', '58']
/** The slot is in use, usually by the connection of a process that was killed; a lock is not available. */
const transientStates = ['55006', '55P03']

const sqlState = (error: unknown): string | null => {
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as object)
    ? code
    : null
}

/** True if the role lacks a right. */
export const isDenied = (error: unknown): boolean => sqlState((error as Error).cause ?? error) === '42501'

/** @param doing for the message, such as "creating the slot" */
export function postgresError(error: unknown, doing: string): PostgresError {
  if (error instanceof PostgresError) return error
  const state = sqlState(error)
  const { message } = error as Error
  const isTransient =
    state === null || transientClasses.includes(state.slice(0, 2)) || transientStates.includes(state)
  const reason = message || String((error as NodeJS.ErrnoException).code ?? error)
  return new PostgresError(
    `PostgreSQL: ${doing} failed: ${reason}${state === null ? '' : ` (${state})`}`,
    isTransient,
    {
      cause: error,
    },
  )
}
