import type { Explanation, JudgedClause, Reason } from '../../operations/index.js'
import { type CommandOutput, defineCommand, examples, tableLines } from '../command/index.js'
import { objectOf } from './json-argument.js'
import { onData, withData } from './service.js'
import { pathOf } from './task-output.js'

export const explain = defineCommand('explain', (command, output) =>
  onData(command)
    .description(`Explains the rank of a document in a search, or why it is not a hit.

Prints the position and score of the document, the details of each ranking rule, and the places and spellings of the query
words in the document. For a document that is not a hit it prints the reasons. --body sets further search parameters: a JSON
object with members of the body of POST /indexes/INDEX/search. The exit code is 0 for a hit, 1 otherwise.`)
    .argument('<index>', 'The uid of the index')
    .argument('<id>', 'The id of the document')
    .argument('[query]', 'The words of the search')
    .option('--filter <filter>', 'The filter of the search')
    .option('--body <json>', 'Further search parameters', objectOf('--body'))
    .option('--json', 'Prints the complete answer on one line')
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
  else output.line(`${id} is not a hit`)
  for (const reason of reasons) for (const line of reasonLines(reason)) output.line(`  ${line}`)
  if (rankingScore !== null) output.line(`score ${rankingScore}`)
  const rules = Object.entries(rankingScoreDetails ?? {}).map(([rule, said]) => [rule, saidText(said)])
  for (const line of tableLines(rules)) output.line(`  ${line}`)
  for (const word of query.ignoredWords) output.line(`${word}: a stop word, ignored`)
  for (const { text, phrase, parts, isInDocument, isOptional, spellings, spellingsTotal } of query.steps) {
    const here = spellings.filter(({ places }) => places.length > 0)
    if (parts !== null && here.length === 0) continue
    const state = isInDocument ? '' : isOptional ? ' (missing, but optional)' : ' (missing)'
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

/** Says in lines why a document is not a hit. */
export function reasonLines(reason: Reason): readonly string[] {
  switch (reason.kind) {
    case 'filter':
      return ['it does not pass the filter:', ...clauseLines(reason.clause, 1)]
    case 'excludedWords':
      return ['it contains words that the query excludes with `-`']
    case 'missingWords':
      return [`it does not contain ${reason.words.join(', ')}`]
    case 'rankingScoreThreshold':
      return [`its score ${reason.score} is below rankingScoreThreshold ${reason.threshold}`]
    case 'rule':
      return [`the dynamic search rule ${reason.uid} hides it`]
    case 'distinct':
      return [`${reason.id} is a better hit with the same ${reason.attribute}, which is distinct`]
    case 'searchCutoff':
      return ['the search was cut off before it was ranked']
    case 'tooFarDown':
      return [`it comes after the first ${reason.hitsLookedAt} hits; later hits were not examined`]
  }
}

const clauseLines = (
  { filter, operator, passes, clauses }: JudgedClause,
  depth: number,
): readonly string[] => [
  `${'  '.repeat(depth)}${passes ? 'passes' : 'fails '} ${operator === 'condition' ? filter : operator.toUpperCase()}`,
  ...clauses.flatMap((clause) => clauseLines(clause, depth + 1)),
]
