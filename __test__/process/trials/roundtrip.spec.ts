import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { corpusOf, madeDocuments, madeVectors, together } from '../../../trials/roundtrip/corpus.js'
import { roundtrip } from '../../../trials/roundtrip/trial.js'
import { chosenEngines, testedEngines } from '../../support/engines.js'
import { testNeeding } from '../../support/test-needing.js'

// Rule tested here: an instance restored from a dump or snapshot, or migrated, gives the same answers as its source,
// for every pair of engines. `npm run trials -- roundtrip` does the same with more data.

const samples = join(fileURLToPath(new URL('../../../../', import.meta.url)), 'samples')

const available = testedEngines.filter(({ needs }) => needs.every(({ missing }) => missing === null))

for (const { name, needs } of chosenEngines)
  testNeeding(needs)(
    `${name}: a dump, a snapshot and a migration copy everything to each engine`,
    async (t) => {
      // Starts seven processes in sequence.
      t.timeout(600_000)
      const reports = await roundtrip(t, {
        source: name,
        engines: available.map((engine) => engine.name),
        corpus: together(await corpusOf(samples, 40), madeDocuments(50), madeVectors(60)),
        amounts: { keys: 4, webhooks: 3, tasks: 40 },
        say: () => undefined,
      })
      t.is(reports.length, 1 + 2 * available.length)
      for (const { way, to, verdicts } of reports)
        for (const { part, equal, all, example } of verdicts)
          t.is(equal, all, `${way} to ${to}, ${part}: ${example}`)
    },
  )
