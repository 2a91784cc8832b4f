/**
 * Explains the position of a document among the hits, and its matches with the query.
 *
 * `ts/operations/searches/explain.ts` derives from these facts, for both engines, why the document was found or left out.
 */
import type { ExplainFacts, Place, RankFacts, WordFacts, WordStep } from '../../explain-facts.js'
import type { ExplainRequest } from '../../requests.js'
import type { Column } from '../facets/columns.js'
import { storedObject } from '../index-data/index-data.js'
import { EXPLAINED_HITS_MAX } from '../limits.js'
import type { OpenIndex } from '../open-index.js'
import type { TermNode } from '../query/graph.js'
import { spellingsOf } from '../query/spellings.js'
import { globalScore, type Ranked } from '../ranking/index.js'
import type { DocSet } from '../store/docid-set.js'
import { writeJson } from '../store/json.js'
import { filteredDocuments, findCandidates, prefixOf } from './candidates.js'
import { isDisplayed, renderedDetails } from './hits.js'
import { distinctColumn, rankSearch, type StoppableRequest } from './search.js'

/** Returns `ExplainFacts` as JSON text; null if the document does not exist or is not visible. */
export function explain(
  index: OpenIndex,
  request: StoppableRequest,
  about: Pick<ExplainRequest, 'documentId' | 'visible'>,
): string | null {
  const { data } = index
  const docid = data.docids.get(about.documentId)
  const visible = filteredDocuments(index, about.visible, request)
  if (docid === undefined || !visible.has(docid)) return null
  const limit = Math.min(EXPLAINED_HITS_MAX, data.settings.pagination.maxTotalHits)
  const search = { ...request, paging: { kind: 'offset', offset: 0, limit } } as const
  const { ranked, isSemantic, degraded } = rankSearch(index, search, limit)
  const hits = ranked.slice(0, limit)
  const position = hits.findIndex((hit) => hit.docid === docid)
  const hit = hits[position]
  const distinct = hit === undefined ? distinctColumn(index, request, prefixOf(request.indexUid)) : null
  const facts: ExplainFacts = {
    words: wordFacts(index, request, docid, visible),
    rank:
      hit === undefined ? null : rankFacts(index, hit, { position, byMeaning: isSemantic?.(docid) ?? null }),
    hitsLookedAt: hits.length,
    degraded,
    replacedBy: distinct === null ? null : replacing(index, request, { distinct, docid, hits }),
  }
  return JSON.stringify(facts)
}

function rankFacts(
  index: OpenIndex,
  { details }: Ranked,
  place: Pick<RankFacts, 'position' | 'byMeaning'>,
): RankFacts {
  return { ...place, score: globalScore(details), details: JSON.parse(renderedDetails(index, details)) }
}

function wordFacts(index: OpenIndex, request: StoppableRequest, docid: number, visible: DocSet): WordFacts {
  const { parsed, query, resolver, documents, locales } = findCandidates(index, { ...request, filter: null })
  const { negativeWords, negativePhrases, ignored } = parsed
  const isExcluded =
    negativeWords.some((word) => resolver.documentsOfWord(word, false).has(docid)) ||
    negativePhrases.some((words) => resolver.documentsOfPhrase(words).has(docid))
  const shownPlace = ({ attribute, position }: Place): Place => ({
    attribute: isDisplayed(index, attribute) ? attribute : '<hidden>',
    position,
  })
  const step = (node: TermNode, at: number): WordStep => {
    const { word, phrase, ngram, isPrefix, budget } = node.term.spec
    const { spellings, total } = spellingsOf(resolver, node, docid, visible)
    return {
      text: word,
      parts: ngram,
      phrase,
      firstTerm: node.firstId,
      lastTerm: node.lastId,
      typosMax: budget,
      isUnfinished: isPrefix,
      isOptional: (query?.groups[at] ?? null) !== null,
      isInDocument: resolver.documentsOf(node.term, node.kinds).has(docid),
      spellings: spellings.map((spelling) => ({ ...spelling, places: spelling.places.map(shownPlace) })),
      spellingsTotal: total,
    }
  }
  return {
    languages: [...locales].sort(),
    ignored,
    excluded: negativeWords,
    excludedPhrases: negativePhrases,
    isExcluded,
    steps: query === null ? [] : query.graph.nodes.map(step),
    match: documents.has(docid),
  }
}

/** Returns the best hit that shares a value of the distinct attribute with a document; null if there is none. */
function replacing(
  { data }: OpenIndex,
  request: StoppableRequest,
  {
    distinct,
    docid,
    hits,
  }: { readonly distinct: Column; readonly docid: number; readonly hits: readonly Ranked[] },
): ExplainFacts['replacedBy'] {
  const groupsOf = (document: number) =>
    distinct.entries(document).map((entry) => distinct.equalGroup(distinct.groupOf[entry]!))
  const own = new Set(groupsOf(docid))
  const better = hits.find((hit) => groupsOf(hit.docid).some((group) => own.has(group)))
  if (better === undefined) return null
  const attribute = request.distinct ?? data.settings.distinctAttribute ?? ''
  const id = data.primaryKey === null ? '' : storedObject(data.documents[better.docid]!).get(data.primaryKey)
  return { attribute, id: typeof id === 'string' ? id : writeJson(id ?? null) }
}
