import { isCount, isObject, isText, listAll, mapOf, maybe, object, type Peer } from '../../transfer/index.js'
import { type CommandOutput, defineCommand, examples, jsonOption, tableLines } from '../command/index.js'
import { onData, onServer, withData, withServer } from './service.js'
import { enqueued, pathOf, reportTask } from './task-output.js'

interface IndexRow {
  readonly uid: string
  readonly primaryKey: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

interface Stats {
  readonly numberOfDocuments: number
  readonly isIndexing: boolean
  readonly rawDocumentDbSize?: number
  readonly avgDocumentSize?: number
  readonly fieldDistribution: Readonly<Record<string, number>>
}

const rowShape = { uid: isText, primaryKey: maybe(isText), createdAt: isText, updatedAt: isText }
const statsShape = { numberOfDocuments: isCount, fieldDistribution: isObject }

export const indexes = defineCommand('indexes', (command, output) => {
  command.description('Lists, creates and deletes indexes, and counts their content.').addHelpText(
    'after',
    examples(`
        siftd indexes list
        siftd indexes create films --primary-key id
        siftd indexes stats films`),
  )
  onData(command.command('list'))
    .summary('lists the indexes')
    .description('Lists the indexes with their primary keys.')
    .addOption(jsonOption)
    .addHelpText('after', examples('siftd indexes list --json | jq -r .uid'))
    .action(async (options) => {
      const rows = await withData(options, (peer) => listAll<IndexRow>(peer, '/indexes', rowShape))
      if (options.json) return rows.forEach((row) => void output.line(JSON.stringify(row)))
      printTable(output, [
        ['INDEX', 'PRIMARY KEY', 'UPDATED'],
        ...rows.map(({ uid, primaryKey, updatedAt }) => [uid, primaryKey ?? '-', updatedAt]),
      ])
    })
  onServer(command.command('create'))
    .summary('creates an index')
    .description('Creates an empty index. siftd import creates a missing index itself.')
    .argument('<index>', 'The uid of the index: letters, digits, - and _')
    .option(
      '--primary-key <field>',
      'The field that identifies its documents (default: guessed from the first documents)',
    )
    .option('--no-wait', 'Does not wait until it is created')
    .addOption(jsonOption)
    .addHelpText('after', examples('siftd indexes create films --primary-key id'))
    .action(async (uid, options) => {
      const { primaryKey = null } = options
      await withServer(options, async (peer) =>
        reportTask(peer, await enqueued(peer, 'POST', '/indexes', { uid, primaryKey }), options, output),
      )
    })
  onServer(command.command('delete'))
    .summary('deletes indexes with their documents')
    .description('Deletes indexes with their documents and settings.')
    .argument('<indexes...>', 'Uids of the indexes')
    .option('--no-wait', 'Does not wait until they are deleted')
    .addOption(jsonOption)
    .addHelpText('after', examples('siftd indexes delete films-old'))
    .action((uids, options) =>
      withServer(options, async (peer) => {
        for (const uid of uids)
          await reportTask(peer, await enqueued(peer, 'DELETE', pathOf(uid)), options, output)
      }),
    )
  onData(command.command('stats'))
    .summary('counts the documents and bytes of indexes')
    .description('Counts the documents, fields and bytes of all indexes, or of the given indexes.')
    .argument('[indexes...]', 'Uids of the indexes (default: all)')
    .addOption(jsonOption)
    .addHelpText('after', examples('siftd indexes stats\nsiftd indexes stats films --json'))
    .action(async (uids, options) => {
      const stats = await withData(options, (peer) => statsOf(peer, uids))
      if (options.json)
        return stats.forEach(([uid, one]) => void output.line(JSON.stringify({ uid, ...one })))
      printTable(output, [
        ['INDEX', 'DOCUMENTS', 'FIELDS', 'BYTES', 'INDEXING'],
        ...stats.map(([uid, one]) => [
          uid,
          String(one.numberOfDocuments),
          String(Object.keys(one.fieldDistribution).length),
          String(one.rawDocumentDbSize ?? '-'),
          one.isIndexing ? 'yes' : 'no',
        ]),
      ])
    })
})

async function statsOf(peer: Peer, uids: readonly string[]): Promise<readonly (readonly [string, Stats])[]> {
  if (uids.length === 0) {
    const shape = { indexes: mapOf(object(statsShape)) }
    const { indexes } = await peer.json<{ indexes: Record<string, Stats> }>('GET', '/stats', { shape })
    return Object.entries(indexes)
  }
  return Promise.all(
    uids.map(
      async (uid) =>
        [uid, await peer.json<Stats>('GET', `${pathOf(uid)}/stats`, { shape: statsShape })] as const,
    ),
  )
}

function printTable(output: CommandOutput, rows: readonly (readonly string[])[]): void {
  for (const line of tableLines(rows)) output.line(line)
}
