/** `siftd sync postgres`: keeps indexes equal to tables of a database. */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { LaunchError } from '../../../launch/index.js'
import { onceReachable, runSync, serveFigures, syncFigures } from '../../../transfer/index.js'
import {
  type CommandOutput,
  caOption,
  countFor,
  defineCommand,
  examples,
  Option,
} from '../../command/index.js'
import { asLaunchError, type SyncOptions, withSync } from './context.js'
import { heapLimit } from './heap.js'
import { paused, resync, shownFindings, shownStatus, verified } from './operating.js'
import { sourcePackage } from './package.js'

const DEFAULT_CONFIG = 'siftd-sync.toml'
const DRY_DOCUMENTS = 3

const configOption = () =>
  new Option('--config <file>', 'Configuration: TOML, JSON, or a JavaScript module').default(DEFAULT_CONFIG)

export const sync = defineCommand('sync', (command, output) => {
  const postgres = command
    .description('Keeps indexes equal to tables of a database.')
    .addHelpText('after', examples('siftd sync postgres --help\nsiftd sync postgres run'))
    .command('postgres')
    .helpCommand(false)
    .summary('keeps indexes equal to tables of PostgreSQL')
    .description(`Keeps indexes equal to tables of PostgreSQL, by logical replication.

The first run copies the tables. Then changes arrive in the index moments after their commit. Needs the package
@siftd/sync-postgres, and wal_level = logical in PostgreSQL. The target is siftd or Meilisearch.`)
    .addHelpText(
      'after',
      examples(`
        siftd sync postgres init --url postgres://shop@localhost/shop
        siftd sync postgres check
        siftd sync postgres run
        siftd sync postgres status
        siftd sync postgres resync products`),
    )
  const sub = (name: string, summary: string, example = `siftd sync postgres ${name}`) =>
    postgres
      .command(name)
      .summary(summary)
      .description(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`)
      .addHelpText('after', examples(example))
  const synced = (name: string, summary: string, example?: string) =>
    sub(name, summary, example).addOption(configOption()).addOption(caOption)

  sub(
    'init',
    'proposes a configuration for a database',
    'siftd sync postgres init --url postgres://shop@localhost/shop',
  )
    .option('--url <url>', 'URL of the database (default: variables such as PGHOST and PGDATABASE)')
    .option('--config <file>', 'File to write', DEFAULT_CONFIG)
    .action(async ({ url, config }) => {
      if (existsSync(config))
        throw new LaunchError(`${config} exists already; remove it or give another --config`, 2)
      const { propose } = await sourcePackage('postgres')
      const text = await propose(url === undefined ? {} : { url }).catch((error: unknown) => {
        throw asLaunchError(error)
      })
      await writeFile(config, text, { mode: 0o600 })
      output.line(`wrote ${config}; edit it, then run \`siftd sync postgres check\``)
    })
  synced('check', 'lists what the database lacks, with the statements that solve it').action((options) =>
    withSync(options, output, (context) => shownFindings(context, output)),
  )
  synced(
    'run',
    'copies the tables and follows their changes until it is stopped',
    'siftd sync postgres run --dry-run\nsiftd sync postgres run',
  )
    .option('--dry-run', `Prints the first ${DRY_DOCUMENTS} documents of each index and changes nothing`)
    .option('--exit-when-copied', 'Ends after the copy instead of following changes')
    .action(({ dryRun, exitWhenCopied, ...options }) =>
      dryRun ? dryRunOf(options, output) : started(options, output, exitWhenCopied === true),
    )
  synced('status', 'prints progress, lag and problems').action((options) =>
    withSync(options, output, (context) => shownStatus(context, output)),
  )
  synced('pause', 'pauses a running sync; the database keeps the changes').action((options) =>
    withSync(options, output, (context) => paused(context, true)),
  )
  synced('resume', 'continues a paused sync').action((options) =>
    withSync(options, output, (context) => paused(context, false)),
  )
  synced(
    'resync',
    'lets a running sync copy indexes again, each into a new index that replaces it at the end',
    'siftd sync postgres resync products',
  )
    .argument('<uid...>', 'Indexes')
    .action((uids, options) => withSync(options, output, (context) => resync(context, uids, output)))
  synced(
    'verify',
    'compares the documents with the rows, and prints differences',
    'siftd sync postgres verify --limit 20\nsiftd sync postgres verify --repair',
  )
    .option('--repair', 'Corrects the differences. The sync must be paused or stopped')
    .option('--limit <n>', 'Prints at most so many differences', countFor('--limit'), 100)
    .action(({ repair, limit, ...options }) =>
      withSync(options, output, (context) => verified(context, { isRepair: repair === true, limit }, output)),
    )
  synced('remove', 'removes slot and publication from the database, so that it keeps no changes').action(
    (options) =>
      withSync(options, output, async ({ source }) => {
        await source.dropSlot({ isForced: false })
        output.line('removed; the indexes stay as they are')
      }),
  )
})

async function started(options: SyncOptions, output: CommandOutput, isCopyOnly: boolean): Promise<void> {
  await withSync(options, output, async ({ config, source, target, store, signal }) => {
    const log = (line: string) => output.note(line)
    const findings = await onceReachable(() => source.check(), { log, signal })
    const fatal = findings.filter(({ isFatal }) => isFatal)
    if (fatal.length > 0) {
      for (const { problem, remedy } of fatal) output.note(`${problem}: ${remedy}`)
      throw new LaunchError('the database lacks something; `siftd sync postgres check` lists it', 1)
    }
    const figures = await syncFigures()
    const metrics = config.metrics === null ? null : await serveFigures(figures, config.metrics)
    const done = new AbortController()
    try {
      await runSync({
        ...{ config, source, target, store, figures },
        signal: isCopyOnly ? AbortSignal.any([signal, done.signal]) : signal,
        log,
        worked: heapLimit(),
        copied: (uid, rows, total) => output.progress(`copying ${uid}`, rows, Math.max(rows, total)),
        ...(isCopyOnly && { following: () => done.abort() }),
      })
    } finally {
      metrics?.close()
    }
  })
}

async function dryRunOf(options: SyncOptions, output: CommandOutput): Promise<void> {
  const { linesOf } = await import('../../../transfer/index.js')
  await withSync(options, output, async ({ config, source }) => {
    for (const { uid } of config.mappings) {
      const prepared = await source.prepare(uid)
      if (!prepared.ok) {
        output.line(`index \`${uid}\`: ${prepared.reason}`)
        output.finding()
        continue
      }
      const { documents } = await source.page(uid, null, DRY_DOCUMENTS)
      output.line(`index \`${uid}\`, primary key \`${prepared.facts.primaryKey}\`:`)
      for (const { line } of linesOf(prepared.facts, documents)) output.line(line)
    }
  })
}
