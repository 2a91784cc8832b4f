import { analysisChanges, type Engine } from '../../engine/index.js'
import { boolean, defaulted, oneOf } from '../../operations/index.js'
import type { IndexEntry, Tasks } from '../../tasks/index.js'
import { type SizeFormat, size } from './sizes.js'

/** Query parameters of the statistics of one index or of all. */
export const statsParameters = {
  showInternalDatabaseSizes: defaulted(boolean, false, 'invalid_stats_show_internal_database_sizes'),
  sizeFormat: defaulted(oneOf(['raw', 'human']), 'raw', 'invalid_stats_size_format'),
} as const

export interface StatsOptions {
  readonly showInternalDatabaseSizes: boolean
  readonly sizeFormat: SizeFormat
}

/** Returns the statistics of an index for answers, and its bytes on disk. */
export async function indexStats(
  { engine, tasks }: { readonly engine: Engine; readonly tasks: Tasks },
  { uid, id }: IndexEntry,
  options: StatsOptions,
): Promise<{ readonly view: Readonly<Record<string, unknown>>; readonly bytes: number }> {
  const stats = await engine.stats(id)
  const changes = analysisChanges(await engine.analysis(id))
  const { numberOfDocuments, rawDocumentDbSize, indexSize } = stats
  const average = numberOfDocuments === 0 ? 0 : Math.floor(rawDocumentDbSize / numberOfDocuments)
  const view = {
    numberOfDocuments,
    rawDocumentDbSize: size(rawDocumentDbSize, options.sizeFormat),
    avgDocumentSize: size(average, options.sizeFormat),
    isIndexing: tasks.isIndexing(uid),
    // No engine keeps free pages inside its files, so the complete size is in use.
    indexSize: size(indexSize, options.sizeFormat),
    usedIndexSize: size(indexSize, options.sizeFormat),
    ...(options.showInternalDatabaseSizes && {
      internalDatabaseSizes: {
        documents: size(rawDocumentDbSize, options.sizeFormat),
        index: size(Math.max(0, indexSize - rawDocumentDbSize), options.sizeFormat),
      },
    }),
    numberOfEmbeddings: stats.numberOfEmbeddings,
    numberOfEmbeddedDocuments: stats.numberOfEmbeddedDocuments,
    fieldDistribution: stats.fieldDistribution,
    ...(Object.keys(stats.wordDictionaries).length > 0 && { wordDictionaries: stats.wordDictionaries }),
    ...(changes.length > 0 && { warnings: [outdatedIndex(uid, changes)] }),
  }
  return { view, bytes: indexSize }
}

const OUTDATED = 'outdated_analysis'

const outdatedIndex = (uid: string, changes: readonly string[]) => ({
  code: OUTDATED,
  message: `documents were cut into words by another version, so that searches may miss some: ${changes.join('; ')}; run siftd reindex ${uid}`,
})

/** The warning about outdated indexes, for those who may not see their names. */
export const outdatedIndexes = (count: number) => ({
  code: OUTDATED,
  message: `${count} ${count === 1 ? 'index was' : 'indexes were'} cut into words by another version, so that searches may miss documents; GET /stats says which; run siftd reindex --all`,
})
