import type { Value } from '../../ts/sqlite/driver.js'

/** Reads rows directly from the database. @param rest of the query, from `FROM` on */
export type ReadRows = <C extends string>(
  columns: readonly C[],
  rest: string,
) => readonly Readonly<Record<C, Value>>[]

const taskKinds = {
  status: 'status',
  type: 'type',
  index_uid: 'index',
  new_index_uid: 'renamed',
  era: 'era',
  end_era: 'endEra',
} as const
const batchKinds = {
  status: 'batchStatus',
  type: 'batchType',
  index_uid: 'batchIndex',
  new_index_uid: 'batchRenamed',
} as const

type Named = readonly [string, readonly number[]]

/** Returns the stored sets of uids, and the sets computed from the rows, each as sorted pairs of name and uids. */
export function storedSets(rows: ReadRows): {
  readonly stored: readonly Named[]
  readonly real: readonly Named[]
} {
  return { stored: sorted(decoded(rows)), real: sorted(computed(rows)) }
}

/** Computes the sets from the rows. */
function computed(rows: ReadRows): Map<string, Set<number>> {
  const sets = new Map<string, Set<number>>()
  const put = (name: string, uid: Value) => {
    const set = sets.get(name) ?? new Set()
    sets.set(name, set.add(Number(uid)))
  }
  const columns = [
    'uid',
    'batch_uid',
    'status',
    'type',
    'index_uid',
    'new_index_uid',
    'era',
    'end_era',
  ] as const
  const joined = 'FROM (SELECT t.*, b.era, b.end_era FROM tasks t LEFT JOIN batches b ON b.uid = t.batch_uid)'
  for (const row of rows(columns, joined)) {
    for (const [column, kind] of Object.entries(taskKinds)) {
      const value = row[column as keyof typeof taskKinds]
      if (value !== null) put(`${kind} ${value}`, row.uid)
    }
    if (row.batch_uid === null) continue
    for (const [column, kind] of Object.entries(batchKinds)) {
      const value = row[column as keyof typeof batchKinds]
      if (value !== null) put(`${kind} ${value}`, row.batch_uid)
    }
  }
  const batchColumns = ['uid', 'oldest_uid', 'newest_uid', 'ended'] as const
  for (const { uid, oldest_uid, newest_uid, ended } of rows(batchColumns, 'FROM batches')) {
    put('batch ', uid)
    put(`oldest ${Math.floor(Number(oldest_uid) / 2048)}`, uid)
    put(`newest ${Math.floor(Number(newest_uid) / 2048)}`, uid)
    if (ended !== null) put(`ended ${Math.floor(Number(ended) / 2048)}`, uid)
  }
  return sets
}

function decoded(rows: ReadRows): Map<string, Set<number>> {
  const sets = new Map<string, Set<number>>()
  const columns = ['kind', 'value', 'chunk', 'n', 'bytes'] as const
  for (const row of rows(columns, 'FROM (SELECT *, hex(members) AS bytes FROM sets)')) {
    const name = `${row.kind} ${row.value}`
    const set = sets.get(name) ?? new Set()
    const bytes = Buffer.from(String(row.bytes), 'hex')
    const offsets = bytes.length === 8192 ? bitsOf(bytes) : listOf(bytes)
    if (offsets.length !== row.n) throw new Error(`${name} counts ${row.n} instead of ${offsets.length}`)
    for (const offset of offsets) set.add(Number(row.chunk) * 65_536 + offset)
    sets.set(name, set)
  }
  return sets
}

const listOf = (bytes: Buffer) =>
  Array.from({ length: bytes.length / 2 }, (_, at) => bytes.readUInt16LE(at * 2))

const bitsOf = (bytes: Buffer) =>
  Array.from({ length: 65_536 }, (_, bit) => bit).filter((bit) => ((bytes[bit >> 3] ?? 0) >> (bit & 7)) & 1)

const sorted = (sets: Map<string, Set<number>>): readonly Named[] =>
  [...sets]
    .map(([name, uids]): Named => [name, [...uids].sort((a, b) => a - b)])
    .sort(([a], [b]) => (a < b ? -1 : 1))
