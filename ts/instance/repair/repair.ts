import { existsSync } from 'node:fs'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Rescued } from '../../engine/index.js'
import { makeDirectory } from '../../engine/index.js'
import { counted } from '../../parse/index.js'
import { defaultIndexSettings } from '../../settings/index.js'
import {
  type Finding,
  openRepair,
  type Rebuilt,
  type RepairedIndex,
  type RepairQueue,
  rebuildTaskStore,
  storeObjection,
} from '../../tasks/index.js'
import { RebuildError, rebuildIndex } from './rebuild-index.js'
import type { Repair, RepairRequest } from './request.js'
import { RESCUED_DIRECTORY, UNFINISHED_PREFIX, writeRescued } from './rescued-files.js'

/**
 * Repairs a data directory: first its task store, then one index after another.
 *
 * 1. If the task store prevents a start, sets it aside and makes a new one from the indexes.
 * 2. Removes damaged files that the engine can recreate.
 * 3. Rebuilds each damaged index whose documents, vectors and settings are readable, under its name.
 * 4. Renames each other damaged index, and writes its readable data to files.
 *
 * Damaged files are moved, never deleted. After a crash at any moment, each index is either unchanged or repaired.
 * @throws DirectoryInUseError, StoreError, UnreadableIndexError
 */
export async function repairDirectory(request: RepairRequest): Promise<void> {
  const { directory, engine, log } = request
  const reason = storeObjection(directory)
  if (reason !== null) {
    request.progress('making a new task store', 0, 0)
    request.told(storeRepair(reason, await rebuildTaskStore(directory, engine)))
  }
  await removeLeftovers(directory)
  const queue = await openRepair(directory, engine, log)
  try {
    const indexes = queue.indexes()
    for (const [position, index] of indexes.entries()) {
      request.progress('verifying indexes', position, indexes.length)
      const repair = await repairIndex(index, queue, request)
      if (repair !== null) request.told(repair)
    }
    request.progress('verifying indexes', indexes.length, indexes.length)
    for (const upload of await queue.uploads())
      request.told({ indexUid: null, damages: [textOf(upload)], done: [], losses: [upload.cost] })
  } finally {
    await queue.close()
  }
}

/** Removes files that a killed repair left. */
async function removeLeftovers(directory: string): Promise<void> {
  const rescued = join(directory, RESCUED_DIRECTORY)
  const names = await readdir(rescued).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  for (const name of names)
    if (name.startsWith(UNFINISHED_PREFIX)) await rm(join(rescued, name), { force: true })
}

/** @returns null for an undamaged index */
async function repairIndex(
  index: RepairedIndex,
  queue: RepairQueue,
  request: RepairRequest,
): Promise<Repair | null> {
  const findings = await queue.findings(index)
  if (findings.length === 0) return null
  if (findings.some(({ isHarmful }) => isHarmful)) return rescueIndex(index, findings, queue, request)
  for (const { file } of findings) await rm(file, { force: true })
  return {
    indexUid: index.uid,
    damages: findings.map(textOf),
    done: findings.map(({ file }) => `removed ${file}, which will be recreated when the index is used`),
    losses: [],
  }
}

async function rescueIndex(
  index: RepairedIndex,
  findings: readonly Finding[],
  queue: RepairQueue,
  request: RepairRequest,
): Promise<Repair> {
  const { directory, engine, acceptLoss, progress } = request
  const { uid, id } = index
  const damages = findings.map(textOf)
  progress(`rescuing the documents of ${uid}`, 0, 0)
  await makeDirectory(join(directory, RESCUED_DIRECTORY), 0o700)
  const documents = join(directory, RESCUED_DIRECTORY, `${UNFINISHED_PREFIX}${id}.ndjson`)
  const path = queue.directoryOf(index)
  const rescued = existsSync(path) ? await engine.rescue(id, documents) : await emptyRescue(path, documents)
  const lack = queue.lacks(uid, rescued.report)
  const losses = [...rescued.losses, ...(lack === null ? [] : [lack])]
  try {
    if (losses.length > 0 && !acceptLoss) throw new RebuildError('')
    const built = await rebuildIndex({ index, rescued, documents, queue, request })
    const aside = await queue.replace(uid, rescued.report, built.id, built.report)
    await rm(documents, { force: true })
    const where =
      aside === null ? `the next start moves the damaged files to lost/` : `the damaged files are in ${aside}`
    return {
      indexUid: uid,
      damages,
      done: [`rebuilt from ${counted(rescued.documents, 'document')}; ${where}`],
      losses: [...losses, ...built.losses],
    }
  } catch (error) {
    if (!(error instanceof RebuildError)) throw error
    if (error.message !== '') losses.push(`the index could not be rebuilt: ${error.message}`)
    const kept = await writeRescued(uid, rescued, documents, directory)
    const waiting = await queue.waiting(uid)
    const name = await queue.setAside(uid)
    if (waiting > 0)
      losses.push(`${counted(waiting, 'task')} waiting for it will fail with \`index_damaged\``)
    return {
      indexUid: uid,
      damages,
      done: [
        `renamed to \`${name}\`, which can be deleted`,
        `wrote ${counted(rescued.documents, 'document')} to ${kept.documents} and the settings to ${kept.settings}`,
      ],
      losses,
    }
  }
}

/** The rescue result for an index without a directory. */
async function emptyRescue(path: string, documents: string): Promise<Rescued> {
  await writeFile(documents, '', { mode: 0o600 })
  const losses = [`${path}: the directory is missing, and all its documents are lost`]
  return {
    documents: 0,
    losses,
    settings: JSON.stringify(defaultIndexSettings),
    primaryKey: null,
    report: null,
  }
}

const textOf = ({ file, problem }: Finding): string =>
  problem.includes(file) ? problem : `${file}: ${problem}`

function storeRepair(reason: string, { aside, indexes, missing, salvaged }: Rebuilt): Repair {
  const kept =
    salvaged === null
      ? 'keys, webhooks and features could not be read'
      : `it has ${counted(salvaged.keys, 'key')} and ${counted(salvaged.webhooks, 'webhook')} of the old one`
  const damaged = salvaged?.damaged ?? 0
  return {
    indexUid: null,
    damages: [`the task store ${reason}`],
    done: [
      `made a new task store of ${counted(indexes.length, 'index', 'indexes')}; ${kept}; the old one is in ${aside}`,
    ],
    losses: [
      'the history of tasks, and waiting tasks',
      ...(salvaged === null ? ['keys, webhooks and features'] : []),
      ...(damaged === 0 ? [] : [`${damaged} damaged rows of keys, webhooks and features`]),
      ...missing.map((uid) => `the index ${uid}, whose directory is missing`),
    ],
  }
}
