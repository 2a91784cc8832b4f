import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dataDirectoryOf, dataOption, defineCommand, examples, jsonOption } from '../command/index.js'
import { entriesOf, notedEngine, openEngineIn, requireVersion } from '../instance/index.js'
import { LaunchError, machine, packageVersion } from '../launch/index.js'
import { claimDirectory, DirectoryInUseError, type Finding, verifyDirectory } from '../tasks/index.js'
import { openLog } from '../telemetry/index.js'

export const verify = defineCommand('verify', (command, output) =>
  command
    .description(`Reads every file of a data directory and names those that are damaged.

Checks the version, the task store and its checksums, uploads that wait, every file of every index, and whether they
name each other. Changes nothing. The server must not be running. The exit code is 0 if all is sound, 1 if a damage
could change an answer, 2 for wrong usage.`)
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
      const harmful = findings.filter(({ isHarmful }) => isHarmful).length
      if (!json) output.line(harmful === 0 ? `${directory} is sound` : `${harmful} damages in ${directory}`)
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
    if (!(error instanceof DirectoryInUseError)) throw error
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
      ...(await verifyDirectory(directory, engine, checked)),
    ]
  } finally {
    await engine.close()
  }
}

async function wrongVersion(directory: string): Promise<readonly Finding[]> {
  const file = join(directory, 'VERSION')
  const found = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  try {
    requireVersion(found.trim(), { version: packageVersion(), upgrade: true }, directory)
    return []
  } catch (error) {
    if (!(error instanceof LaunchError)) throw error
    const cost = 'the server does not start; no index is touched by it'
    return [{ indexUid: null, file, problem: error.message, cost, isHarmful: true }]
  }
}

async function unnamedEngine(directory: string): Promise<readonly Finding[]> {
  if ((await notedEngine(directory)) !== null) return []
  const cost = 'nothing: the indexes tell who wrote them, and the next start writes the file'
  const problem = 'it names no engine'
  return [{ indexUid: null, file: join(directory, 'engine'), problem, cost, isHarmful: false }]
}

const lineOf = ({ indexUid, file, problem, cost, isHarmful }: Finding): string =>
  `${isHarmful ? 'damaged' : 'harmless'}: ${indexUid === null ? '' : `index ${indexUid}: `}${file}: ${problem} (${cost})`
