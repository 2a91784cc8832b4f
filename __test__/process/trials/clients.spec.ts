import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { root } from '../../../trials/clients/languages.js'
import { page } from '../../../trials/clients/page.js'
import { outcomeOf, steps } from '../../../trials/clients/steps.js'
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

test('docs/clients.md is up to date', async (t) => {
  t.is(await readFile(join(root, 'docs/clients.md'), 'utf8'), page())
})
