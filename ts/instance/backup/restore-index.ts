/** Creates an index from its entries in a dump. */
import { ApiError } from '../../errors/index.js'
import { readBody } from '../../parse/index.js'
import {
  defaultIndexSettings,
  type IndexSettings,
  mergeSettings,
  settingsBody,
  settingsChange,
} from '../../settings/index.js'
import type { Restore } from '../../tasks/index.js'
import { ArchiveError } from './archive-error.js'
import type { Unpacked } from './archive-reader.js'
import { withDimensions } from './embedder-facts.js'
import { bytesOf, requiredJsonOf } from './entries.js'
import { fieldsOf, indexUidOf } from './fields.js'
import { indexMetadataForm } from './instance-forms.js'
import { NewIndex } from './new-index.js'
import type { RestoreRequest } from './restore-request.js'

/** Returns the folders of all indexes of a dump, sorted. */
export function indexesIn(unpacked: Unpacked): readonly string[] {
  const folders = [...unpacked.keys()].flatMap((path) => /^indexes\/([^/]+)\//.exec(path)?.[1] ?? [])
  return [...new Set(folders)].sort()
}

/** Returns the uid of the index in a folder. @throws ArchiveError */
export async function indexUidIn(folder: string, unpacked: Unpacked): Promise<string> {
  const at = `indexes/${folder}/metadata.json`
  return indexUidOf(fieldsOf(await requiredJsonOf(unpacked, at), at).uid, `${at}: uid`)
}

/** Creates an index from the entries in `indexes/{folder}`. @throws ArchiveError */
export async function restoreIndex(
  folder: string,
  unpacked: Unpacked,
  queue: Restore,
  { engine, signal, progress }: RestoreRequest,
): Promise<void> {
  const path = `indexes/${folder}`
  const at = `${path}/metadata.json`
  const { uid, primaryKey, createdAt } = indexMetadataForm.read(await requiredJsonOf(unpacked, at), at)
  const documents = unpacked.get(`${path}/documents.jsonl`)
  if (documents === undefined) throw new ArchiveError(`it has no ${path}/documents.jsonl`)

  const index = new NewIndex({
    engine,
    uid,
    signal,
    failure: (message) => new ArchiveError(`${path}: ${message}`),
  })
  const settings = await withDimensions(await settingsOf(unpacked, `${path}/settings.json`), unpacked, path)
  const report = await index.fill(
    { primaryKey, settings: JSON.stringify(settings), documents },
    (finished, total) => progress(`importing ${uid}`, finished, total),
  )
  const updatedAt = new Date().toISOString()
  const entry = { uid, id: index.id, primaryKey: report.primaryKey, createdAt, updatedAt }
  await queue.index(entry, report.batchUid)
}

async function settingsOf(unpacked: Unpacked, path: string): Promise<IndexSettings> {
  const bytes = await bytesOf(unpacked, path)
  if (bytes === null) throw new ArchiveError(`it has no ${path}`)
  const features = { foreignKeys: true, chatCompletions: true, compositeEmbedders: true, multimodal: true }
  try {
    const { patch } = settingsChange(readBody(bytes, settingsBody), features)
    return mergeSettings(defaultIndexSettings, patch)
  } catch (error) {
    if (error instanceof ApiError) throw new ArchiveError(`${path}: ${error.message}`)
    throw error
  }
}
