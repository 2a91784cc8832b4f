/** `siftd migrate`: copies a running instance, or an index of another engine, into a running siftd. */

import { LaunchError } from '../../launch/index.js'
import { openOutbound } from '../../outbound/index.js'
import { counted } from '../../parse/index.js'
import { openPeer } from '../../transfer/index.js'
import { type InstancePart, instanceParts } from '../../transfer/migrate/inventory.js'
import { leftOut } from '../../transfer/migrate/left-out.js'
import {
  copyAll,
  describe,
  type IndexState,
  type Migration,
  surveyed,
} from '../../transfer/migrate/migration.js'
import { differences } from '../../transfer/migrate/verify.js'
import {
  authoritiesOf,
  type CommandOutput,
  caOption,
  collected,
  defineCommand,
  examples,
  instanceOf,
  keyFileOption,
  keyOption,
  StateFile,
} from '../command/index.js'
import { isForeign, migratedForeign } from './migrate-foreign.js'
import { DEFAULT_TARGET } from './migrate-target.js'

export const migrate = defineCommand('migrate', (command, output) =>
  command
    .description(`Copies a running instance of Meilisearch, siftd or Typesense into a running siftd, over HTTP; or an index that
was exported from Algolia.

Copies experimental features, indexes with settings, documents and vectors, dynamic search rules, keys and webhooks, and
lists what it cannot copy. An interrupted run continues where it stopped when it is started again. The exit code is 0 if
there are no differences at the end, 1 if something differs or failed, 2 for wrong usage.

From Typesense and Algolia come documents, settings, synonyms and rules. What has no counterpart is listed; such a run starts
at the beginning when it is repeated, which changes nothing that is already copied.`)
    .option('--from <url>', 'The instance of Meilisearch or siftd to copy')
    .option('--from-typesense <url>', 'The instance of Typesense to copy; --from-key is its key')
    .option(
      '--from-algolia <file>',
      'Records exported from Algolia, as NDJSON or JSON; --index names the index',
    )
    .option('--algolia-settings <file>', 'Settings of the Algolia index, as JSON')
    .option('--algolia-synonyms <file>', 'Its synonyms, as NDJSON or JSON')
    .option('--algolia-rules <file>', 'Its rules, as NDJSON or JSON')
    .addOption(keyOption('from'))
    .addOption(keyFileOption('from'))
    .option('--to <url>', `The siftd to copy into (default: ${DEFAULT_TARGET})`)
    .addOption(keyOption('to'))
    .addOption(keyFileOption('to'))
    .addOption(caOption)
    .option('--index <uid>', 'Copies only this index; may be repeated', collected)
    .option('--skip <part>', `Skips a part: ${instanceParts.join(', ')}; may be repeated`, collected)
    .option(
      '--state <file>',
      'File with the progress until everything is copied (default: siftd-migrate-….json in the current directory)',
    )
    .option('--dry-run', 'Prints what would be copied')
    .option('--verify', 'Only compares')
    .addHelpText(
      'after',
      examples(`
        siftd migrate --from http://old:7700 --from-key-file old.key --to-key-file new.key
        siftd migrate --from http://old:7700 --to http://new:7700 --index films --index books
        siftd migrate --from http://old:7700 --dry-run       shows what would be copied
        siftd migrate --from http://old:7700 --verify        shows the differences; copies nothing
        siftd migrate --from-typesense http://old:8108 --from-key-file typesense.key --to-key-file new.key
        siftd migrate --from-algolia films.ndjson --algolia-settings settings.json --index films`),
    )
    .action((options) => (isForeign(options) ? migratedForeign(options, output) : migrated(options, output))),
)

interface MigrateOptions {
  readonly ca?: string
  readonly index?: readonly string[]
  readonly skip?: readonly string[]
  readonly state?: string
  readonly dryRun?: true
  readonly verify?: true
}

async function migrated(options: MigrateOptions, output: CommandOutput): Promise<void> {
  const from = instanceOf('from', { ...options }, null)
  const to = instanceOf('to', { ...options }, DEFAULT_TARGET)
  const selection = { indexes: options.index ?? null, skipped: skippedParts(options.skip ?? []) }
  // The user chose both addresses, so private addresses are allowed.
  const outbound = openOutbound({ allowedNetworks: 'any', ...authoritiesOf(options) })
  try {
    const migration: Migration = {
      from: openPeer(outbound, from),
      to: openPeer(outbound, to),
      targetKey: to.key,
      selection,
      output,
    }
    const { source, target } = await surveyed(migration)
    const uncopied = options.verify ? [] : await leftOut(migration.from, source, selection)
    if (options.dryRun) {
      await describe(migration, source, target)
      for (const line of uncopied) output.line(`would not copy ${line}`)
      return
    }
    if (!options.verify) {
      const state = await StateFile.open<IndexState>(options.state ?? null, 'migrate', [from.url, to.url])
      for (const remark of await copyAll(migration, source, target, state)) output.line(`note: ${remark}`)
      for (const line of uncopied) output.line(`not copied: ${line}`)
      await state.remove()
    }
    const found = await differences(migration.from, migration.to, selection)
    for (const difference of found) output.line(`differs: ${difference}`)
    output.line(found.length === 0 ? 'no differences' : counted(found.length, 'difference'))
    if (found.length > 0) output.finding()
  } finally {
    await outbound.close()
  }
}

function skippedParts(given: readonly string[]): ReadonlySet<InstancePart> {
  const parts: readonly string[] = instanceParts
  const wrong = given.find((part) => !parts.includes(part))
  if (wrong !== undefined)
    throw new LaunchError(`--skip: unknown part \`${wrong}\`, expected ${instanceParts.join(', ')}`, 2)
  return new Set(given as readonly InstancePart[])
}
