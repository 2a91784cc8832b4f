import type { IndexSizes, IndexStats } from '../engine.js'
import type { IndexData } from './index-data/index-data.js'
import type { OpenIndex } from './open-index.js'
import { compareUtf8 } from './store/text-order.js'

export function statsOf(open: OpenIndex): IndexStats {
  const { data } = open
  return {
    numberOfDocuments: data.docids.size,
    ...sizesOf(open),
    ...embeddingCounts(data.vectors),
    fieldDistribution: Object.fromEntries(
      [...data.fieldCounts].filter(([name]) => name !== '_vectors').sort(([a], [b]) => compareUtf8(a, b)),
    ),
    wordDictionaries: data.tokenizer.dictionaries.ids,
  }
}

export const sizesOf = ({ data, log, snapshotBytes }: OpenIndex): IndexSizes => ({
  rawDocumentDbSize: data.sourceBytes,
  indexSize: log.bytes + snapshotBytes,
})

/** Source: vectors §9.2. Documents that opted out count 0. */
function embeddingCounts(
  sets: IndexData['vectors'],
): Pick<IndexStats, 'numberOfEmbeddings' | 'numberOfEmbeddedDocuments'> {
  const embedded = new Set<number>()
  let numberOfEmbeddings = 0
  for (const set of sets.values())
    for (const docid of set.docids()) {
      const count = set.count(docid)
      numberOfEmbeddings += count
      if (count > 0) embedded.add(docid)
    }
  return { numberOfEmbeddings, numberOfEmbeddedDocuments: embedded.size }
}
