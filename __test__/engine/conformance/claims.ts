import type { ExecutionContext } from 'ava'
import { TestEngine } from '../../support/engine.js'
import type { TestedEngine } from '../../support/engines.js'
import { testNeeding } from '../../support/test-needing.js'

type DeclareClaim = (claim: string, run: (t: ExecutionContext, engine: TestEngine) => Promise<void>) => void

/**
 * Declares tests of one engine, each over an empty directory. They run one after another: an engine has threads and
 * memory of its own, and a hundred at once would only get in each other's way.
 */
export function claimsOf({ name, open, needs }: TestedEngine): DeclareClaim {
  const declare = testNeeding(needs)
  return (claim, run) => declare(`${name}: ${claim}`, async (t) => run(t, await TestEngine.start(t, open)))
}
