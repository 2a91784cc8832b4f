import { mkdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname } from 'node:path'
import { waitOnTimer } from '../../outbound/index.js'
import { LOCK_BEAT_MS, LOCK_POLL_MS, LOCK_STALE_MS } from './limits.js'

interface LockOptions {
  readonly signal: AbortSignal
  /** Called once if another process holds the lock. */
  readonly onWait: () => void
  /** Milliseconds without a heartbeat after which the holder counts as dead. */
  readonly staleMs?: number | undefined
}

/**
 * Runs `work` while no other process holds the lock at this path, on this machine or another with the folder mounted.
 *
 * The lock is a directory, which only one process can create. Its holder touches it regularly. Waiting processes check
 * that its date changes, so clocks need not agree.
 */
export async function locked<T>(path: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  await acquire(path, options)
  const beat = setInterval(() => {
    const now = new Date()
    // If the lock was taken away, the work itself fails because its files are gone.
    utimes(path, now, now).catch(() => undefined)
  }, LOCK_BEAT_MS)
  beat.unref()
  try {
    return await work()
  } finally {
    clearInterval(beat)
    await rm(path, { recursive: true, force: true })
  }
}

async function acquire(
  path: string,
  { signal, onWait, staleMs = LOCK_STALE_MS }: LockOptions,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  let seen: { readonly at: number; readonly since: number } | null = null
  for (;;) {
    signal.throwIfAborted()
    if (await made(path)) return
    if (seen === null) onWait()
    const at = await touchedAt(path)
    if (seen === null || seen.at !== at) seen = { at, since: performance.now() }
    else if (performance.now() - seen.since > staleMs) {
      // Only one waiting process can move it. The rename of the others fails.
      const aside = `${path}-${process.pid}-${seen.since}`
      await rename(path, aside).catch(() => undefined)
      await rm(aside, { recursive: true, force: true })
      continue
    }
    await waitOnTimer(LOCK_POLL_MS, signal)
  }
}

async function made(path: string): Promise<boolean> {
  try {
    await mkdir(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Returns when the lock was last touched; 0 if it does not exist. */
const touchedAt = (path: string): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  )
