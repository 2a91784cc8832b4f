/**
 * Calls each method of the official client in a case that the server refuses, by HTTP or as a failed task, and checks
 * the message that the client passes on. A new method of the client fails the first test until it has a case.
 */
import test, { type ExecutionContext } from 'ava'
import {
  Index,
  Meilisearch,
  MeilisearchApiError,
  MeilisearchError,
  type Task,
  type TasksResults,
} from 'meilisearch'
import { generateTenantToken } from 'meilisearch/token'
import { defaultWaitOptions, films, masterKey, openClient } from '../../support/client.js'
import { startServer } from '../../support/server.js'

type Case = readonly [call: (client: Meilisearch) => PromiseLike<unknown>, words: string | RegExp]
type Cases = Readonly<Record<string, Case>>

const noIndex = 'Index `ghost` not found.'
const ghost = (client: Meilisearch): Index => client.index('ghost')
const shelf = (client: Meilisearch): Index => client.index('shelf')
const settled = (promise: { waitTask(): Promise<Task> }): Promise<Task> => promise.waitTask()
const wrong = 7 as never
const noUuid = /`x` is not|x.*uuid|uuid.*x/i

/** Methods for single settings. Some have irregular names. */
const settingNames = [
  'Pagination',
  'Synonyms',
  'StopWords',
  'RankingRules',
  'DistinctAttribute',
  'FilterableAttributes',
  'SortableAttributes',
  'SearchableAttributes',
  'DisplayedAttributes',
  'TypoTolerance',
  'Faceting',
  'SeparatorTokens',
  'NonSeparatorTokens',
  'Dictionary',
  'ProximityPrecision',
  'Embedders',
  'SearchCutoffMs',
  'LocalizedAttributes',
  'ForeignKeys',
  'FacetSearch',
  'PrefixSearch',
] as const
type Method = (...args: unknown[]) => PromiseLike<unknown> & { waitTask(): Promise<Task> }
const methodOf = (index: Index, name: string): Method =>
  (index as unknown as Record<string, Method>)[name]!.bind(index)

const ofSettings: Cases = Object.fromEntries(
  settingNames.flatMap((name) => [
    [`get${name}`, [(client) => methodOf(ghost(client), `get${name}`)(), noIndex]],
    [
      `update${name}`,
      [(client) => methodOf(ghost(client), `update${name}`)({ is: [true] }), /expected|unknown field/],
    ],
    [`reset${name}`, [(client) => methodOf(ghost(client), `reset${name}`)().waitTask(), noIndex]],
  ]),
)

const ofIndex: Cases = {
  ...ofSettings,
  getChat: [(client) => ghost(client).getChat(), noIndex],
  updateChat: [(client) => ghost(client).updateChat(wrong), /expected an object/],
  getSettings: [(client) => ghost(client).getSettings(), noIndex],
  updateSettings: [(client) => ghost(client).updateSettings({ words: [] } as never), 'unknown field `words`'],
  resetSettings: [(client) => settled(ghost(client).resetSettings()), noIndex],
  search: [
    (client) => shelf(client).search('', { filter: 'title = Solaris' }),
    'Index `shelf`: Attribute `title` is not filterable. Available filterable attribute patterns are: `genre`, `id`.\n' +
      '1:6 title = Solaris',
  ],
  searchGet: [
    (client) => shelf(client).searchGet('', { sort: ['genre:asc'] }),
    'Index `shelf`: Attribute `genre` is not sortable. Available sortable attributes are: `id, title`.',
  ],
  searchForFacetValues: [
    (client) => shelf(client).searchForFacetValues({ facetName: 'title' }),
    /^Index `shelf`: .*`title`.*not facet-searchable/i,
  ],
  searchSimilarDocuments: [
    (client) => shelf(client).searchSimilarDocuments({ id: 1, embedder: 'none' }),
    /`none`/,
  ],
  getRawInfo: [(client) => ghost(client).getRawInfo(), noIndex],
  fetchInfo: [(client) => ghost(client).fetchInfo(), noIndex],
  fetchPrimaryKey: [(client) => ghost(client).fetchPrimaryKey(), noIndex],
  update: [(client) => settled(ghost(client).update({ primaryKey: 'id' })), noIndex],
  delete: [(client) => settled(ghost(client).delete()), noIndex],
  getStats: [(client) => ghost(client).getStats(), noIndex],
  getFields: [(client) => ghost(client).getFields(), noIndex],
  compact: [(client) => settled(ghost(client).compact()), noIndex],
  getDocuments: [
    (client) => client.index('bare').getDocuments({ filter: 'id = 1' }),
    'Attribute `id` is not filterable. This index does not have configured filterable attributes.\n1:3 id = 1',
  ],
  getDocument: [(client) => shelf(client).getDocument(99), /`99` not found/],
  addDocuments: [
    (client) => settled(shelf(client).addDocuments([{ title: 'Dune' }])),
    /`id`.*"title":"Dune"/,
  ],
  addDocumentsFromString: [
    (client) => settled(shelf(client).addDocumentsFromString('title\nDune', 'text/csv')),
    /`id`.*"title":"Dune"/,
  ],
  addDocumentsInBatches: [
    (client) => settled(shelf(client).addDocumentsInBatches([{ id: 'a b' }], 1)[0]!),
    /`?"?a b/,
  ],
  updateDocuments: [
    (client) => settled(shelf(client).updateDocuments([{ title: 'Dune' }])),
    /`id`.*"title":"Dune"/,
  ],
  updateDocumentsInBatches: [
    (client) => settled(shelf(client).updateDocumentsInBatches([{ id: 'a b' }], 1)[0]!),
    /`?"?a b/,
  ],
  updateDocumentsFromString: [
    (client) => Promise.resolve(shelf(client).updateDocumentsFromString('{', 'application/json')),
    /JSON|json/,
  ],
  deleteDocument: [(client) => settled(ghost(client).deleteDocument(1)), noIndex],
  deleteDocuments: [
    (client) => Promise.resolve(shelf(client).deleteDocuments({ filter: '' })),
    'Sending an empty filter is forbidden.',
  ],
  deleteAllDocuments: [(client) => settled(ghost(client).deleteAllDocuments()), noIndex],
  updateDocumentsByFunction: [
    (client) => Promise.resolve(shelf(client).updateDocumentsByFunction({ function: 'doc.n = 1' })),
    /`edit documents by function`/,
  ],
}

const ofClient: Cases = {
  getIndex: [(client) => client.getIndex('ghost'), noIndex],
  getRawIndex: [(client) => client.getRawIndex('ghost'), noIndex],
  getIndexes: [(client) => client.getIndexes({ limit: -1 }), /`limit`/],
  getRawIndexes: [(client) => client.getRawIndexes({ offset: -1 }), /`offset`/],
  createIndex: [(client) => settled(client.createIndex('shelf')), 'Index `shelf` already exists.'],
  updateIndex: [(client) => settled(client.updateIndex('ghost', { primaryKey: 'id' })), noIndex],
  deleteIndex: [(client) => settled(client.deleteIndex('ghost')), noIndex],
  deleteIndexIfExists: [(client) => client.deleteIndexIfExists('a b'), /`a b`/],
  swapIndexes: [
    (client) => settled(client.swapIndexes([{ indexes: ['ghost', 'phantom'], rename: false }])),
    'Indexes `ghost`, `phantom` not found.',
  ],
  multiSearch: [
    (client) => client.multiSearch({ queries: [{ indexUid: 'ghost', q: '' }] }),
    /`\.queries\[0\]`: Index `ghost` not found\.$/,
  ],
  getChatWorkspaces: [(client) => client.getChatWorkspaces(), /`chat completions`/],
  getChatWorkspace: [(client) => client.getChatWorkspace('x'), /`chat completions`/],
  deleteChatWorkspace: [(client) => client.deleteChatWorkspace('x'), /`chat completions`/],
  getDynamicSearchRules: [(client) => client.getDynamicSearchRules(), /`dynamic search rules`/],
  getDynamicSearchRule: [(client) => client.getDynamicSearchRule('x'), /`dynamic search rules`/],
  updateDynamicSearchRule: [
    (client) => Promise.resolve(client.updateDynamicSearchRule('x', {} as never)),
    /`dynamic search rules`/,
  ],
  deleteDynamicSearchRule: [
    (client) => Promise.resolve(client.deleteDynamicSearchRule('x')),
    /`dynamic search rules`/,
  ],
  deleteAllDynamicSearchRules: [
    (client) => Promise.resolve(client.deleteAllDynamicSearchRules()),
    /`dynamic search rules`/,
  ],
  getWebhooks: [stranger((client) => client.getWebhooks()), /^The provided API key is invalid\.$/],
  getWebhook: [(client) => client.getWebhook('x'), noUuid],
  createWebhook: [(client) => client.createWebhook({ url: 'nowhere' } as never), /nowhere/],
  updateWebhook: [(client) => client.updateWebhook('x', {}), noUuid],
  deleteWebhook: [(client) => client.deleteWebhook('x'), noUuid],
  getNetwork: [(client) => client.getNetwork(), /`network`/],
  updateNetwork: [(client) => client.updateNetwork({ self: 'a' }), /`network`/],
  initializeNetwork: [
    (client) =>
      Promise.resolve(
        client.initializeNetwork({
          self: 'a',
          remotes: { a: { url: 'http://a.example' } },
          shards: { s: { remotes: ['a'] } },
        }),
      ),
    /`network`/,
  ],
  addRemote: [
    (client) => Promise.resolve(client.addRemote({ name: 'a', remote: { url: 'http://a.example' } })),
    /`network`/,
  ],
  removeRemote: [(client) => Promise.resolve(client.removeRemote({ name: 'a' })), /`network`/],
  addRemotesToShard: [(client) => Promise.resolve(client.addRemotesToShard('s', ['a'])), /`network`/],
  removeRemotesFromShard: [
    (client) => Promise.resolve(client.removeRemotesFromShard('s', ['a'])),
    /`network`/,
  ],
  getKeys: [(client) => client.getKeys({ limit: -1 }), /`limit`/],
  getKey: [(client) => client.getKey('x'), /`x`/],
  createKey: [
    (client) => client.createKey({ actions: ['paint'], indexes: ['*'], expiresAt: null }),
    /`paint`/,
  ],
  updateKey: [(client) => client.updateKey('x', { name: 'n' }), /`x`/],
  deleteKey: [(client) => client.deleteKey('x'), /`x`/],
  getStats: [stranger((client) => client.getStats()), /^The provided API key is invalid\.$/],
  getVersion: [stranger((client) => client.getVersion()), /^The provided API key is invalid\.$/],
  createDump: [
    stranger((client) => Promise.resolve(client.createDump())),
    /^The provided API key is invalid\.$/,
  ],
  createSnapshot: [
    stranger((client) => Promise.resolve(client.createSnapshot())),
    /^The provided API key is invalid\.$/,
  ],
  renderTemplate: [
    (client) => client.renderTemplate({ template: { kind: 'inlineDocumentTemplate', inline: '' } } as never),
    /`render route`/,
  ],
  getExperimentalFeatures: [
    stranger((client) => client.getExperimentalFeatures()),
    /^The provided API key is invalid\.$/,
  ],
  updateExperimentalFeatures: [
    (client) => client.updateExperimentalFeatures({ metrics: 'on' } as never),
    /`\.metrics`/,
  ],
}

const ofTasks: Cases = {
  getTask: [(client) => client.tasks.getTask(999), /`999` not found/],
  getTasks: [(client) => client.tasks.getTasks({ statuses: ['lost'] } as never), /`lost`/],
  getTaskDocuments: [(client) => client.tasks.getTaskDocuments(0), /`get task documents route`/],
  waitForTask: [(client) => client.tasks.waitForTask(999), /`999` not found/],
  waitForTasks: [(client) => client.tasks.waitForTasks([999]), /`999` not found/],
  waitForTasksIter: [(client) => client.tasks.waitForTasksIter([999]).next(), /`999` not found/],
  cancelTasks: [(client) => Promise.resolve(client.tasks.cancelTasks({})), /at least one filter/],
  deleteTasks: [
    (client) => Promise.resolve(client.tasks.deleteTasks({ uids: ['x'] } as never)),
    /`x`|`uids`/,
  ],
}

const ofBatches: Cases = {
  getBatch: [(client) => client.batches.getBatch(999), /`999` not found/],
  getBatches: [(client) => client.batches.getBatches({ types: ['lost'] } as never), /`lost`/],
}

const ofChat: Cases = {
  get: [(client) => client.chat('x').get(), /`chat completions`/],
  update: [(client) => client.chat('x').update({} as never), /`chat completions`/],
  reset: [(client) => client.chat('x').reset(), /`chat completions`/],
  streamCompletion: [
    (client) => client.chat('x').streamCompletion({ model: 'm', messages: [], stream: true } as never),
    /`chat completions`/,
  ],
}

/** Returns the call with a key that the server does not know. */
function stranger(call: Case[0]): Case[0] {
  return (client) => call(new Meilisearch({ host: client.config.host, apiKey: 'nobody-has-this-key' }))
}

/** Returns the message that a user of the client sees: of a thrown error or of the failed task. */
async function wordsOf(call: Case[0], client: Meilisearch): Promise<string> {
  try {
    const answer = (await call(client)) as Partial<Task> | TasksResults | undefined
    return (answer as Partial<Task> | undefined)?.error?.message ?? `no error: ${JSON.stringify(answer)}`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

async function check(t: ExecutionContext, cases: Cases): Promise<void> {
  const client = await openClient(t)
  await client.createIndex('bare').waitTask()
  await shelf(client)
    .addDocuments([...films], { primaryKey: 'id' })
    .waitTask()
  await shelf(client)
    .updateSettings({ filterableAttributes: ['genre', 'id'], sortableAttributes: ['title', 'id'] })
    .waitTask()
  for (const [name, [call, words]] of Object.entries(cases)) {
    const message = await wordsOf(call, client)
    const found = typeof words === 'string' ? message.startsWith(words) : words.test(message)
    t.true(found, `${name}: ${message}`)
    if (typeof words === 'string' && words.endsWith('.')) t.is(message, words, name)
  }
}

const methodsOf = (prototype: object): readonly string[] =>
  Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([name, { value }]) => typeof value === 'function' && name !== 'constructor')
    .map(([name]) => name)

test('every method of the official client has a case', (t) => {
  const client = new Meilisearch({ host: 'http://a.example' })
  const driven: readonly (readonly [object, Cases, readonly string[]])[] = [
    [Index.prototype, ofIndex, []],
    // The first two call no route, the others need no key.
    [Meilisearch.prototype, ofClient, ['index', 'chat', 'health', 'isHealthy']],
    [Object.getPrototypeOf(client.tasks) as object, ofTasks, []],
    [Object.getPrototypeOf(client.batches) as object, ofBatches, []],
    [Object.getPrototypeOf(client.chat('a')) as object, ofChat, []],
  ]
  for (const [prototype, cases, others] of driven)
    t.deepEqual([...methodsOf(prototype)].sort(), [...Object.keys(cases), ...others].sort())
})

for (const [name, cases] of Object.entries({ ofIndex, ofClient, ofTasks, ofBatches, ofChat }))
  test(`a refused call of the official client has a message: ${name}`, (t) => check(t, cases))

test('an expired tenant token is refused with both times, an unknown route with its status', async (t) => {
  const later = Date.now() + 3_600_000
  const server = await startServer(t, { masterKey, now: () => later })
  const client = new Meilisearch({ host: server.url, apiKey: masterKey, defaultWaitOptions })
  await client.createIndex('shelf').waitTask()
  const { key, uid } = (await client.getKeys()).results.find(({ actions }) => actions.includes('search'))!
  const exp = Math.floor(Date.now() / 1000) + 60
  const token = await generateTenantToken({ apiKey: key, apiKeyUid: uid, expiresAt: new Date(exp * 1000) })
  const holder = new Meilisearch({ host: server.url, apiKey: token })
  const error = await t.throwsAsync(holder.index('shelf').search(), { instanceOf: MeilisearchApiError })
  const now = Math.floor(later / 1000)
  t.is(error?.message, `Tenant token expired. Was valid up to \`${exp}\` and we're now \`${now}\`.`)
  const lost = new Meilisearch({ host: `${server.url}/indexes`, apiKey: masterKey })
  const missing = await t.throwsAsync(lost.index('shelf').getDocuments(), { instanceOf: MeilisearchError })
  t.is(missing?.message, '404: Not Found')
})
