import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { root } from '../../../trials/clients/languages.js'
import { page } from '../../../trials/clients/page.js'
import { outcomeOf, steps } from '../../../trials/clients/steps.js'
import { goOutcome, outdated, rustOutcome, unexplained } from '../../../trials/clients/suites/outcome.js'
import { clientTrial, ready } from '../../../trials/clients/trial.js'
import { chosenEngines } from '../../support/engines.js'
import { testEngine } from '../../support/server.js'
import { storeServer } from '../../support/store-servers.js'
import { testNeeding } from '../../support/test-needing.js'

for (const { name, needs } of chosenEngines)
  testNeeding(needs)(`${name}: the JavaScript SDK passes every step`, async (t) => {
    const outcome = await clientTrial(await ready('javascript'), name)
    t.deepEqual(outcome, { passed: [...steps], failed: [] })
  })

testNeeding([storeServer('gofakes3')])(
  'the JavaScript SDK passes every step if each request goes to the other of two servers',
  async (t) => {
    t.timeout(240_000)
    const outcome = await clientTrial(await ready('javascript'), testEngine, 'two')
    t.deepEqual(outcome, { passed: [...steps], failed: [] })
  },
)

test('a step that failed or was not reached counts as failed, with the reason', (t) => {
  const { passed, failed } = outcomeOf('passed health\nfailed version: 1 instead of 2\n')
  t.deepEqual(passed, ['health'])
  t.is(failed.length, steps.length - 1)
  t.deepEqual(failed.slice(0, 2), [
    'version: 1 instead of 2',
    'create-index: the script did not reach this step',
  ])
})

test('the verdicts of go test are read, of tests without subtests only', (t) => {
  const output = [
    '=== RUN   TestA/first',
    '--- FAIL: TestA (0.20s)',
    '    --- PASS: TestA/first (0.10s)',
    '    --- FAIL: TestA/second#01 (0.10s)',
    '--- SKIP: TestB (0.00s)',
    '--- PASS: TestC (0.00s)',
  ].join('\n')
  t.deepEqual(goOutcome(output), {
    passed: ['TestA/first', 'TestC'],
    failed: ['TestA/second#01'],
    skipped: ['TestB'],
  })
})

test('the verdicts of cargo test are read', (t) => {
  const output =
    'test a::b ... ok\ntest a::c ... FAILED\ntest d ... ignored, slow\ntest result: FAILED. 1 passed'
  t.deepEqual(rustOutcome(output), { passed: ['a::b'], failed: ['a::c'], skipped: ['d'] })
})

test('only failures without a known reason are problems, and reasons that no longer hold are shown', (t) => {
  const known = [{ reason: 'needs a network', tests: ['a', 'b'] }]
  t.deepEqual(unexplained(['a', 'c'], known), ['c'])
  t.deepEqual(outdated(['a', 'c'], known), ['b'])
})

test('docs/clients.md is up to date', async (t) => {
  t.is(await readFile(join(root, 'docs/clients.md'), 'utf8'), page())
})
