/** Reads figures of the reference from benchmark/runs. They were measured earlier, on another machine. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RunFile } from '../results.js'
import type { ReferenceTable } from './figures.js'

/** Returns the tables of the newest run file with figures of the reference, limited to rows with such a figure. */
export async function referenceTables(runs: string): Promise<readonly ReferenceTable[]> {
  const names = (await readdir(runs)).filter((name) => name.endsWith('.json'))
  const files = await Promise.all(
    names.map(async (name) => JSON.parse(await readFile(join(runs, name), 'utf8')) as RunFile),
  )
  return referenceTablesOf(files)
}

export function referenceTablesOf(files: readonly RunFile[]): readonly ReferenceTable[] {
  const tables = new Map<string, ReferenceTable & { readonly date: string }>()
  for (const { commit, runs } of files)
    for (const { date, machine, figures } of runs)
      for (const title of new Set(figures.map((figure) => figure.table))) {
        const rows = figures.flatMap(({ table, label, measured, beside }) => {
          const reference = beside?.reference ?? ''
          return table === title && reference !== ''
            ? [{ label, siftd: measured.siftd ?? '', reference }]
            : []
        })
        if (rows.length === 0 || date < (tables.get(title)?.date ?? '')) continue
        const origin = `siftd at commit ${commit}, ${date.slice(0, 10)}, ${machine}`
        tables.set(title, { title, origin, figures: rows, date })
      }
  return [...tables.values()].map(({ title, origin, figures }) => ({ title, origin, figures }))
}

export interface Amount {
  readonly value: number
  readonly unit: 'ms' | 'MB' | '/s'
  /** Original text. */
  readonly text: string
}

/** Parses the first amount in a result: the lower end of a range, the median of a latency. Null if there is none. */
export function leadingAmount(text: string): Amount | null {
  const match = /^(?:p50 )?([\d.,]+)(?:–[\d.,]+)? (ms|s|MB|\/s)(?![a-z])/.exec(text)
  if (match === null) return null
  const [shown, number = '', unit] = match
  const value = Number(number.replaceAll(',', ''))
  if (unit === 's') return { value: 1000 * value, unit: 'ms', text: shown }
  return { value, unit: unit as Amount['unit'], text: shown }
}
