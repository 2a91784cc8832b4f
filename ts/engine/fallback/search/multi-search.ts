/** Runs several searches of a request. Other calls run in between. */
import type { Answer, SearchFacts } from '../../engine.js'
import { EngineError } from '../../engine-error.js'
import { AnswerBytes } from './answer-bytes.js'
import { checkStop, type Stop } from './bounds.js'
import type { FederatedQuery } from './federation/index.js'
import { search } from './search.js'
import { Turns } from './turns.js'

/** Returns the answers to several searches, in order. All see the same commits. */
export async function multiSearch(queries: readonly FederatedQuery[], stop?: Stop): Promise<Answer> {
  for (let attempt = 0; ; attempt++) {
    const answer = await attemptAnswer(queries, new Turns(queries, attempt), stop)
    if (answer !== null) return answer
  }
}

/** @returns null if an index has changed meanwhile */
async function attemptAnswer(
  queries: readonly FederatedQuery[],
  turns: Turns,
  stop: Stop | undefined,
): Promise<Answer | null> {
  const out = new AnswerBytes()
  out.write('{"results":[')
  const facts: SearchFacts[] = []
  // Reset the count of documents that foreign filters have selected.
  for (const { request } of queries) request.foreign?.selected.clear()
  for (const [at, { index, request }] of queries.entries()) {
    if (!(await turns.next())) return null
    if (at > 0) checkStop(stop)
    const head = `${at > 0 ? ',' : ''}{"indexUid":${JSON.stringify(request.indexUid)},`
    facts.push(positioned(at, () => search(index, turns.timed(request), out, head)).facts)
  }
  out.write(']}')
  return { body: out.finish(), facts: summed(facts) }
}

/** Adds the position of the failed query to its error. */
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
