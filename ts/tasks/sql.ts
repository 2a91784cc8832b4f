import type { Connection, Row, Statement, Value } from './driver.js'
import { number } from './rows.js'

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

  run(sql: string, parameters: readonly Value[] = []): void {
    this.#statement(sql).run(parameters)
  }

  /** The number in that column of the first row. */
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
