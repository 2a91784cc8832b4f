/** `--tune`: searches settings on a copy and prints them. */
import {
  ATTRIBUTES_MAX,
  type Candidate,
  changedMembers,
  type JudgedQuery,
  NDCG_DEPTH,
  tune,
} from '../../../judge/index.js'
import { LaunchError } from '../../../launch/index.js'
import { counted } from '../../../parse/index.js'
import { defaultIndexSettings, type IndexSettings } from '../../../settings/index.js'
import { isObject, type Peer } from '../../../transfer/index.js'
import { type CommandOutput, tableLines } from '../../command/index.js'
import type { JsonObject } from '../json-argument.js'
import { pathOf } from '../task-output.js'
import type { Copy, Original } from './copy.js'
import { FOLDS_DEFAULT, SEED_DEFAULT, TRIES_DEFAULT } from './limits.js'
import { rankAll, type Side } from './side.js'

interface Tuning {
  readonly copy: Copy
  /** The copy, with the search parameters. */
  readonly side: Side
  readonly original: Original
  readonly queries: readonly JudgedQuery[]
}

interface TuningOptions {
  readonly folds?: number | undefined
  readonly tries?: number | undefined
  readonly seed?: number | undefined
  readonly json?: boolean | undefined
}

export async function tuned(
  { copy, side, original, queries }: Tuning,
  { folds = FOLDS_DEFAULT, tries = TRIES_DEFAULT, seed = SEED_DEFAULT, json }: TuningOptions,
  output: CommandOutput,
): Promise<void> {
  if (queries.length < folds)
    throw new LaunchError(
      `judge: ${counted(queries.length, 'query', 'queries')} cannot be divided into ${folds} parts; judge more queries or set --folds`,
      2,
    )
  const now = candidateOf(original.settings)
  const found = await tune({
    now,
    attributes: await tunedAttributes(original),
    queries: queries.length,
    folds,
    seed,
    triesMax: tries,
    measure: async (candidate) => {
      await copy.change({ ...candidate })
      return (await rankAll(side, queries)).map(({ ndcg }) => ndcg)
    },
    progress: (tried) => output.progress('tuning', tried, tries, counted(tried, 'setting')),
  })
  const settings = changedMembers(now, found.found)
  const { seen, unseen, tried } = found
  const isBetter = unseen.after > unseen.before && Object.keys(settings).length > 0
  if (!isBetter) output.finding()
  if (json) {
    output.line(JSON.stringify({ settings, seen, unseen, tried, isBetter }))
    return
  }
  const rows = [
    [`mean nDCG@${NDCG_DEPTH}`, 'now', 'found'],
    ['queries it did not see', ...[unseen.before, unseen.after].map((value) => value.toFixed(4))],
    ['all queries', ...[seen.before, seen.after].map((value) => value.toFixed(4))],
  ]
  for (const line of tableLines(rows)) output.note(line)
  output.note(
    isBetter
      ? `${tried} settings tried; the ones it found:`
      : `${tried} settings tried; none is better on queries that the search did not see, so keep the present ones`,
  )
  if (isBetter) output.line(JSON.stringify(settings, null, 2))
}

/** Answers leave out settings with their default value. */
const candidateOf = (settings: JsonObject): Candidate => {
  const { rankingRules, matchingStrategy, attributeWeights, typoTolerance } = {
    ...defaultIndexSettings,
    ...(settings as Partial<IndexSettings>),
  }
  return {
    rankingRules,
    matchingStrategy: matchingStrategy ?? 'last',
    attributeWeights: attributeWeights ?? {},
    typoTolerance,
  }
}

/** The searchable attributes, or the most frequent fields if all are searchable. */
async function tunedAttributes({ peer, index, primaryKey, settings }: Original): Promise<readonly string[]> {
  const searchable = settings.searchableAttributes as readonly string[]
  if (!searchable.includes('*')) return searchable.slice(0, ATTRIBUTES_MAX)
  const counts = await fieldCounts(peer, index)
  return Object.entries(counts)
    .filter(([name]) => name !== primaryKey)
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([name]) => name)
    .slice(0, ATTRIBUTES_MAX)
}

const fieldCounts = async (peer: Peer, index: string): Promise<Readonly<Record<string, number>>> =>
  (
    await peer.json<{ fieldDistribution: Readonly<Record<string, number>> }>(
      'GET',
      `${pathOf(index)}/stats`,
      {
        shape: { fieldDistribution: isObject },
      },
    )
  ).fieldDistribution
