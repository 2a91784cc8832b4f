import { join } from 'node:path'
import {
  entriesOf,
  markDataDirectory,
  openEngineIn,
  type Repair,
  readVersion,
  recordedEngine,
  repairDirectory,
  requireVersion,
  withAdvice,
} from '../instance/index.js'
import { LaunchError, machine, packageVersion } from '../launch/index.js'
import { counted } from '../parse/index.js'
import {
  claimDirectory,
  DirectoryInUseError,
  StoreError,
  StoreUnusableError,
  UnreadableIndexError,
} from '../tasks/index.js'
import { openLog } from '../telemetry/index.js'
import {
  type CommandOutput,
  dataDirectoryOf,
  dataOption,
  defineCommand,
  examples,
  jsonOption,
} from './command/index.js'

export const repair = defineCommand('repair', (command, output) =>
  command
    .description(`Rebuilds damaged parts of a data directory and rescues the documents of damaged indexes.

A damaged index is rebuilt under its name if its documents, vectors and settings are all readable. Otherwise it is renamed
to NAME-damaged, and its readable documents and settings are written to rescued/NAME.ndjson and NAME.settings.json in the
data directory; with --accept-loss it is rebuilt from these instead. A task store that no start accepts is replaced by a
new one made from the indexes, without the task history. Damaged files are moved to lost/, never deleted. Intact indexes
are not changed. The server must not be running. The exit code is 0 if nothing is lost, 1 if something is lost or needs
manual work, 2 for wrong usage.`)
    .addOption(dataOption)
    .option('--accept-loss', 'Rebuilds damaged indexes from their readable documents')
    .addOption(jsonOption)
    .addHelpText(
      'after',
      examples(`
        siftd verify --db-path /var/lib/siftd/data.ms     lists damages; changes nothing
        siftd repair --db-path /var/lib/siftd/data.ms
        siftd repair --db-path /var/lib/siftd/data.ms --accept-loss`),
    )
    .action(async ({ dbPath, acceptLoss = false, json = false }) => {
      const directory = dataDirectoryOf(dbPath)
      const repairs: Repair[] = []
      const told = (repair: Repair): void => {
        repairs.push(repair)
        if (json) output.line(JSON.stringify(repair))
        else for (const line of linesOf(repair)) output.line(line)
      }
      await repaired(directory, { acceptLoss, told }, output)
      const losing = repairs.filter(({ losses }) => losses.length > 0).length
      if (!json) output.line(summaryOf(directory, repairs.length, losing))
      if (losing > 0) output.finding()
    }),
)

interface RepairOptions {
  readonly acceptLoss: boolean
  told(repair: Repair): void
}

async function repaired(
  directory: string,
  options: RepairOptions,
  { progress }: CommandOutput,
): Promise<void> {
  const entries = await entriesOf(directory)
  if (!entries.includes('tasks') && !entries.includes('indexes'))
    throw new LaunchError(`repair: ${directory} holds no data; --db-path names another directory`, 1)
  const isVersionLost = !(await hasVersion(directory))
  await requireUnused(directory)
  const log = openLog({ level: 'WARN', mode: 'HUMAN' })
  const noted = await recordedEngine(directory)
  const { engine, kind } = await openEngineIn(directory, {
    engine: 'auto',
    indexingMemoryBytes: 256 * 2 ** 20,
    indexingThreads: machine().cores,
    // The repair reports the findings of the engine itself.
    log: openLog({ level: 'OFF', mode: 'HUMAN' }),
  })
  if (noted === null) options.told(written(join(directory, 'engine'), 'engine', kind))
  try {
    await repairDirectory({ ...options, directory, engine, log, progress })
  } catch (error) {
    const known = [DirectoryInUseError, StoreError, StoreUnusableError, UnreadableIndexError]
    if (!known.some((kind) => error instanceof kind)) throw error
    throw new LaunchError(`repair: ${(error as Error).message}`, 1)
  } finally {
    await engine.close()
  }
  if (!isVersionLost) return
  // The task store and the indexes could be read, so this version may open them.
  await markDataDirectory(directory, packageVersion(), null)
  options.told(written(join(directory, 'VERSION'), 'version', packageVersion()))
}

const written = (file: string, what: string, text: string): Repair => ({
  indexUid: null,
  damages: [`${file}: it names no ${what}, or is damaged`],
  done: [`wrote \`${text}\` to it`],
  losses: [],
})

/**
 * Returns true if VERSION has a right checksum and names this version. A VERSION without one may be damaged, so the files
 * decide: opening them fails if another version wrote them in another format.
 * @throws LaunchError if another version certainly wrote the directory
 */
async function hasVersion(directory: string): Promise<boolean> {
  const written = await readVersion(directory)
  if (written.checksum !== 'right')
    return written.version === packageVersion() && written.checksum === 'unknown'
  requireVersion(written, { version: packageVersion(), upgrade: false }, directory)
  return true
}

/** @throws LaunchError */
async function requireUnused(directory: string): Promise<void> {
  const release = await claimDirectory(directory).catch((error: unknown) => {
    if (!(error instanceof DirectoryInUseError)) throw withAdvice(error, directory)
    throw new LaunchError(`repair: ${error.message}`, 1)
  })
  // Opening the queue claims the directory again before any index is changed.
  release()
}

function linesOf({ indexUid, damages, done, losses }: Repair): readonly string[] {
  const subject = indexUid === null ? '' : `index ${indexUid}: `
  return [
    ...damages.map((damage) => `damaged: ${subject}${damage}`),
    ...done.map((what) => `  done: ${what}`),
    ...losses.map((loss) => `  lost: ${loss}`),
  ]
}

function summaryOf(directory: string, repairs: number, losing: number): string {
  if (repairs === 0) return `${directory} is sound`
  return `${counted(repairs, 'repair')} in ${directory}, ${losing} of them with losses`
}
