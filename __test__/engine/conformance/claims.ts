import type { ExecutionContext } from 'ava'
import { TestEngine } from '../../support/engine.js'
import type { TestedEngine } from '../../support/engines.js'
import { testNeeding } from '../../support/test-needing.js'

type DeclareClaim = (claim: string, run: (t: ExecutionContext, engine: TestEngine) => Promise<void>) => void

/**
 * Declares tests of an engine, each with an empty directory. They run sequentially: an engine has its own threads and
 * memory, and many at once would slow each other down.
 */
export function claimsOf({ name, open, needs }: TestedEngine): DeclareClaim {
  const declare = testNeeding(needs)
  return (claim, run) => declare(`${name}: ${claim}`, async (t) => run(t, await TestEngine.start(t, open)))
}
