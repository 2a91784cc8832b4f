import { LaunchError } from '../launch/index.js'
import { type Outbound, OutboundError, openOutbound } from '../outbound/index.js'
import {
  cellNamed,
  cellOfIndex,
  DamagedPlacementError,
  type Placement,
  type PlacementStore,
  withCell,
  withIndex,
} from '../placement/index.js'
import { BucketError } from '../replication/index.js'
import { placementStore } from './cells.js'
import {
  type Arguments,
  authoritiesOf,
  type CommandOutput,
  collected,
  defineCommand,
  examples,
  jsonOption,
  Option,
  type ServerOptions,
  serverOf,
  tableLines,
} from './command/index.js'

/** Milliseconds that a cell has to say if it has an index. */
const ASK_MS = 10_000

interface PlacementOptions {
  readonly placement: string
  readonly endpoint?: string | undefined
  readonly region?: string | undefined
  readonly ca?: string | undefined
}

const onPlacement = (command: Arguments) =>
  command
    .requiredOption('--placement <url>', 'Address of the placement, such as s3://backups/cells')
    .option('--endpoint <origin>', 'Origin of a store other than AWS')
    .option('--region <name>', 'Region of the bucket (default: AWS_REGION, else us-east-1)')

const numberOf = (text: string): number => {
  if (/^\d{1,3}$/.test(text)) return Number(text)
  throw new LaunchError(`--number: \`${text}\` is no number of a cell, from 0 to 63`, 2)
}

export const placement = defineCommand('placement', (command, output) => {
  command
    .description(
      `Says which cell holds which index. A cell is a bucket prefix with its leader and its followers.

The placement is a few objects in a bucket, at an address of its own. Servers read it with --placement and --cell, and
read changes within a few seconds.`,
    )
    .addHelpText(
      'after',
      examples(`
        siftd placement set-cell a --placement s3://backups/cells --url http://search-1:7700
        siftd placement set-index films b --placement s3://backups/cells --key-file master.key
        siftd placement show --placement s3://backups/cells`),
    )
  onPlacement(command.command('show'))
    .summary('prints the cells and the placed indexes')
    .description('Prints the cells, and the indexes that are not in the home cell.')
    .addOption(jsonOption)
    .addHelpText(
      'after',
      examples(`
        siftd placement show --placement s3://backups/cells
        siftd placement show --placement s3://backups/cells --json`),
    )
    .action((options) =>
      withPlacement(options, output, async (_store, current) => {
        if (options.json) return output.line(JSON.stringify(current))
        const rows = Object.entries(current.cells).map(([name, { number, urls }]) => [
          ...[name, String(number), name === current.home ? 'home' : '-', urls.join(' ')],
        ])
        for (const line of tableLines([['CELL', 'NUMBER', 'HOME', 'URLS'], ...rows])) output.line(line)
        const placed = Object.entries(current.indexes)
        if (placed.length === 0) return
        output.line('')
        for (const line of tableLines([['INDEX', 'CELL'], ...placed])) output.line(line)
      }),
    )
  onPlacement(command.command('set-cell'))
    .summary('adds a cell, or changes the addresses of one')
    .description(
      `Adds a cell, or replaces the addresses of one. The first cell is home: it holds all indexes that no other cell holds.

The uids of the tasks of a cell have its number as remainder modulo 64, so it never changes.`,
    )
    .argument('<name>', 'Name of the cell')
    .requiredOption('--url <url>', 'Address of a server of the cell; give it once for each server', collected)
    .option('--number <n>', 'Number of a new cell, from 0 to 63 (default: the lowest free one)', numberOf)
    .addHelpText(
      'after',
      examples(`
        siftd placement set-cell a --placement s3://backups/cells --url http://search-1:7700
        siftd placement set-cell b --placement s3://backups/cells --url http://search-3:7700 --url http://search-4:7700`),
    )
    .action((name, { url, number = null, ...options }) =>
      withPlacement(options, output, async (store, current) => {
        const changed = withCell(current, name, { number, urls: url })
        await add(store, changed)
        output.line(`the cell ${name} has number ${changed.cells[name]?.number}`)
      }),
    )
  onPlacement(command.command('set-index'))
    .summary('places an index in a cell')
    .description(
      `Places an index in a cell. Do it before the index is created: its present cell is asked, and if it has the index,
nothing changes. Wait five seconds before you create the index.`,
    )
    .argument('<index>', 'Uid of the index')
    .argument('<cell>', 'Name of the cell')
    .addOption(new Option('--key <key>', 'Key of the cells (default: SVC_KEY)'))
    .addOption(
      new Option(
        '--key-file <file>',
        'File that holds the key, so that process lists do not show it (default: SVC_KEY_FILE)',
      ),
    )
    .addHelpText(
      'after',
      examples('siftd placement set-index films b --placement s3://backups/cells --key-file master.key'),
    )
    .action((index, cell, { key, keyFile, ...options }) =>
      withPlacement(options, output, async (store, current, outbound) => {
        const changed = withIndex(current, index, cell)
        const present = cellOfIndex(current, index)
        if (present !== null && present !== cell)
          await requireAbsent(outbound, current, { index, cell: present, key, keyFile })
        await add(store, changed)
        output.line(`the index ${index} is in the cell ${cell}`)
      }),
    )
})

async function withPlacement(
  { placement: url, endpoint, region, ca }: PlacementOptions,
  output: CommandOutput,
  use: (store: PlacementStore, current: Placement, outbound: Outbound) => Promise<void>,
): Promise<void> {
  const outbound = openOutbound({ allowedNetworks: 'any', ...authoritiesOf({ ca }) })
  try {
    const store = placementStore(url, { endpoint: endpoint ?? null, region: region ?? null, outbound })
    await use(store, await store.newest(), outbound)
  } catch (error) {
    if (!(error instanceof BucketError || error instanceof DamagedPlacementError)) throw error
    output.line(`the placement cannot be used: ${error.message}`)
    output.finding()
  } finally {
    await outbound.close()
  }
}

async function add(store: PlacementStore, changed: Placement): Promise<void> {
  if (!(await store.add(changed)))
    throw new LaunchError('another change of the placement was faster: repeat the command', 1)
}

interface Question extends Pick<ServerOptions, 'key' | 'keyFile'> {
  readonly index: string
  readonly cell: string
}

/** @throws LaunchError if a cell has an index, or does not say if it has it */
async function requireAbsent(
  outbound: Outbound,
  current: Placement,
  { index, cell, ...keys }: Question,
): Promise<void> {
  for (const url of cellNamed(current, cell)?.urls ?? []) {
    const { key } = serverOf({ url, ...keys })
    try {
      const { status } = await outbound.call({
        method: 'GET',
        url: `${url.replace(/\/$/, '')}/indexes/${index}`,
        headers: {
          'x-siftd-cell': String(current.version),
          'x-siftd-read-consistency': 'strong',
          ...(key !== null && { authorization: `Bearer ${key}` }),
        },
        redirects: 'refused',
        timeoutMs: ASK_MS,
        answerBytesMax: null,
      })
      if (status === 404) return
      if (status === 200)
        throw new LaunchError(
          `the cell \`${cell}\` has the index \`${index}\`: delete it there first, or place another index`,
          1,
        )
      throw new LaunchError(
        status === 401 || status === 403
          ? `the cell \`${cell}\` refuses the key: give the master key with --key-file`
          : `the cell \`${cell}\` does not say if it has the index \`${index}\`: ${url} answered ${status}`,
        1,
      )
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
    }
  }
  throw new LaunchError(
    `no server of the cell \`${cell}\` answers, so it may have the index \`${index}\`: nothing was changed`,
    1,
  )
}
