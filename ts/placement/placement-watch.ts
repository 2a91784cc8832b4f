import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { replaceFile } from '../instance/index.js'
import { LaunchError } from '../launch/index.js'
import { linkedSignal } from '../outbound/index.js'
import type { Logger } from '../telemetry/index.js'
import { POLL_MS, REFRESH_MS, START_MS } from './limits.js'
import { cellNamed, emptyPlacement, type Placement, readPlacement } from './placement.js'
import type { PlacementStore } from './placement-store.js'

/** File in the data directory: the last placement that was read. */
const FILE = 'placement.json'

/** The placement as this server knows it. */
export interface OpenedPlacement {
  current(): Placement
  /** Reads the placement, unless that has just been done. Never rejects. */
  refresh(): Promise<void>
  close(): Promise<void>
}

interface PlacementRequest {
  readonly store: Pick<PlacementStore, 'newest' | 'later' | 'name'>
  /** The data directory. It exists. */
  readonly directory: string
  /** Name of the cell of this server. */
  readonly cell: string
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Reads the placement, and again every few seconds. While the bucket is away, the last one read counts, also after a
 * restart.
 * @throws LaunchError if there is none, or if it lacks the cell of this server
 */
export async function openPlacement(request: PlacementRequest): Promise<OpenedPlacement> {
  const { store, directory, cell, log, signal } = request
  const path = join(directory, FILE)
  const stored = await storedAt(path)
  const limit = linkedSignal([signal], START_MS)
  const newest = store.newest(stored, limit.signal).finally(() => limit.unlink())
  let current = await newest.catch((error: unknown) => {
    signal.throwIfAborted()
    const reason = error instanceof Error ? error.message : String(error)
    if (stored.version === 0) throw new LaunchError(`--placement: it cannot be read: ${reason}`, 1)
    log.warn(
      { err: error, version: stored.version },
      'the placement cannot be read; the last one read counts',
    )
    return stored
  })
  if (cellNamed(current, cell) === null) {
    const command = `siftd placement set-cell ${cell} --url …`
    throw new LaunchError(`--cell: the placement has no cell \`${cell}\`; add it with \`${command}\``, 2)
  }
  const number = cellNamed(current, cell)?.number
  /** Version in the file. A new data directory is empty until the instance is open, so a start stores nothing. */
  let kept = stored.version

  let isKeepFailing = false
  async function keep(): Promise<void> {
    const { version } = current
    if (kept === version) return
    try {
      await replaceFile(path, JSON.stringify(current))
      kept = version
      isKeepFailing = false
    } catch (error) {
      // The next read tries again. After a restart without the bucket, an older placement would count.
      if (!isKeepFailing) log.warn({ err: error }, 'the placement cannot be stored')
      isKeepFailing = true
    }
  }

  let isFailing = false
  async function read(): Promise<void> {
    try {
      const next = await store.later(current, closing.signal)
      isFailing = false
      if (next.version === current.version) return
      if (cellNamed(next, cell)?.number !== number) {
        log.error(
          { version: next.version },
          `the placement changes the number of \`${cell}\`, and is ignored`,
        )
        return
      }
      current = next
      log.info({ version: next.version }, 'the placement has changed')
    } catch (error) {
      if (closing.signal.aborted || isFailing) return
      isFailing = true
      log.warn({ err: error }, 'the placement cannot be read; the last one read counts')
    }
  }

  const closing = new AbortController()
  let reading: Promise<void> | null = null
  let readAt = Number.NEGATIVE_INFINITY
  const refresh = (): Promise<void> => {
    if (reading !== null) return reading
    if (performance.now() - readAt < REFRESH_MS) return Promise.resolve()
    reading = read().finally(() => {
      reading = null
      readAt = performance.now()
    })
    return reading
  }
  const loop = (async () => {
    while (!closing.signal.aborted) {
      await sleep(POLL_MS, undefined, { signal: closing.signal, ref: false }).catch(() => undefined)
      if (closing.signal.aborted) return
      await refresh()
      await keep()
    }
  })()
  return {
    current: () => current,
    refresh,
    async close() {
      closing.abort()
      await loop
      await reading
    },
  }
}

/** Returns the placement in a file. A missing or damaged file is an empty placement. */
async function storedAt(path: string): Promise<Placement> {
  try {
    return readPlacement(await readFile(path, 'utf8'), FILE)
  } catch {
    return emptyPlacement
  }
}
