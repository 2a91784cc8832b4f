/** Workflows run every trial. */
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { parse } from 'yaml'

interface Workflow {
  readonly jobs: {
    readonly trials: { readonly strategy: { readonly matrix: { readonly include: readonly Nightly[] } } }
  }
}

interface Nightly {
  /** Name and options. */
  readonly trial: string
  /** Minutes after which the job is ended. */
  readonly limit: number
}

const root = new URL('../../../', import.meta.url)
/** Has a job of its own. */
const container = 'container'
/** Installs programs for other trials. */
const stores = 'bucket-stores'

test('every trial runs at night, with a limit that leaves time to build the engine', async (t) => {
  const { stdout } = spawnSync(process.execPath, [
    fileURLToPath(new URL('dist/trials/main.js', root)),
    '--help',
  ])
  const names = [...stdout.toString().matchAll(/^ {2}([a-z-]+) {2,}\w/gm)].map(([, name]) => name!)
  t.true(names.includes('kill') && names.includes('words'), stdout.toString())
  const text = await readFile(new URL('.github/workflows/scheduled.yml', root), 'utf8')
  const nightly = (parse(text) as Workflow).jobs.trials.strategy.matrix.include
  const run = new Set(nightly.map(({ trial }) => trial.split(' ', 1)[0]))
  t.deepEqual(
    names.filter((name) => name !== container && name !== stores && !run.has(name)),
    [],
  )
  for (const name of [container, stores]) t.true(text.includes(`trials -- ${name}`), name)
  for (const { trial, limit } of nightly) {
    const minutes = Number(/--minutes (\d+)/.exec(trial)?.[1] ?? 0)
    t.true(limit >= minutes + 30, trial)
  }
})
