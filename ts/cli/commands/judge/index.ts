/** `siftd judge`: measures and tunes the relevance of searches with judged queries. */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { ApiError } from '../../../errors/index.js'
import {
  changesOf,
  type JudgedQuery,
  type Judgment,
  queriesOf,
  readJudgments,
  withoutIds,
} from '../../../judge/index.js'
import { LaunchError } from '../../../launch/index.js'
import { counted } from '../../../parse/index.js'
import {
  type CommandOutput,
  collected,
  countFor,
  defineCommand,
  examples,
  jsonOption,
} from '../../command/index.js'
import { type JsonObject, objectIn, objectOf } from '../json-argument.js'
import { type DataOptions, onData, withData } from '../service.js'
import { settingsAfter } from '../settings-after.js'
import { pathOf } from '../task-output.js'
import { copiedSettings, withCopy } from './copy.js'
import { interruptible } from './interruption.js'
import { FOLDS_DEFAULT, IDS_SHOWN, SEED_DEFAULT, SHOWN_DEFAULT, TRIES_DEFAULT } from './limits.js'
import { explainedQueries, printReport, type Result } from './report.js'
import { checkBody, missingIds, primaryKeyOf, rankAll, type Side } from './side.js'
import { tuned } from './tuned.js'

const bodyOf = objectOf('--body')

export const judge = defineCommand('judge', (command, output) =>
  onData(command)
    .description(`Measures how well searches rank the documents of judged queries, compares two settings, finds better ones.

FILE has one judgment per line: CSV with the columns query, id and grade, or NDJSON with these members (- is the standard
input). Grades are 0 for a document that is not relevant, higher for better ones, usually up to 3.

Prints nDCG@10 (1: the best documents come first in their best order), recall@50 (share of the relevant documents among 50
hits), and the worst queries with the document that costs them most. With two settings or two --body it prints the queries
that got worse and better.

--settings and --tune work on a temporary copy of the index on this machine. They read the documents, and never change the
index. The copy is removed at the end, also after Ctrl+C. It has vectors of user-provided embedders only.

--tune searches ranking rules, matching strategy and attribute weights. It prints the settings that it found to the standard
output, and their figures on queries that it did not see to the standard error.

The exit code is 0; 1 if the second settings are worse than the first, --strict finds unknown ids, --tune finds nothing
better or the server refuses; 2 for wrong usage or a wrong FILE.`)
    .argument('<file>', 'The judgments')
    .requiredOption('--index <uid>', 'The uid of the index')
    .option(
      '--settings <file>',
      'Settings to judge, merged into those of the index; twice: compares two, once: compares with the index',
      collected,
    )
    .option(
      '--body <json>',
      'Further search parameters; twice: compares two',
      (text: string, before: readonly JsonObject[] | undefined): readonly JsonObject[] => [
        ...(before ?? []),
        bodyOf(text),
      ],
    )
    .option('--strict', 'Stops if a judged document does not exist (default: ignores its judgments)')
    .option(
      '--show <n>',
      `Prints at most n queries of each kind (default: ${SHOWN_DEFAULT})`,
      countFor('--show'),
    )
    .option('--tune', 'Searches for better settings')
    .option(
      '--folds <n>',
      `With --tune: parts of the queries, each left out once (default: ${FOLDS_DEFAULT})`,
      countFor('--folds'),
    )
    .option(
      '--tries <n>',
      `With --tune: most settings to measure (default: ${TRIES_DEFAULT})`,
      countFor('--tries'),
    )
    .option(
      '--seed <n>',
      `With --tune: chooses the parts of the queries (default: ${SEED_DEFAULT})`,
      countFor('--seed'),
    )
    .addOption(jsonOption)
    .addHelpText(
      'after',
      examples(`
        siftd judge judgments.csv --index films
        siftd judge judgments.csv --index films --settings docs/relevance-profile.json
        siftd judge judgments.csv --index films --settings old.json --settings new.json --json
        siftd judge judgments.csv --index films --body '{"matchingStrategy": "all"}' --body '{"matchingStrategy": "any"}'
        siftd judge judgments.csv --index films --tune > better.json && siftd settings apply films better.json`),
    )
    .action((file, options) => judged(file, options, output)),
)

export interface JudgeOptions extends DataOptions {
  readonly index: string
  readonly settings?: readonly string[] | undefined
  readonly body?: readonly JsonObject[] | undefined
  readonly strict?: boolean | undefined
  readonly show?: number | undefined
  readonly tune?: boolean | undefined
  readonly folds?: number | undefined
  readonly tries?: number | undefined
  readonly seed?: number | undefined
  readonly json?: boolean | undefined
}

async function judged(path: string, options: JudgeOptions, output: CommandOutput): Promise<void> {
  const { settings: files = [], body: bodies = [], tune = false, index } = options
  checkUsage(options)
  // Files are read first, so that their mistakes are reported before a server is called.
  const judgments = readJudgments(textOf(path), path === '-' ? 'the standard input' : path)
  const sent = files.map((file) => ({ name: basename(file), settings: objectIn(file) }))
  await interruptible((signal) =>
    withData(
      options,
      async (peer) => {
        const primaryKey = await primaryKeyOf(peer, index)
        const queries = await knownQueries({ peer, index, primaryKey }, judgments, options, output)
        const live: Side = { peer, index, primaryKey, body: bodies[0] ?? {} }
        if (files.length === 0 && !tune) return judgeLive(live, queries, options, output)
        const settings = await peer.json<JsonObject>('GET', `${pathOf(index)}/settings`)
        const wanted = sent.map(({ name, settings: patch }) => ({
          name,
          ...mergedSettings(settings, patch, name),
        }))
        const original = { peer, index, primaryKey, settings: settingsAfter(settings, {}).after }
        await withCopy(original, { output, signal }, async (copy) => {
          const sides = [0, 1].map(
            (at): Side => ({ ...copy, primaryKey, body: bodies[at] ?? bodies[0] ?? {} }),
          )
          if (tune) return tuned({ copy, side: sides[0]!, original, queries }, options, output)
          const settingsOf = [
            ...(wanted.length === 1 ? [{ name: index, after: original.settings }] : []),
            ...wanted,
          ]
          const results: Result[] = []
          for (const [at, side] of sides.entries()) {
            const { name, after } = settingsOf[at]!
            await copy.change(copiedSettings(after))
            results.push({ name, side, ranked: await rankedWith(side, queries, name, output) })
          }
          await report(results, queries, options, output)
        })
      },
      { signal },
    ),
  )
}

async function judgeLive(
  live: Side,
  queries: readonly JudgedQuery[],
  options: JudgeOptions,
  output: CommandOutput,
): Promise<void> {
  const bodies = options.body ?? [{}]
  const results: Result[] = []
  for (const body of bodies) {
    const [side, name] = [{ ...live, body }, bodies.length === 1 ? live.index : JSON.stringify(body)]
    results.push({ name, side, ranked: await rankedWith(side, queries, name, output) })
  }
  await report(results, queries, options, output)
}

const rankedWith = (side: Side, queries: readonly JudgedQuery[], name: string, output: CommandOutput) =>
  rankAll(side, queries, (finished) => output.progress(`judging ${name}`, finished, queries.length))

async function report(
  results: readonly Result[],
  queries: readonly JudgedQuery[],
  { show = SHOWN_DEFAULT, json = false }: JudgeOptions,
  output: CommandOutput,
): Promise<void> {
  const explained = await explainedQueries(results, queries, show)
  printReport({ results, queries, explained, show, asJson: json }, output)
  const [first, second] = results.map(({ ranked }) => ranked)
  if (second === undefined) return
  const { worse, better } = changesOf(first!, second)
  const gain = [...worse, ...better].reduce((sum, { before, after }) => sum + after - before, 0)
  if (gain < 0) output.finding()
}

/**
 * Removes judged documents that do not exist, and queries without any other relevant one.
 * @throws LaunchError with --strict if there are such documents, and if no query is left
 */
async function knownQueries(
  of: Omit<Side, 'body'>,
  judgments: readonly Judgment[],
  { strict = false }: JudgeOptions,
  output: CommandOutput,
): Promise<readonly JudgedQuery[]> {
  const missing = await missingIds(
    of,
    judgments.map(({ id }) => id),
  )
  if (missing.size > 0) {
    const named = new Map(
      judgments.filter(({ id }) => missing.has(id)).map(({ id, line }) => [id, `\`${id}\` (line ${line})`]),
    )
    const shown = [...named.values()].slice(0, IDS_SHOWN).join(', ')
    const more = named.size > IDS_SHOWN ? ` and ${named.size - IDS_SHOWN} more` : ''
    const text = `${counted(missing.size, 'judged document')} not in \`${of.index}\`: ${shown}${more}`
    if (strict) throw new LaunchError(`judge: ${text}`, 1)
    output.note(`${text}; their judgments are ignored`)
  }
  const left = withoutIds(judgments, missing)
  const queries = queriesOf(left)
  const all = new Set(judgments.map(({ query }) => query)).size
  if (queries.length < all)
    output.note(`${counted(all - queries.length, 'query', 'queries')} without a relevant document ignored`)
  if (queries.length === 0) throw new LaunchError('judge: no query with a relevant document is left', 1)
  output.note(`${counted(queries.length, 'query', 'queries')}, ${counted(left.length, 'judgment')}`)
  return queries
}

function checkUsage({ settings = [], body = [], tune, folds, tries, seed }: JudgeOptions): void {
  const fail = (message: string): never => {
    throw new LaunchError(`judge: ${message}`, 2)
  }
  if (settings.length > 2) fail('expected --settings at most twice')
  if (body.length > 2) fail('expected --body at most twice')
  for (const one of body) checkBody(one)
  if (tune && (settings.length > 0 || body.length > 1)) fail('--tune excludes --settings and a second --body')
  const given = Object.entries({ folds, tries, seed }).find(([, value]) => value !== undefined)
  if (!tune && given !== undefined) fail(`--${given[0]} needs --tune`)
  if (folds !== undefined && folds < 2) fail(`--folds: invalid value \`${folds}\`, expected at least 2`)
  if (tries === 0) fail('--tries: invalid value `0`, expected at least 1')
}

/** @throws LaunchError with exit code 2 if the settings of a file are not accepted */
function mergedSettings(found: JsonObject, sent: JsonObject, name: string): { readonly after: JsonObject } {
  try {
    return settingsAfter(found, sent)
  } catch (error) {
    if (error instanceof ApiError) throw new LaunchError(`--settings: ${name}: ${error.message}`, 2)
    throw error
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path === '-' ? process.stdin.fd : path, 'utf8')
  } catch (error) {
    throw new LaunchError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`, 2)
  }
}
