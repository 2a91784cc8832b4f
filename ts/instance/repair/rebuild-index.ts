/** Rebuilds an index from the documents of a damaged one. */
import { createReadStream } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { BatchReport, IndexId, Rescued } from '../../engine/index.js'
import { parsedSettings } from '../../settings/index.js'
import type { RepairedIndex, RepairQueue } from '../../tasks/index.js'
import { fragmentEmbedders, NewIndex, withoutRegeneration } from '../backup/index.js'
import type { RepairRequest } from './request.js'

/** The engine refuses the documents of an index. */
export class RebuildError extends Error {
  override readonly name = 'RebuildError'
}

interface Rebuild {
  readonly index: RepairedIndex
  readonly rescued: Rescued
  /** Path of the documents. */
  readonly documents: string
  readonly queue: RepairQueue
  readonly request: Pick<RepairRequest, 'engine' | 'progress'>
}

/** Builds a new index that has no name yet. @throws RebuildError; then the new index was removed */
export async function rebuildIndex({ index: { uid }, rescued, documents, queue, request }: Rebuild): Promise<{
  readonly id: IndexId
  readonly report: BatchReport
  readonly losses: readonly string[]
}> {
  const { engine, progress } = request
  const { signal } = new AbortController()
  const failure = (message: string): Error => new RebuildError(message)
  const index = new NewIndex({ engine, uid, signal, failure })
  const { settings, primaryKey } = rescued
  const byFragment = fragmentEmbedders(parsedSettings(settings))
  if (byFragment.size > 0) await forgetFragments(documents, byFragment)
  await queue.announce(index.id)
  try {
    const report = await index.fill({ primaryKey, settings, documents }, (finished, total) =>
      progress(`rebuilding ${uid}`, finished, total),
    )
    if (report.documents !== rescued.documents)
      throw failure(`it got ${report.documents} documents instead of ${rescued.documents}`)
    const losses = [...byFragment].map(
      (name) => `the vectors of the embedder \`${name}\` will not be recomputed when their fragments change`,
    )
    return { id: index.id, report, losses }
  } catch (error) {
    await engine.drop(index.id)
    throw error
  }
}

/** Lines that are changed at a time. */
const LINES = 1_000

/**
 * Marks vectors of fragments as sent by a user, like a dump: a document does not say which fragment a vector belongs
 * to.
 */
async function forgetFragments(path: string, embedders: ReadonlySet<string>): Promise<void> {
  const changed = await open(`${path}.changed`, 'w', 0o600)
  try {
    let lines: string[] = []
    const write = async (): Promise<void> => {
      if (lines.length > 0)
        await changed.writeFile(withoutRegeneration(Buffer.from(`${lines.join('\n')}\n`), embedders))
      lines = []
    }
    for await (const line of createInterface({ input: createReadStream(path), crlfDelay: 0 })) {
      lines.push(line)
      if (lines.length === LINES) await write()
    }
    await write()
  } finally {
    await changed.close()
  }
  await rename(`${path}.changed`, path)
}
