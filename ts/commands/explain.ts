import { type CommandOutput, defineCommand, examples, tableLines } from '../command/index.js'
import type { Explanation, JudgedClause, Reason } from '../searches/index.js'
import { objectOf } from './json-argument.js'
import { onData, withData } from './service.js'
import { pathOf } from './task-output.js'

export const explain = defineCommand('explain', (command, output) =>
  onData(command)
    .description(`Tells why a document is where it is among the hits of a search, or why it is none.

Shows its position and score, what each ranking rule said of it, which word of the query stands where in it and under
which spelling, and for a document that is no hit what keeps it out. What the other options do not name is set by --body,
a JSON object with members of the body of POST /indexes/INDEX/search. The exit code is 0 for a hit, 1 for none.`)
    .argument('<index>', 'The uid of the index')
    .argument('<id>', 'The key of the document')
    .argument('[query]', 'The words of the search')
    .option('--filter <filter>', 'The filter of the search')
    .option('--body <json>', 'Further members of the search', objectOf('--body'))
    .option('--json', 'Prints the whole answer, as one line')
    .addHelpText(
      'after',
      examples(`
        siftd explain films 593 "space odissey"
        siftd explain films 593 solaris --filter "year < 1960"
        siftd explain films 593 solaris --body '{"matchingStrategy": "all"}' --json | jq .reasons`),
    )
    .action(async (index, id, query, { filter, body, json, ...options }) => {
      const request = { q: query ?? null, id, ...(filter !== undefined && { filter }), ...body }
      const bytes = await withData(options, (peer) =>
        peer.bytes('POST', `${pathOf(index)}/explain`, { body: request, isRepeatable: true }),
      )
      const answer = JSON.parse(bytes.toString()) as Explanation
      if (!answer.isHit) output.finding()
      if (json) return output.line(bytes.toString())
      draw(answer, output)
    }),
)

function draw(answer: Explanation, output: CommandOutput): void {
  const { id, position, rankingScore, rankingScoreDetails, foundBy, reasons, query } = answer
  if (position !== null) output.line(`${id} is hit ${position + 1}, found by ${foundBy}`)
  else output.line(`${id} is no hit`)
  for (const reason of reasons) for (const line of reasonLines(reason)) output.line(`  ${line}`)
  if (rankingScore !== null) output.line(`score ${rankingScore}`)
  const rules = Object.entries(rankingScoreDetails ?? {}).map(([rule, said]) => [rule, saidText(said)])
  for (const line of tableLines(rules)) output.line(`  ${line}`)
  for (const word of query.ignoredWords) output.line(`${word}: a stop word, ignored`)
  for (const { text, phrase, parts, isInDocument, isOptional, spellings, spellingsTotal } of query.steps) {
    const here = spellings.filter(({ places }) => places.length > 0)
    if (parts !== null && here.length === 0) continue
    const state = isInDocument ? '' : isOptional ? ' (missing, which the strategy allows)' : ' (missing)'
    output.line(`${phrase === null ? text : `"${phrase.map((word) => word ?? '…').join(' ')}"`}${state}`)
    const rows = here.map((one) => [
      `  ${one.text}`,
      one.typos === 0 ? one.kind : `${one.kind}, ${one.typos} typo${one.typos === 1 ? '' : 's'}`,
      one.places.map(({ attribute, position: at }) => `${attribute}:${at}`).join(' '),
    ])
    for (const line of tableLines(rows)) output.line(line)
    if (spellingsTotal > here.length)
      output.line(`  and ${spellingsTotal - here.length} more in other documents`)
  }
}

const saidText = (said: unknown): string =>
  typeof said === 'object' && said !== null
    ? Object.entries(said)
        .filter(([name]) => name !== 'order')
        .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
        .join(', ')
    : JSON.stringify(said)

function reasonLines(reason: Reason): readonly string[] {
  switch (reason.kind) {
    case 'filter':
      return ['it does not pass the filter:', ...clauseLines(reason.clause, 1)]
    case 'excludedWords':
      return ['it holds what the query excludes with `-`']
    case 'missingWords':
      return [`it lacks ${reason.words.join(', ')}`]
    case 'rankingScoreThreshold':
      return [`its score ${reason.score} is below rankingScoreThreshold ${reason.threshold}`]
    case 'distinct':
      return [`${reason.id} is a better hit with the same ${reason.attribute}, which is distinct`]
    case 'searchCutoff':
      return ['the time of the search was over before it was ranked']
    case 'tooFarDown':
      return [`it comes after the first ${reason.hitsLookedAt} hits, which are all that were looked at`]
  }
}

const clauseLines = (
  { filter, operator, passes, clauses }: JudgedClause,
  depth: number,
): readonly string[] => [
  `${'  '.repeat(depth)}${passes ? 'passes' : 'fails '} ${operator === 'condition' ? filter : operator.toUpperCase()}`,
  ...clauses.flatMap((clause) => clauseLines(clause, depth + 1)),
]
