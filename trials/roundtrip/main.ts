/**
 * npm run trials -- roundtrip [options]
 *
 * Copies an instance by dump, snapshot and migration between all pairs of engines, and compares every copy with it:
 * complete answers, documents, settings, tasks, batches, keys, webhooks. Exits with 1 if anything differs.
 */
import { parseArgs } from 'node:util'
import { corpusOf, madeDocuments, madeVectors, together } from './corpus.js'
import { type CopyReport, roundtrip } from './trial.js'

const help = `npm run trials -- roundtrip [options]

Copies an instance by dump, snapshot and migration between all pairs of engines, and compares every copy with it.

  --data DIRECTORY    NDJSON, or recorded searches with their documents       (default samples)
  --queries N         searches to compare                                     (default 300)
  --documents N       additional random documents                             (default 0)
  --vectors N         additional documents with a vector                      (default 0)
  --tasks N           additional small tasks                                  (default 100)
  --keys N            additional keys                                         (default 20)
  --webhooks N        webhooks, at most 20                                    (default 10)
  --engine NAME       engines of sources; may be repeated                     (default native and fallback)
  --target NAME       engines of copies; may be repeated                      (default native and fallback)

Examples
  npm run trials -- roundtrip --vectors 50000 --tasks 10000
  npm run trials -- roundtrip --engine native --target native --documents 1000000`

const engines = ['native', 'fallback']
const { values } = parseArgs({
  options: {
    data: { type: 'string', default: 'samples' },
    queries: { type: 'string', default: '300' },
    documents: { type: 'string', default: '0' },
    vectors: { type: 'string', default: '0' },
    tasks: { type: 'string', default: '100' },
    keys: { type: 'string', default: '20' },
    webhooks: { type: 'string', default: '10' },
    engine: { type: 'string', multiple: true, default: engines },
    target: { type: 'string', multiple: true, default: engines },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}

const corpora = [await corpusOf(values.data, Number(values.queries))]
if (Number(values.documents) > 0) corpora.push(madeDocuments(Number(values.documents)))
if (Number(values.vectors) > 0) corpora.push(madeVectors(Number(values.vectors)))

const cleanups: (() => unknown)[] = []
const reports: CopyReport[] = []
try {
  for (const source of values.engine)
    reports.push(
      ...(await roundtrip(
        { teardown: (clean) => void cleanups.push(clean) },
        {
          source,
          engines: values.target,
          corpus: together(...corpora),
          amounts: {
            keys: Number(values.keys),
            webhooks: Number(values.webhooks),
            tasks: Number(values.tasks),
          },
          say: (line) => console.log(line),
          copied: (report) => console.log(lineOf(report)),
        },
      )),
    )
} finally {
  for (const clean of cleanups) await clean()
}
const differing = reports.filter(({ verdicts }) => verdicts.some(({ equal, all }) => equal < all))
console.log(`${reports.length} copies, ${differing.length} differ`)
process.exitCode = differing.length > 0 ? 1 : 0

function lineOf({ way, from, to, writeMs, startMs, bytes, verdicts }: CopyReport): string {
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
  const size = bytes === null ? '' : `, ${(bytes / 1e6).toFixed(1)} MB`
  const start = startMs === 0 ? '' : `, start ${seconds(startMs)}`
  const counts = verdicts
    .filter(({ all }) => all > 0)
    .map(({ part, equal, all }) => `${part} ${equal}/${all}`)
    .join(', ')
  const examples = verdicts.flatMap(({ part, example }) =>
    example === null ? [] : [`\n    ${part}: ${example}`],
  )
  return `${way} ${from} → ${to}: ${seconds(writeMs)}${size}${start}; equal: ${counts}${examples.join('')}`
}
