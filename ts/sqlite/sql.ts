import type { Connection, Row, Statement, Value } from './driver.js'
import { number, text } from './values.js'

/** Statements of one connection, each prepared once. */
export class Sql {
  readonly #connection: Connection
  readonly #statements = new Map<string, Statement>()

  constructor(connection: Connection) {
    this.#connection = connection
  }

  all(sql: string, parameters: readonly Value[] = []): readonly Row[] {
    return this.#statement(sql).all(parameters)
  }

  /**
   * Returns many rows as one JSON text for `unpacked`, unordered. SQLite encodes a row faster than drivers return one.
   * @param columns that `sql` selects: texts and numbers
   */
  packed(columns: string, sql: string, parameters: readonly Value[]): string {
    return this.#json(`json_array(${columns})`, sql, parameters)
  }

  /** Returns many uids, unordered. @param sql selects them as `uid` */
  uids(sql: string, parameters: readonly Value[]): readonly number[] {
    return (JSON.parse(this.#json('uid', sql, parameters)) as Value[]).map(number)
  }

  #json(value: string, sql: string, parameters: readonly Value[]): string {
    const [row] = this.all(`SELECT json_group_array(${value}) AS found FROM (${sql})`, parameters)
    return text(row?.found)
  }

  run(sql: string, parameters: readonly Value[] = []): void {
    this.#statement(sql).run(parameters)
  }

  /** Returns the number in that column of the first row. */
  number(sql: string, column: string, parameters: readonly Value[] = []): number {
    return number(this.all(sql, parameters)[0]?.[column])
  }

  #statement(sql: string): Statement {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#connection.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}
