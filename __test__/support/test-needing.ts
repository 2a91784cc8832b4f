/** Declares tests that need something of the machine. */
import test, { type ExecutionContext } from 'ava'
import type { Requirement } from './requirements.js'

export type DeclareTest = (title: string, run: (t: ExecutionContext) => Promise<void> | void) => void

/**
 * Returns a function that declares tests with requirements. If something is missing they are skipped, with the reason
 * in their title. If it is also required they fail with that reason.
 * @param declare declares tests if nothing is missing
 */
export function testNeeding(
  requirements: readonly Requirement[],
  declare: DeclareTest = test.serial,
): DeclareTest {
  const lacking = requirements.find(({ missing }) => missing !== null)
  if (lacking === undefined) return declare
  const reason = String(lacking.missing)
  return (title, run) =>
    lacking.isDemanded ? test(title, (t) => t.fail(reason)) : test.skip(`${title}, skipped: ${reason}`, run)
}
