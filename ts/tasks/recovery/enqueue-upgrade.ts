/** Enqueues the task that upgrades data of an older version and blocks the queue until it is done. */
import { newRow } from '../store/new-row.js'
import type { StoreClient } from '../store/store-client.js'

/** Versions of this service, `major.minor.patch`. */
export interface Upgrade {
  readonly from: string
  readonly to: string
}

/** Enqueues the upgrade task, unless an earlier start has. */
export async function enqueueUpgrade({ from, to }: Upgrade, store: StoreClient): Promise<void> {
  const waiting = await store.call('match', [{ types: ['upgradeDatabase'], statuses: ['enqueued'] }])
  const tasks = await store.call('pending', [waiting])
  if (tasks.some(({ content }) => content.kind === 'upgradeDatabase' && content.to === to)) return
  const content = { kind: 'upgradeDatabase', from, to } as const
  await store.call('append', [newRow({ indexUid: null, type: 'upgradeDatabase', content }, content)])
}
