/** Settings changes with documents that are already indexed. */
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

export function settings(tested: TestedEngine): void {
  const claim = claimsOf(tested)

  claim('changed settings apply to indexed documents', async (t, engine) => {
    await engine.put('things', { id: 1, t: 'sea~salt', n: 3, u: 'pepper' })
    t.deepEqual(await engine.idsFor('things', 'salt '), [])
    await engine.configure('things', { separatorTokens: ['~'], filterableAttributes: ['n'] })
    t.deepEqual(await engine.idsFor('things', 'salt '), [1])
    t.is((await engine.search('things', { filter: 'n = 3' })).estimatedTotalHits, 1)
    await engine.configure('things', { searchableAttributes: ['t'] })
    t.deepEqual(await engine.idsFor('things', 'pepper'), [])
  })
}
