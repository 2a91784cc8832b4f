import { open } from 'node:fs/promises'
import { LaunchError } from '../../launch/index.js'
import { counted } from '../../parse/index.js'
import { fetchDocuments, PageReader, type Peer } from '../../transfer/index.js'
import {
  type Arguments,
  type CommandOutput,
  countFor,
  defineCommand,
  examples,
  jsonOption,
  listOf,
  Option,
} from '../command/index.js'
import { onData, onServer, withData, withServer } from './service.js'
import { enqueued, pathOf, reportTask } from './task-output.js'

const filterOption = new Option(
  '--filter <filter>',
  'Only documents that match a filter such as "year > 1970"',
)
const fieldsOption = new Option('--fields <list>', 'Prints only these attributes').argParser(listOf)
const vectorsOption = new Option('--vectors', 'Prints vectors too')

export const documents = defineCommand('documents', (command, output) => {
  command
    .description('Reads, exports and deletes documents. To add documents, see siftd import --help.')
    .addHelpText(
      'after',
      examples(`
        siftd documents get films 1 2
        siftd documents export films --output films.ndjson
        siftd documents delete films --filter "year < 1950"`),
    )
  addGet(command, output)
  addExport(command, output)
  addDelete(command, output)
})

function addGet(command: Arguments, output: CommandOutput): void {
  onData(command.command('get'))
    .summary('prints documents')
    .description(`Prints documents, one JSON object per line.

The exit code is 1 if a document is missing.`)
    .argument('<index>', 'The uid of the index')
    .argument('[ids...]', 'Ids of the documents (default: the first documents)')
    .addOption(filterOption)
    .addOption(fieldsOption)
    .addOption(vectorsOption)
    .option('--limit <n>', 'Maximum number of documents (default: 20)', countFor('--limit'))
    .option('--offset <n>', 'Documents to skip', countFor('--offset'))
    .addHelpText(
      'after',
      examples(`
        siftd documents get films 11 603
        siftd documents get films --filter "genre = drama" --fields id,title --limit 5`),
    )
    .action(async (index, ids, options) => {
      const { limit = Math.max(20, ids.length), offset = 0 } = options
      const body = { ...wantedOf(options), ...(ids.length > 0 && { ids }), limit, offset }
      const { lines } = await withData(options, (peer) => fetchDocuments(peer, index, body))
      for (const line of lines) output.line(line)
      const missing = new Set(ids).size - lines.length
      if (ids.length === 0 || missing <= 0 || options.filter !== undefined || offset > 0) return
      output.note(`${missing} of these ids do not exist`)
      output.finding()
    })
}

function addExport(command: Arguments, output: CommandOutput): void {
  onData(command.command('export'))
    .summary('writes all documents of an index as NDJSON')
    .description(`Writes all documents of an index as NDJSON, one JSON object per line, in the order of the index.

Numbers are written exactly as they were added. siftd import reads the file.`)
    .argument('<index>', 'The uid of the index')
    .option('-o, --output <file>', 'Writes to this file (default: the standard output)')
    .addOption(filterOption)
    .addOption(fieldsOption)
    .addOption(vectorsOption)
    .addHelpText(
      'after',
      examples(`
        siftd documents export films --output films.ndjson
        siftd documents export films | gzip > films.ndjson.gz
        siftd documents export films --db-path ./data.ms > films.ndjson       while no server runs`),
    )
    .action(async (index, options) => {
      const sink = options.output === undefined ? standardOutput(output) : await fileSink(options.output)
      const count = await withData(options, (peer) => exported(peer, index, wantedOf(options), sink, output))
      await sink.end()
      output.note(counted(count, 'document'))
    })
}

function addDelete(command: Arguments, output: CommandOutput): void {
  onServer(command.command('delete'))
    .summary('deletes documents')
    .description('Deletes documents by their ids, by a filter, or all of them.')
    .argument('<index>', 'The uid of the index')
    .argument('[ids...]', 'Ids of the documents')
    .addOption(filterOption)
    .option('--all', 'All documents of the index')
    .option('--no-wait', 'Does not wait until they are deleted')
    .addOption(jsonOption)
    .addHelpText(
      'after',
      examples(`
        siftd documents delete films 11 603
        siftd documents delete films --filter "year < 1950"
        siftd documents delete films --all`),
    )
    .action(async (index, ids, options) => {
      const { filter, all } = options
      const given = [ids.length > 0, filter !== undefined, all === true].filter((is) => is).length
      if (given !== 1)
        throw new LaunchError('documents delete: expected ids, --filter or --all, and only one of them', 2)
      await withServer(options, async (peer) => {
        const path = `${pathOf(index)}/documents`
        const taskUid = all
          ? await enqueued(peer, 'DELETE', path)
          : filter === undefined
            ? await enqueued(peer, 'POST', `${path}/delete-batch`, ids)
            : await enqueued(peer, 'POST', `${path}/delete`, { filter })
        await reportTask(peer, taskUid, options, output)
      })
    })
}

interface Wanted {
  readonly filter?: string | undefined
  readonly fields?: readonly string[] | undefined
  readonly vectors?: true | undefined
}

const wantedOf = ({ filter, fields, vectors }: Wanted): object => ({
  ...(filter !== undefined && { filter }),
  ...(fields !== undefined && { fields }),
  ...(vectors && { retrieveVectors: true }),
})

/** Receives the parts of an export. */
interface Sink {
  write(part: string): Promise<void>
  end(): Promise<void>
}

async function exported(
  peer: Peer,
  index: string,
  wanted: object,
  sink: Sink,
  output: CommandOutput,
): Promise<number> {
  const reader = new PageReader(peer, index, wanted)
  for (let count = 0; ; ) {
    const { lines, total } = await reader.read(count)
    if (lines.length > 0) await sink.write(`${lines.join('\n')}\n`)
    count += lines.length
    if (lines.length === 0 || count >= total) return count
    output.progress('exporting', count, total, counted(count, 'document'))
  }
}

const standardOutput = ({ write }: CommandOutput): Sink => ({ write, end: async () => undefined })

async function fileSink(path: string): Promise<Sink> {
  const failed = (error: NodeJS.ErrnoException): never => {
    throw new LaunchError(`--output: ${path} cannot be written: ${error.code}`, 1)
  }
  const file = await open(path, 'w').catch(failed)
  return {
    // `file.write` may write only a part of it.
    write: (part) => file.writeFile(part).catch(failed),
    end: () => file.close().catch(failed),
  }
}
