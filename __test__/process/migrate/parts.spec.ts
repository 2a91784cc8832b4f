import test from 'ava'
import { commands } from '../../../ts/cli/program.js'
import { nextPageDocuments } from '../../../ts/transfer/index.js'
import { isSameEmbedder, maskedSecrets, pushedEmbedder } from '../../../ts/transfer/migrate/embedders.js'
import { replacedKeys } from '../../../ts/transfer/migrate/instance-parts.js'
import type { Inventory } from '../../../ts/transfer/migrate/inventory.js'
import { runCommand } from '../../support/command.js'

const path = '/indexes/films/settings'

test('an embedder is sent without masked secrets, with the dimensions that its provider would be called for', (t) => {
  const rest = {
    source: 'rest',
    url: 'http://a',
    apiKey: 'abcXXXXX...',
    headers: { a: 'b', token: 'XXX...' },
  }
  t.deepEqual(maskedSecrets(rest), ['apiKey', 'headers.token'])
  const { embedder, remark } = pushedEmbedder({ path, embedder: rest }, 3)
  t.deepEqual(embedder, { source: 'rest', url: 'http://a', headers: { a: 'b' }, dimensions: 3 })
  t.regex(remark ?? '', /apiKey and headers\.token again.*PATCH \/indexes\/films\/settings\/embedders/)
  // The dimensions of OpenAI models are known, so the provider is not called.
  const openAi = { source: 'openAi', model: 'text-embedding-3-small', apiKey: 'sk-abXXXXXX...' }
  t.deepEqual(pushedEmbedder({ path, embedder: openAi }, 1536).embedder, {
    source: 'openAi',
    model: 'text-embedding-3-small',
  })
  const own = { source: 'userProvided', dimensions: 3 }
  t.deepEqual(pushedEmbedder({ path, embedder: own }, 3), { embedder: own, isStandIn: false, remark: null })
})

test('an embedder that the target cannot use is replaced by a substitute that keeps its vectors', (t) => {
  const local = { source: 'huggingFace', model: 'a/b', distribution: { mean: 0.5, sigma: 0.1 } }
  const composite = {
    source: 'composite',
    searchEmbedder: { source: 'openAi', apiKey: 'sk-abXXXXXX...' },
    indexingEmbedder: { source: 'openAi' },
  }
  const standIn = { source: 'userProvided', dimensions: 768, distribution: local.distribution }
  t.deepEqual(pushedEmbedder({ path, embedder: local }, 768).embedder, standIn)
  t.is(pushedEmbedder({ path, embedder: composite }, 768).embedder?.source, 'userProvided')
  t.is(pushedEmbedder({ path, embedder: local }, null).embedder, null)
})

test('embedders are compared with their masks, and by dimensions only if the source states them', (t) => {
  const shown = { source: 'ollama', model: 'm', apiKey: 'abcXXXXX...' }
  t.true(isSameEmbedder(shown, { ...shown, dimensions: 3 }))
  t.false(isSameEmbedder({ ...shown, dimensions: 4 }, { ...shown, dimensions: 3 }))
  t.false(isSameEmbedder(shown, { source: 'ollama', model: 'm' }))
})

const keyFacts = (uid: string, name: string, actions: readonly string[]) => ({
  ...{ uid, name, actions, description: null, key: `value of ${uid}`, indexes: ['*'], expiresAt: null },
})
const inventory = (keys: readonly ReturnType<typeof keyFacts>[], indexes: readonly string[]): Inventory => ({
  ...{ features: {}, keys, rules: null, webhooks: [] },
  indexes: indexes.map((uid) => ({ uid, primaryKey: null, createdAt: '2026-01-01T00:00:00Z' })),
})

test('default keys of a new target are replaced by those of the source with the same rights', (t) => {
  const source = inventory(
    [keyFacts('a', 'Default Search API Key', ['search']), keyFacts('b', 'Default Admin API Key', ['*'])],
    ['films'],
  )
  const made = [
    keyFacts('c', 'Default Search API Key', ['search']),
    keyFacts('d', 'Default Admin API Key', ['*', 'more']),
    keyFacts('e', 'website', ['search']),
    keyFacts('b', 'Default Admin API Key', ['*']),
  ]
  const replaced = (indexes: readonly string[], used: string | null) =>
    replacedKeys(source, inventory(made, indexes), used).map(({ uid }) => uid)
  t.deepEqual(replaced([], null), ['c'])
  t.deepEqual(replaced(['films'], 'master'), ['c'])
  t.deepEqual(replaced(['films', 'own'], null), [])
  t.deepEqual(replaced([], 'value of c'), [])
})

test('page sizes approach the target bytes with bounded growth', (t) => {
  t.is(nextPageDocuments(100, 100, 100_000), 400)
  t.is(nextPageDocuments(5_000, 5_000, 50_000), 5_000)
  t.is(nextPageDocuments(100, 100, 80 * 1024 * 1024), 10)
  t.is(nextPageDocuments(1, 1, 80 * 1024 * 1024), 1)
})

test('the help lists every command, and each command has a help with examples', async (t) => {
  const { lines } = await runCommand(['--help'])
  for (const { name, summary } of commands) {
    t.true(
      lines.some((line) => line.startsWith(`  ${name} `) && line.endsWith(summary)),
      name,
    )
    const help = await runCommand(['help', name])
    t.is(help.code, 0)
    t.true(help.lines.includes('Examples:'), name)
  }
})
