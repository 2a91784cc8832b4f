/** Changes rows at a constant rate, in transactions of random size. */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { numbers } from '../../__test__/support/numbers.js'
import type { LagProbe } from './lag-probe.js'

export interface ChangeLoad {
  readonly database: pg.Client
  readonly probe: LagProbe
  /** Rows with the ids 1 to `rows` exist. */
  readonly rows: number
  /** Changed rows per second. */
  readonly rate: number
  readonly seconds: number
}

export interface Changed {
  readonly transactions: number
  readonly rows: number
  readonly seconds: number
}

/** Transactions whose last row is awaited in the index, as a share. */
const SAMPLED = 0.3

export async function changeRows({ database, probe, rows, rate, seconds }: ChangeLoad): Promise<Changed> {
  const random = numbers(5)
  const upTo = (limit: number) => Math.floor(random() * limit)
  const deleted = new Set<number>()
  let [newest, version, transactions, changed] = [rows, 1, 0, 0]
  const existing = (): number => {
    for (;;) {
      const id = 1 + upTo(newest)
      if (!deleted.has(id) && !probe.isAwaited(id)) return id
    }
  }
  /** Nine of ten transactions change at most ten rows, one of a hundred up to 300. */
  const size = (): number => {
    const kind = random()
    return kind < 0.9 ? 1 + upTo(10) : kind < 0.99 ? 10 + upTo(50) : 100 + upTo(200)
  }
  const began = performance.now()
  while (changed / rate < seconds) {
    const count = size()
    version++
    const statements = new Map<string, number[]>([
      ['insert', []],
      ['update', []],
      ['delete', []],
    ])
    const ids = new Set<number>()
    while (ids.size < count) ids.add(existing())
    let last = { id: 0, isDeleted: false }
    for (const id of ids) {
      const kind = random()
      if (kind < 0.2) statements.get('insert')!.push(id)
      else if (kind < 0.85) statements.get('update')!.push(id)
      else {
        statements.get('delete')!.push(id)
        deleted.add(id)
      }
      last = { id: kind < 0.2 ? newest + statements.get('insert')!.length : id, isDeleted: kind >= 0.85 }
    }
    const sql = ['begin']
    const [inserts, updates, deletes] = [...statements.values()]
    if (inserts!.length > 0) {
      // A new row resembles one that exists.
      const from = inserts!.map((id, at) => `(${newest + 1 + at}, ${id})`).join(', ')
      sql.push(`insert into products
        select n.id, p.name, p.description, p.category, p.price + 1, p.tags, p.attributes, now(), ${version}
        from (values ${from}) n (id, old) join products p on p.id = n.old`)
      newest += inserts!.length
    }
    if (updates!.length > 0)
      sql.push(`update products set version = ${version}, price = price + 0.5, changed_at = now(),
        description = description || ' ${version}' where id in (${updates!.join(', ')})`)
    if (deletes!.length > 0) sql.push(`delete from products where id in (${deletes!.join(', ')})`)
    await database.query(sql.join('; '))
    const committedMs = performance.now()
    await database.query('commit')
    if (random() < SAMPLED) probe.add(last.id, { version: last.isDeleted ? null : version, committedMs })
    transactions++
    changed += count
    await sleep(Math.max(0, began + (changed / rate) * 1000 - performance.now()))
  }
  return { transactions, rows: changed, seconds: (performance.now() - began) / 1000 }
}
