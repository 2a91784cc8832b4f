/** Recovers the readable documents from the directory of a damaged index. */
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { defaultIndexSettings } from '../../settings/index.js'
import type { Rescued } from '../engine.js'
import { Pacer } from './indexing/pacer.js'
import { LOG_FILE } from './open-index.js'
import { Replayed } from './replayed.js'
import { readDamagedLog } from './store/damaged-log.js'
import { isMissing } from './store/frames.js'
import { type JsonObject, parseJson, writeJson } from './store/json.js'
import type { CommitRecord } from './store/log.js'
import { embeddersOf, shownVectors, VectorSet } from './vector/index.js'

/** Characters per write. */
const WRITE_CHARS = 1024 * 1024

/** Writes the readable documents to `target`; see `BareEngine.rescue`. */
export async function rescueIndex(directory: string, target: string): Promise<Rescued> {
  const log = join(directory, LOG_FILE)
  const replayed = new Replayed()
  const pacer = new Pacer()
  const losses = [
    ...(await readDamagedLog(log, ({ record, ...commit }) =>
      replayed.apply({ ...commit, record: record ?? placeholderRecord(replayed) }, pacer),
    ).catch((error: unknown) => {
      if (!isMissing(error)) throw error
      return [`${log}: there is no such file, and all documents in it are lost`]
    })),
  ]
  const file = await open(target, 'wx', 0o600)
  let written: Written
  try {
    written = await writeDocuments(replayed, file)
    await file.sync()
  } finally {
    await file.close()
  }
  return {
    documents: written.documents,
    losses: [...losses, ...written.losses.map((loss) => `${log}: ${loss}`)],
    settings: JSON.stringify(replayed.settings ?? defaultIndexSettings),
    primaryKey: replayed.primaryKey,
    report: replayed.report,
  }
}

/** Replaces a lost commit record: only documents and vectors change. */
function placeholderRecord({ report, primaryKey }: Replayed): CommitRecord {
  const unknown = { batchUid: -1, outcomes: [], primaryKey, documents: 0 }
  return { report: report ?? unknown, primaryKey, cleared: false, deleted: [] }
}

interface Written {
  readonly documents: number
  readonly losses: readonly string[]
}

async function writeDocuments(replayed: Replayed, file: FileHandle): Promise<Written> {
  const settings = replayed.settings ?? defaultIndexSettings
  const vectors = vectorsOf(replayed)
  const losses: string[] = []
  let documents = 0
  let lines = ''
  for (const docid of Uint32Array.from(replayed.documents.keys()).sort()) {
    const { id, source } = replayed.documents.get(docid)!
    let document: JsonObject
    try {
      document = parseJson(Buffer.from(source).toString()) as JsonObject
    } catch (error) {
      losses.push(`document \`${id}\` is no JSON: ${error instanceof Error ? error.message : String(error)}`)
      continue
    }
    const raw = document.get('_vectors')
    document.delete('_vectors')
    const shown = shownVectors({ settings, vectors }, docid, raw)
    if (shown.size > 0) document.set('_vectors', shown)
    lines += `${writeJson(document)}\n`
    documents++
    if (lines.length < WRITE_CHARS) continue
    await file.writeFile(lines)
    lines = ''
  }
  await file.writeFile(lines)
  return { documents, losses }
}

/** Vectors of each embedder in the settings, in the form that the settings require. */
function vectorsOf({ vectors, settings }: Replayed): ReadonlyMap<string, VectorSet> {
  const embedders = embeddersOf(settings ?? defaultIndexSettings)
  return new Map([...vectors.result(embedders)].map(([name, { base }]) => [name, base ?? new VectorSet(0)]))
}
