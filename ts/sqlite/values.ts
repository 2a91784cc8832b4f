/** Typed reads of values that SQLite returns. */
import type { Row, Value } from './driver.js'

/** Parses a result of `Sql.packed`. @param columns that were selected */
export function unpacked(columns: string, packed: string): readonly Row[] {
  const names = columns.split(', ')
  return (JSON.parse(packed) as Value[][]).map((values) => {
    const row: Record<string, Value> = {}
    for (const [at, name] of names.entries()) row[name] = values[at] ?? null
    return row
  })
}

export function number(value: Value | undefined): number {
  if (typeof value === 'number') return value
  throw new TypeError(`expected a number of the task store, found ${typeof value}`)
}

export function text(value: Value | undefined): string {
  if (typeof value === 'string') return value
  throw new TypeError(`expected text of the task store, found ${typeof value}`)
}

export function bytes(value: Value | undefined): Uint8Array {
  if (value instanceof Uint8Array) return value
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  throw new TypeError(`expected bytes of the task store, found ${typeof value}`)
}

export const orNull = <T>(read: (value: Value | undefined) => T, value: Value | undefined): T | null =>
  value === null || value === undefined ? null : read(value)
