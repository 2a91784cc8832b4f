import type { Corpus } from './corpus.js'
import { ended, type Instance, succeeded } from './instance.js'

/** Number of keys, webhooks and tasks to create in addition to the documents. */
export interface Amounts {
  readonly keys: number
  readonly webhooks: number
  readonly tasks: number
}

/** Number of concurrent requests. */
const AT_A_TIME = 16

/** Fills an empty instance and waits for all tasks. */
export async function fill(instance: Instance, corpus: Corpus, amounts: Amounts): Promise<void> {
  const { json, text } = instance
  await json('PATCH', '/experimental-features', { containsFilter: true, dynamicSearchRules: true })
  for (const { uid, primaryKey, settings, uploads } of corpus.indexes) {
    const set = await json<Accepted>('PATCH', `/indexes/${uid}/settings`, settings)
    await succeeded(instance, set.taskUid)
    for (const lines of uploads()) {
      const path = `/indexes/${uid}/documents?primaryKey=${primaryKey}`
      const { taskUid } = JSON.parse(await text('POST', path, lines, 'application/x-ndjson')) as Accepted
      await succeeded(instance, taskUid)
    }
  }
  const [first] = corpus.indexes
  const rule = {
    conditions: { query: { words: 'the' } },
    actions: { pin: [{ id: '1', position: 2, indexUid: first?.uid }] },
  }
  await succeeded(instance, (await json<Accepted>('PATCH', '/dynamic-search-rules/one', rule)).taskUid)
  await runTasks(instance, amounts.tasks)
  for (let at = 0; at < amounts.keys; at++) await json('POST', '/keys', keyAt(at))
  // Webhooks come last, so that they do not receive the earlier tasks.
  for (let at = 0; at < amounts.webhooks; at++)
    await json('POST', '/webhooks', { url: `https://hooks.invalid/${at}`, headers: { 'x-nth': String(at) } })
}

interface Accepted {
  readonly taskUid: number
}

const keyAt = (at: number): object => ({
  uid: `6f1d2a34-9b0c-4e57-8a11-${String(at).padStart(12, '0')}`,
  name: `key ${at}`,
  description: at % 2 === 0 ? null : `of ${at}`,
  actions: at % 3 === 0 ? ['search'] : ['documents.*', 'indexes.get'],
  indexes: at % 2 === 0 ? ['*'] : ['few', 'films*'],
  expiresAt: at % 2 === 0 ? null : '2090-01-02T03:04:05Z',
})

type Call = readonly [method: string, path: string, body?: object]

/** A write of each kind that keeps the index `few` small. Some fail. */
const kinds: readonly ((at: number) => Call)[] = [
  (at) => ['POST', '/indexes/few/documents', [{ id: at % 100, n: at }]],
  (at) => ['PUT', '/indexes/few/documents', [{ id: at % 50, more: `text ${at}` }]],
  (at) => ['POST', '/indexes/few/documents', [{ id: `not an id ${at}` }]],
  (at) => ['DELETE', `/indexes/few/documents/${at % 100}`],
  (at) => ['POST', '/indexes/few/documents/delete', { filter: `n = ${at}` }],
  (at) => ['PATCH', '/indexes/few/settings', { stopWords: [`word${at % 7}`], filterableAttributes: ['n'] }],
  (at) => ['POST', '/indexes', { uid: `index-${at % 5}`, primaryKey: 'id' }],
  (at) => ['DELETE', `/indexes/index-${at % 5}`],
  () => ['POST', '/swap-indexes', [{ indexes: ['few', 'none'] }]],
  (at) => ['POST', `/tasks/cancel?uids=${at}`],
]

async function runTasks(instance: Instance, count: number): Promise<void> {
  let next = 0
  let last = 0
  const worker = async (): Promise<void> => {
    while (next < count) {
      const at = next++
      // Most tasks of a typical history add documents.
      const kind = kinds[at % 4 === 3 ? Math.floor(at / 4) % kinds.length : 0]
      if (kind === undefined) return
      const [method, path, body] = kind(at)
      const { taskUid } = await instance.json<Accepted>(method, path, body)
      last = Math.max(last, taskUid)
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, worker))
  if (count > 0) await ended(instance, last)
  for (;;) {
    const { total } = await instance.json<{ total: number }>(
      'GET',
      '/tasks?statuses=enqueued,processing&limit=1',
    )
    if (total === 0) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
