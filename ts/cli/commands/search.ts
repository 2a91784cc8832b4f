import { counted } from '../../parse/index.js'
import { countFor, defineCommand, examples, listOf } from '../command/index.js'
import { jsonOf, objectOf } from './json-argument.js'
import { onData, withData } from './service.js'
import { pathOf } from './task-output.js'

interface Answer {
  readonly hits: readonly unknown[]
  readonly processingTimeMs: number
  readonly estimatedTotalHits?: number
  readonly totalHits?: number
  readonly facetDistribution?: Readonly<Record<string, Readonly<Record<string, number>>>>
}

export const search = defineCommand('search', (command, output) =>
  onData(command)
    .description(`Searches an index and prints the hits, one JSON object per line.

--body sets further parameters: a JSON object with members of the body of POST /indexes/INDEX/search. The exit code is 0
even if nothing is found.`)
    .argument('<index>', 'The uid of the index')
    .argument('[query]', 'The words to search for (default: all documents)')
    .option('--filter <filter>', 'A filter such as "year > 1970 AND genre = drama"')
    .option('--sort <list>', 'Sort order, such as year:desc,title:asc', listOf)
    .option('--facets <list>', 'Counts the values of these attributes, printed to the standard error', listOf)
    .option('--fields <list>', 'Prints only these attributes', listOf)
    .option('--limit <n>', 'Maximum number of hits (default: 20)', countFor('--limit'))
    .option('--offset <n>', 'Hits to skip', countFor('--offset'))
    .option('--body <json>', 'Further search parameters', objectOf('--body'))
    .option('--json', 'Prints the complete answer on one line')
    .addHelpText(
      'after',
      examples(`
        siftd search films "space odissey"
        siftd search films alien --filter "year < 1990" --sort year:asc --fields title,year
        siftd search films --facets genre --limit 0
        siftd search films solaris --body '{"showRankingScore": true}' --json | jq .hits
        siftd search films solaris --db-path ./data.ms       while no server runs`),
    )
    .action(async (index, query, options) => {
      const { filter, sort, facets, fields, limit, offset, body, json } = options
      const request = {
        q: query ?? null,
        ...(filter !== undefined && { filter }),
        ...(sort !== undefined && { sort }),
        ...(facets !== undefined && { facets }),
        ...(fields !== undefined && { attributesToRetrieve: fields }),
        ...(limit !== undefined && { limit }),
        ...(offset !== undefined && { offset }),
        ...body,
      }
      const bytes = await withData(options, (peer) =>
        peer.bytes('POST', `${pathOf(index)}/search`, { body: request, isRepeatable: true }),
      )
      if (json) return output.line(bytes.toString())
      const { lines, answer } = jsonOf<Answer>(bytes, 'hits')
      for (const line of lines) output.line(line)
      for (const [name, counts] of Object.entries(answer.facetDistribution ?? {}))
        for (const [value, count] of Object.entries(counts)) output.note(`${name}: ${value} ${count}`)
      const total = answer.totalHits ?? answer.estimatedTotalHits
      const about = answer.totalHits === undefined ? 'about ' : ''
      output.note(
        `${lines.length} of ${about}${counted(Number(total), 'hit')}, ${answer.processingTimeMs} ms`,
      )
    }),
)
