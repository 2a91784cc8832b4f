/** Finds the damaged files of a queue and its engine, and the loss that each causes. */
import type { Damage, Engine } from '../engine/index.js'
import { ApiError } from '../errors/index.js'
import { PENDING_TASKS_READ } from './limits.js'
import type { Spool } from './spool.js'
import type { CatalogueRow } from './store/records.js'
import type { StoreClient } from './store/store-client.js'
import type { Finding } from './tasks.js'

interface VerifiedParts {
  readonly engine: Engine
  readonly store: Pick<StoreClient, 'call'>
  readonly spool: Spool
  readonly rows: readonly CatalogueRow[]
}

const LOST_INDEX =
  'the index is refused with `index_damaged`: stop the server and run `siftd repair`, which keeps what can be read, or restore a backup, or delete the index and send its documents again'

/**
 * Reads every file of every index and every waiting upload, and compares the catalogue with the directories. Changes
 * nothing; searches and batches continue.
 * @param checked called after each index
 */
export async function verifyQueue(
  { engine, store, spool, rows }: VerifiedParts,
  checked: (finished: number, total: number) => void = () => undefined,
): Promise<readonly Finding[]> {
  return [...(await verifyIndexes(engine, rows, checked)), ...(await damagedUploads(store, spool))]
}

/**
 * Reads every file of every index, and compares the directories with `indexes`.
 * @param checked called after each index
 */
export async function verifyIndexes(
  engine: Engine,
  indexes: readonly Pick<CatalogueRow, 'uid' | 'id'>[],
  checked: (finished: number, total: number) => void,
): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  const known = new Set(indexes.map(({ id }) => id))
  for (const [position, { uid, id }] of indexes.entries()) {
    findings.push(...(await findingsOf(engine, uid, id)))
    checked(position + 1, indexes.length)
  }
  for (const id of await engine.list())
    if (!known.has(id))
      findings.push({
        indexUid: null,
        file: id,
        problem: 'no index of the catalogue has this directory',
        cost: 'nothing: a start moves it to `lost/`, or removes it if it was dropped',
        isHarmful: false,
      })
  return findings
}

/** Reads every file of an index. */
export async function findingsOf(engine: Engine, uid: string, id: string): Promise<readonly Finding[]> {
  const indexUid = uid
  // Reading the newest commit makes the engine record damage that it finds.
  await engine.lastCommit(id).catch(() => null)
  const damage = engine.damage(id)
  const found = await engine
    .verify(id)
    .catch((error: unknown): readonly Damage[] => [
      { path: id, reason: error instanceof Error ? error.message : String(error) },
    ])
  const findings = found.map(
    ({ path, reason, isHarmless = false }): Finding => ({
      indexUid,
      file: path,
      problem: reason,
      cost: isHarmless ? 'nothing: it only saves time, and is made again' : LOST_INDEX,
      isHarmful: !isHarmless,
    }),
  )
  if (damage === null || findings.some(({ isHarmful }) => isHarmful)) return findings
  const file = (await engine.newestCommitFile(id).catch(() => null)) ?? id
  return [{ indexUid, file, problem: damage, cost: LOST_INDEX, isHarmful: true }, ...findings]
}

/** Compares the waiting uploads with the received lengths and checksums. */
export async function damagedUploads(
  store: VerifiedParts['store'],
  spool: Spool,
): Promise<readonly Finding[]> {
  const waiting = await store.call('match', [{ statuses: ['enqueued', 'processing'] }])
  const findings: Finding[] = []
  for (let from = 0; from < waiting.length; from += PENDING_TASKS_READ) {
    const tasks = await store.call('pending', [waiting.slice(from, from + PENDING_TASKS_READ)])
    for (const { row, content } of tasks) {
      if (content.kind !== 'documents') continue
      const { payload, payloadBytes } = content
      if (!('path' in payload)) continue
      const { indexUid, uid } = row
      await spool.check(payload, payloadBytes).catch(async (error: unknown) => {
        if (!(error instanceof ApiError)) throw error
        // An upload is removed when its task ends, which may have happened after the task was read.
        if ((await store.call('pending', [[uid]])).length === 0) return
        const cost = `task ${uid} will fail with \`upload_damaged\`: send its documents again`
        const file = spool.pathOf(payload.path)
        findings.push({ indexUid, file, problem: error.message, cost, isHarmful: true })
      })
    }
  }
  return findings
}
