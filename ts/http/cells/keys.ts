/** Gives all cells the keys of the home cell. */
import type { KeyBook, KeyRecord } from '../../auth/index.js'
import { ApiError } from '../../errors/index.js'
import { toValue } from '../../operations/index.js'
import { readAnswer } from '../../outbound/index.js'
import type { Cells } from './cells.js'
import { KEYS_MS, KEYS_PAGE, PART_BYTES_MAX, PART_MS_MAX } from './limits.js'

/**
 * Sends a changed key to all other cells. Sending it again is safe.
 * @param change the key, or the uid of a deleted key
 * @throws ApiError `bucket_unavailable` that names a cell without the change
 */
export async function sendKey(
  cells: Cells,
  change: { readonly record: KeyRecord } | { readonly uid: string },
): Promise<void> {
  const { headers } = cells.asMaster
  // Cells refuse to create it. It opens nothing, and the next comparison takes it.
  if ('record' in change && isExpired(change.record)) return
  const call = { headers, timeoutMs: PART_MS_MAX, answerBytesMax: PART_BYTES_MAX } as const
  await Promise.all(
    cells.others.map(async (cell) => {
      const { status } = await ('record' in change
        ? cells.call(cell, {
            ...{ ...call, method: 'POST', path: '/keys' },
            headers: { ...headers, 'content-type': 'application/json' },
            body: JSON.stringify(sentForm(change.record)),
          })
        : cells.call(cell, { ...call, method: 'DELETE', path: `/keys/${change.uid}` })
      ).catch(() => ({ status: 503 }))
      if (status >= 300)
        throw new ApiError(
          'bucket_unavailable',
          `the key is changed, but not in the cell \`${cell}\` yet: it gets the change some seconds after it can be reached`,
        )
    }),
  )
}

const isExpired = ({ expiresAt }: KeyRecord): boolean =>
  expiresAt !== null && Date.parse(expiresAt) <= Date.now()

const sentForm = ({ uid, name, description, actions, indexes, expiresAt }: KeyRecord): object => ({
  ...{ uid, actions, indexes, expiresAt },
  ...(name !== null && { name }),
  ...(description !== null && { description }),
})

/** Returns the keys of the home cell. @throws ApiError if it does not answer */
async function keysOfHome(cells: Cells): Promise<readonly KeyRecord[]> {
  const found: KeyRecord[] = []
  for (;;) {
    const { status, body } = await cells.call(cells.home, {
      ...{ method: 'GET', path: `/keys?offset=${found.length}&limit=${KEYS_PAGE}` },
      // A follower that lags would bring back a deleted key.
      headers: { ...cells.asMaster.headers, 'x-siftd-read-consistency': 'strong' },
      ...{ timeoutMs: PART_MS_MAX, answerBytesMax: PART_BYTES_MAX },
    })
    if (status !== 200) throw new ApiError('bucket_unavailable', `the home cell answered ${status}`)
    const page = toValue(await readAnswer(body, { depthMax: 8, valuesMax: 1_000_000 }))
    const { results, total } = page as { results: readonly (KeyRecord & { key: string })[]; total: number }
    found.push(...results.map(({ key: _, ...record }) => record))
    if (results.length === 0 || found.length >= total) return found
  }
}

/**
 * Makes the keys of this cell equal to those of the home cell, every few seconds. Does nothing in the home cell.
 * @returns ends it
 */
export function copyKeys(
  keys: KeyBook,
  cells: Cells,
  log: { warn(facts: object, message: string): void },
): () => Promise<void> {
  const closing = new AbortController()
  let isFailing = false
  const once = async (): Promise<void> => {
    try {
      const { changes } = keys
      if (cells.home !== cells.name) await keys.take(await keysOfHome(cells), changes)
      isFailing = false
    } catch (error) {
      if (!isFailing && !closing.signal.aborted)
        log.warn({ err: error }, 'the keys of the home cell cannot be copied; it is tried again')
      isFailing = true
    }
  }
  let running = once()
  const timer = setInterval(() => {
    running = running.then(once)
  }, KEYS_MS)
  timer.unref()
  return async () => {
    closing.abort()
    clearInterval(timer)
    await running
  }
}
