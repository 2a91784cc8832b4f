import { join } from 'node:path'
import {
  entriesOf,
  isDamagedUid,
  openEngineIn,
  readVersion,
  recordedEngine,
  requireVersion,
  textOf,
  withAdvice,
} from '../instance/index.js'
import { LaunchError, machine, packageVersion } from '../launch/index.js'
import { counted } from '../parse/index.js'
import {
  claimDirectory,
  DirectoryInUseError,
  type Finding,
  protectionLost,
  verifyDirectory,
} from '../tasks/index.js'
import { openLog } from '../telemetry/index.js'
import { dataDirectoryOf, dataOption, defineCommand, examples, jsonOption } from './command/index.js'

export const verify = defineCommand('verify', (command, output) =>
  command
    .description(`Reads all files of a data directory and lists damaged ones.

Checks the version, the task store and its checksums, pending uploads, all files of all indexes, and the references between
them. Changes nothing. The server must not be running. The exit code is 0 if everything is intact, 1 if a damage could
change an answer or hide further damage, 2 for wrong usage.`)
    .addOption(dataOption)
    .addOption(jsonOption)
    .addHelpText(
      'after',
      examples(`
        siftd verify --db-path /var/lib/siftd/data.ms
        siftd verify --json > findings.json
        curl -H "Authorization: Bearer $MASTER_KEY" http://localhost:7700/verify     the same, while the server runs`),
    )
    .action(async ({ dbPath, json = false }) => {
      const directory = dataDirectoryOf(dbPath)
      const findings = await findingsIn(directory, output.progress)
      for (const finding of findings) output.line(json ? JSON.stringify(finding) : lineOf(finding))
      const harmful = findings.filter(
        ({ isHarmful, isProtectionLost }) => isHarmful || isProtectionLost,
      ).length
      if (!json)
        output.line(harmful === 0 ? `${directory} is sound` : `${counted(harmful, 'damage')} in ${directory}`)
      if (harmful > 0) output.finding()
    }),
)

async function findingsIn(
  directory: string,
  progress: (doing: string, finished: number, total: number) => void,
): Promise<readonly Finding[]> {
  if ((await entriesOf(directory)).length === 0)
    throw new LaunchError(`verify: ${directory} holds no data; --db-path names another directory`, 1)
  const release = await claimDirectory(directory).catch((error: unknown) => {
    if (!(error instanceof DirectoryInUseError)) throw withAdvice(error, directory)
    throw new LaunchError(`verify: ${error.message}, or ask GET /verify of the running server`, 1)
  })
  try {
    return await openedAndVerified(directory, progress)
  } finally {
    release()
  }
}

async function openedAndVerified(
  directory: string,
  progress: (doing: string, finished: number, total: number) => void,
): Promise<readonly Finding[]> {
  const { cores } = machine()
  const { engine } = await openEngineIn(directory, {
    engine: 'auto',
    indexingMemoryBytes: 64 * 2 ** 20,
    indexingThreads: cores,
    log: openLog({ level: 'OFF', mode: 'HUMAN' }),
    isReadOnly: true,
    followsFiles: true,
  })
  try {
    const checked = (finished: number, total: number): void => progress('verifying indexes', finished, total)
    return [
      ...(await wrongVersion(directory)),
      ...(await unnamedEngine(directory)),
      ...(await damagedUid(directory)),
      ...(await verifyDirectory(directory, engine, checked)),
    ]
  } finally {
    await engine.close()
  }
}

async function wrongVersion(directory: string): Promise<readonly Finding[]> {
  const file = join(directory, 'VERSION')
  const written = await readVersion(directory)
  try {
    requireVersion(written, { version: packageVersion(), upgrade: true }, directory)
    return []
  } catch (error) {
    if (!(error instanceof LaunchError)) throw error
    const cost = 'the server does not start; no index is touched by it'
    return [{ indexUid: null, file, problem: error.message, cost, isHarmful: true }]
  }
}

async function unnamedEngine(directory: string): Promise<readonly Finding[]> {
  if ((await recordedEngine(directory)) !== null) return []
  return [protectionLost({ file: join(directory, 'engine'), problem: 'it names no engine' })]
}

async function damagedUid(directory: string): Promise<readonly Finding[]> {
  const file = join(directory, 'instance-uid')
  return isDamagedUid(await textOf(file)) ? [protectionLost({ file, problem: 'it holds no uid' })] : []
}

const severityOf = ({ isHarmful, isProtectionLost }: Finding): string =>
  isHarmful ? 'damaged' : isProtectionLost ? 'protection lost' : 'harmless'

function lineOf(finding: Finding): string {
  const { indexUid, file, problem, cost } = finding
  const subject = indexUid === null ? '' : `index ${indexUid}: `
  // Errors of the engine begin with the path.
  const place = problem.startsWith(file) ? '' : `${file}: `
  return `${severityOf(finding)}: ${subject}${place}${problem} (${cost})`
}
