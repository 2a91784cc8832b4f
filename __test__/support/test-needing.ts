/** Which tests can run on this machine, and what becomes of those that cannot? */
import test, { type ExecutionContext } from 'ava'
import type { Requirement } from './requirements.js'

export type DeclareTest = (title: string, run: (t: ExecutionContext) => Promise<void> | void) => void

/**
 * Declares tests that need something of their machine. Where it is missing they are skipped, with the reason in
 * their title; where it is demanded as well, they fail with that reason.
 * @param declare how tests are declared where nothing is missing
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
