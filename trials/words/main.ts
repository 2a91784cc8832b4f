/**
 * npm run trials -- words [options]
 *
 * Cuts Japanese and Korean texts with MeCab and with both engines, by the same dictionaries, and lists differences.
 * Exits with 1 if there are any.
 */
import { existsSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { compared } from './trial.js'

const help = `npm run trials -- words [options]

Cuts Japanese and Korean texts with MeCab and with both engines, by the same dictionaries.

  --language CODE     ja or ko; may be repeated                               (default both)
  --texts FILE        texts of the one language, a line each                  (default random words)
  --count N           random texts                                            (default 5000)
  --seed S            of random texts                                         (default 1)
  --folder DIRECTORY  keeps Python packages for the next run                  (default target/words)

Python packages that cannot be installed skip the trial.

Examples
  npm run trials -- words --language ja --texts sentences.txt`

const { values } = parseArgs({
  options: {
    language: { type: 'string', multiple: true, default: ['ja', 'ko'] },
    texts: { type: 'string' },
    count: { type: 'string', default: '5000' },
    seed: { type: 'string', default: '1' },
    folder: { type: 'string', default: 'target/words' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
if (values.texts !== undefined && !existsSync(values.texts)) throw new Error(`${values.texts} does not exist`)
const given =
  values.texts === undefined ? null : readFileSync(values.texts, 'utf8').split('\n').filter(Boolean)
for (const language of values.language) {
  const { folder } = values
  const random = { count: Number(values.count), seed: Number(values.seed) }
  const report = compared({ language, given, random, folder })
  console.log(report.lines.join('\n'))
  if (!report.isEqual) process.exitCode = 1
}
