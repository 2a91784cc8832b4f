/** Measures the growth of time, disk and search times with the number of documents, on parts of a corpus. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Corpus } from './corpus.js'
import { percentiles } from './measure.js'
import { trialProcess } from './process.js'
import type { GrowthFigures } from './report/figures.js'
import type { TrialResult } from './trial.js'

/** Shares of the corpus to measure. */
const SHARES = [1 / 8, 1 / 4, 1 / 2, 1]
/** Requests of each workload. The median is over all of them. */
const REQUESTS = 20

export async function growth(
  engine: string,
  corpus: Corpus,
  scratch: string,
): Promise<readonly GrowthFigures[]> {
  const lines = corpus.bytes.toString().trimEnd().split('\n')
  const figures: GrowthFigures[] = []
  for (const share of SHARES) {
    const documents = Math.round(lines.length * share)
    const path = join(scratch, `first-${documents}.ndjson`)
    await writeFile(path, `${lines.slice(0, documents).join('\n')}\n`)
    const { indexMs, diskBytes, times } = await trialProcess<TrialResult>('trial', [
      engine,
      path,
      String(REQUESTS),
    ])
    figures.push({ documents, indexMs, diskBytes, searchMs: percentiles(Object.values(times).flat()).p50 })
  }
  return figures
}
