/** Connections for queries. */
import pg from 'pg'
import type { PostgresSettings } from './settings.js'
import { postgresError } from './source-error.js'

export type Row = Readonly<Record<string, unknown>>

export interface ResultField {
  readonly name: string
  readonly dataTypeID: number
  readonly dataTypeModifier: number
}

/** Runs queries, each on a connection of a small pool. Values of all types are returned as text. */
export interface Database {
  /** @throws PostgresError @param doing for the message */
  rows<T = Row>(doing: string, sql: string, values?: readonly unknown[]): Promise<T[]>
  /** Returns rows as arrays of texts, for large results. */
  lists(doing: string, sql: string, values?: readonly unknown[]): Promise<(string | null)[][]>
  /** Returns the columns of a query without running it. */
  fields(doing: string, sql: string, values: readonly unknown[]): Promise<readonly ResultField[]>
  close(): Promise<void>
}

/** Connections: one each for reading documents, copying and watching. */
const CONNECTIONS_MAX = 3

const asText = { getTypeParser: () => (text: string | Buffer) => String(text) }

export function openDatabase({ client }: PostgresSettings): Database {
  const pool = new pg.Pool({ ...client, max: CONNECTIONS_MAX, idleTimeoutMillis: 60_000 })
  // A connection that breaks while idle is replaced at the next query.
  pool.on('error', () => undefined)
  const run = async <R>(doing: string, query: pg.QueryConfig & { rowMode?: 'array' }): Promise<R> => {
    try {
      return (await pool.query({ ...query, types: asText } as pg.QueryConfig)) as R
    } catch (error) {
      throw postgresError(error, doing)
    }
  }
  return {
    async rows<T>(doing: string, text: string, values: readonly unknown[] = []) {
      return (await run<{ rows: T[] }>(doing, { text, values: [...values] })).rows
    },
    async lists(doing, text, values = []) {
      const query = { text, values: [...values], rowMode: 'array' as const }
      return (await run<{ rows: (string | null)[][] }>(doing, query)).rows
    },
    async fields(doing, text, values) {
      const result = await run<{ fields: ResultField[] }>(doing, { text, values: [...values] })
      return result.fields
    },
    close: () => pool.end(),
  }
}
