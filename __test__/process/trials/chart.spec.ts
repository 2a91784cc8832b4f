/** The Helm chart: its values and versions always, its resources where `npm run trials -- chart` installed the tools. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import test from 'ava'
import { parse } from 'yaml'
import { chart, hasTools, root } from '../../../trials/chart/tools.js'
import { chartProblems } from '../../../trials/chart/trial.js'
import { variablesOf } from '../../../ts/launch/names.js'
import { rows } from '../../../ts/launch/table.js'
import { tempDir } from '../../backup/archives.js'
import { testNeeding } from '../../support/test-needing.js'

const textOf = (path: string): string => readFileSync(join(chart, path), 'utf8')
const values = parse(textOf('values.yaml'))

test('the default values of the chart match their schema, and wrong ones do not', (t) => {
  const isValid = new Ajv({ strict: false }).compile(JSON.parse(textOf('values.schema.json')))
  t.true(isValid(values), JSON.stringify(isValid.errors))
  const bucket = { ...values.bucket, url: 's3://backups/siftd' }
  t.true(isValid({ ...values, replicas: 3, bucket }))
  for (const wrong of [
    { replicas: 3 },
    { replica: 1 },
    { bucket: { ...bucket, url: 'backups' } },
    { bucket: { ...bucket, ack: 'none' } },
    { env: { LOG_LEVEL: 'WARN' } },
    { volume: { size: '20' } },
    { masterKeySecret: '' },
  ])
    t.false(isValid({ ...values, ...wrong }), JSON.stringify(wrong))
})

test('the chart has the version of the package, and sets existing options', (t) => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const { version: own, appVersion } = parse(textOf('Chart.yaml'))
  t.deepEqual([own, appVersion], [version, version])
  const known = new Set(rows.flatMap(([name, row]) => variablesOf(name, row)))
  const named = [...textOf('templates/statefulset.yaml').matchAll(/name: (SVC_\w+)/g)].map(
    ([, name]) => name!,
  )
  t.true(named.length > 8)
  t.deepEqual(
    named.filter((name) => !known.has(name) && !known.has(name.replace(/_FILE$/, ''))),
    [],
  )
})

const tools = {
  missing: hasTools() ? null : '`npm run trials -- chart` has not installed Helm',
  isDemanded: false,
}
testNeeding([tools])('the chart renders to valid resources', async (t) => {
  t.timeout(120_000)
  t.deepEqual(await chartProblems(await tempDir(t)), [])
})
