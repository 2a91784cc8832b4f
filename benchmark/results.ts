/**
 * Saves the figures of a run as JSON in `runs/`, and writes RESULTS.md from all runs.
 *
 * A run file contains all runs of one benchmark at one commit, so that RESULTS.md can show their spread.
 */
import { execFileSync } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'

/** A line of a table. */
export interface Figure {
  readonly table: string
  readonly label: string
  /** Value per column, such as `{ siftd: '1.9 s' }` or `{ native: '2.1 s', fallback: '5.8 s' }`. */
  readonly measured: Readonly<Record<string, string>>
  /** Fixed texts in further columns, such as `{ reference: '11.5 s', aim: '1.15 s' }`. */
  readonly beside?: Readonly<Record<string, string>>
}

export interface Run {
  readonly date: string
  readonly machine: string
  readonly figures: readonly Figure[]
}

export interface RunFile {
  readonly benchmark: string
  readonly commit: string
  readonly runs: readonly Run[]
}

const RUNS = 'benchmark/runs'
const RESULTS = 'benchmark/RESULTS.md'

/** Adds the figures of a run to the file of its commit and rewrites RESULTS.md. Run it in the checkout's root. */
export async function saveRun(benchmark: string, figures: readonly Figure[]): Promise<void> {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD']).toString().trim()
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`
  const path = join(RUNS, `${benchmark}-${commit}.json`)
  await mkdir(RUNS, { recursive: true })
  const before = await readFile(path, 'utf8').then(
    (text) => (JSON.parse(text) as RunFile).runs,
    () => [],
  )
  const runs = [...before, { date: new Date().toISOString(), machine, figures }]
  await writeFile(path, `${JSON.stringify({ benchmark, commit, runs } satisfies RunFile, null, 1)}\n`)
  await writeResults()
}

/**
 * Writes RESULTS.md from the newest run file of each benchmark. Tables with an aim or a figure of the reference, and
 * tables that compare the engines, are shown; of a table with aims, only the rows that have one. Other benchmarks are
 * listed with their file.
 */
export async function writeResults(): Promise<void> {
  const names = (await readdir(RUNS)).filter((name) => name.endsWith('.json')).sort()
  const newest = new Map<string, { readonly name: string; readonly file: RunFile }>()
  for (const name of names) {
    const file = JSON.parse(await readFile(join(RUNS, name), 'utf8')) as RunFile
    const other = newest.get(file.benchmark)
    if (other === undefined || lastDate(file) > lastDate(other.file))
      newest.set(file.benchmark, { name, file })
  }
  const all = [...newest.values()].sort((a, b) => compareTexts(a.file.benchmark, b.file.benchmark))
  const others = all
    .filter(({ file }) => !isShown(file))
    .map(({ name, file }) => `[${file.benchmark}](runs/${name})`)
  const head = [
    '# Results',
    '',
    'The newest figures, written by the benchmarks with `--save`. All figures are in `runs/`. `/` separates runs at one commit.',
    'The client runs on the same cores, and answers are not cached. Compare only runs of the same day: on some days the',
    `machine was twice as fast as on others.${others.length > 0 ? ` Without an aim: ${others.join(', ')}.` : ''}`,
  ]
  const parts = all.filter(({ file }) => isShown(file)).map(({ file }) => section(file))
  await writeFile(RESULTS, `${[...head, ...parts].join('\n')}\n`)
}

const isShown = ({ runs }: RunFile): boolean =>
  runs.some(({ figures }) =>
    figures.some(
      ({ beside = {}, measured }) =>
        Object.values(beside).some((text) => text !== '') || ('native' in measured && 'fallback' in measured),
    ),
  )

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const lastDate = ({ runs }: RunFile): string => runs.at(-1)?.date ?? ''

function section({ benchmark, commit, runs }: RunFile): string {
  const last = runs.at(-1)
  if (last === undefined) return ''
  const lines = ['', `## ${benchmark}: ${commit}, ${last.date.slice(0, 10)}, ${last.machine}`]
  for (const table of new Set(last.figures.map((figure) => figure.table))) {
    const inTable = last.figures.filter((figure) => figure.table === table)
    const compared = inTable.filter(({ beside = {} }) => Object.values(beside).some((text) => text !== ''))
    const figures = compared.length > 0 ? compared : inTable
    const inAll = runs.flatMap((run) => run.figures).filter((figure) => figure.table === table)
    const columns = [...new Set(inAll.flatMap(({ measured }) => Object.keys(measured)))]
    const fixed = [...new Set(figures.flatMap(({ beside = {} }) => Object.keys(beside)))]
    const rows = [[table, ...columns, ...fixed]]
    for (const { label, beside = {} } of figures) {
      const cells = columns.map((column) => {
        const values = runs.map(
          (run) =>
            run.figures.find((other) => other.table === table && other.label === label)?.measured[column],
        )
        return values.filter((value) => value !== undefined).join(' / ')
      })
      rows.push([label, ...cells, ...fixed.map((name) => beside[name] ?? '')])
    }
    lines.push('', ...aligned(rows))
  }
  return lines.join('\n')
}

/** Returns the lines of a Markdown table. The first row is the head. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const [head, ...others] = rows.map((row) =>
    line(row.map((cell, column) => cell.padEnd(widths[column] ?? 0))),
  )
  return [head ?? '', line(widths.map((width) => '-'.repeat(width))), ...others]
}
