/** Several searches in one request. Other calls get their turn between them. */
import type { Answer, SearchFacts } from '../../engine.js'
import { EngineError } from '../../engine-error.js'
import { AnswerBytes } from './answer-bytes.js'
import { checkStop, type Stop } from './bounds.js'
import type { FederatedQuery } from './federation/index.js'
import { search } from './search.js'
import { Turns } from './turns.js'

/** The answers to several searches, one after another. All see the same commits. */
export async function multiSearch(queries: readonly FederatedQuery[], stop?: Stop): Promise<Answer> {
  for (let attempt = 0; ; attempt++) {
    const answer = await answered(queries, new Turns(queries, attempt), stop)
    if (answer !== null) return answer
  }
}

/** @returns null if an index has changed meanwhile */
async function answered(
  queries: readonly FederatedQuery[],
  turns: Turns,
  stop: Stop | undefined,
): Promise<Answer | null> {
  const out = new AnswerBytes()
  out.write('{"results":[')
  const facts: SearchFacts[] = []
  // What filters on other indexes have selected is counted from the beginning.
  for (const { request } of queries) request.foreign?.selected.clear()
  for (const [at, { index, request }] of queries.entries()) {
    if (!(await turns.next())) return null
    if (at > 0) checkStop(stop)
    const head = `${at > 0 ? ',' : ''}{"indexUid":${JSON.stringify(request.indexUid)},`
    facts.push(positioned(at, () => search(index, turns.timed(request), out, head)).facts)
  }
  out.write(']}')
  return { body: out.taken(), facts: summed(facts) }
}

/** Names the query of a multi-search that failed. */
function positioned<T>(position: number, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    throw new EngineError(error.code, `inside \`.queries[${position}]\`: ${error.message}`)
  }
}

function summed(facts: readonly SearchFacts[]): SearchFacts {
  const semantic = facts.filter(({ semanticHits }) => semanticHits !== null)
  return {
    degraded: facts.some(({ degraded }) => degraded),
    usedNegativeOperator: facts.some(({ usedNegativeOperator }) => usedNegativeOperator),
    terms: Math.max(0, ...facts.map(({ terms }) => terms)),
    semanticHits:
      semantic.length === 0 ? null : semantic.reduce((sum, { semanticHits }) => sum + semanticHits!, 0),
    hits: facts.reduce((sum, { hits }) => sum + hits, 0),
  }
}
