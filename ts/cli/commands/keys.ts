import { isText, isTexts, listAll, maybe } from '../../transfer/index.js'
import { defineCommand, examples, jsonOption, listOf, tableLines } from '../command/index.js'
import { onServer, withServer } from './service.js'

interface Key {
  readonly uid: string
  readonly key: string
  readonly name: string | null
  readonly actions: readonly string[]
  readonly indexes: readonly string[]
  readonly expiresAt: string | null
}

const keyShape = {
  ...{ uid: isText, key: isText, name: maybe(isText) },
  ...{ actions: isTexts, indexes: isTexts, expiresAt: maybe(isText) },
}

export const keys = defineCommand('keys', (command, output) => {
  command
    .description(
      'Lists, creates and deletes API keys, with the master key or a key with the actions keys.get, keys.create and keys.delete.',
    )
    .addHelpText(
      'after',
      examples(`
        siftd keys list --key-file master.key
        siftd keys create --actions search --indexes films --name "search page"`),
    )
  onServer(command.command('list'))
    .summary('lists the keys')
    .description(
      'Lists the keys with their permissions. Whoever reads the output can use the keys; --json prints their uids too.',
    )
    .addOption(jsonOption)
    .addHelpText('after', examples('siftd keys list\nsiftd keys list --json | jq -r .key'))
    .action(async (options) => {
      const found = await withServer(options, (peer) => listAll<Key>(peer, '/keys', keyShape))
      if (options.json) return found.forEach((key) => void output.line(JSON.stringify(key)))
      const rows = found.map(({ key, name, actions, indexes, expiresAt }) => [
        ...[key, name ?? '-', actions.join(','), indexes.join(','), expiresAt ?? 'never'],
      ])
      for (const line of tableLines([['KEY', 'NAME', 'ACTIONS', 'INDEXES', 'EXPIRES'], ...rows]))
        output.line(line)
    })
  onServer(command.command('create'))
    .summary('creates a key and prints it')
    .description('Creates a key and prints only the key.')
    .requiredOption('--actions <list>', 'Allowed actions, such as search,documents.*', listOf)
    .requiredOption('--indexes <list>', 'Allowed indexes, such as films,books-* or *', listOf)
    .option('--expires-at <date>', 'Expiry date, such as 2050-01-31 (default: never)')
    .option('--name <name>', 'Name of the key')
    .option('--description <text>', 'Description of the key')
    .addOption(jsonOption)
    .addHelpText(
      'after',
      examples(`
        siftd keys create --actions search --indexes films --expires-at 2050-01-31
        siftd keys create --actions '*' --indexes '*' --name admin > admin.key`),
    )
    .action(async (options) => {
      const { actions, indexes, expiresAt = null, name = null, description = null } = options
      const body = { actions, indexes, expiresAt, name, description }
      const key = await withServer(options, (peer) =>
        peer.json<Key>('POST', '/keys', { body, shape: keyShape }),
      )
      output.line(options.json ? JSON.stringify(key) : key.key)
    })
  onServer(command.command('delete'))
    .summary('deletes keys')
    .description('Deletes keys. Requests with them are refused afterwards.')
    .argument('<keys...>', 'Uids of the keys, or the keys themselves')
    .addHelpText('after', examples('siftd keys delete 6062abda-a5aa-4414-ac91-ecd7944c0f8d'))
    .action((deleted, options) =>
      withServer(options, async (peer) => {
        for (const key of deleted) await peer.bytes('DELETE', `/keys/${encodeURIComponent(key)}`)
      }),
    )
})
