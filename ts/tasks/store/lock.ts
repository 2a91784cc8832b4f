import { readdirSync, readFileSync, readlinkSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  FOREIGN_LOCK_WATCH_MS,
  HEARTBEAT_MS,
  LEAVING_OWNER_POLL_MS,
  LEAVING_OWNER_WATCH_MS,
} from '../limits.js'

/** The data directory belongs to another running process. */
export class DirectoryInUseError extends Error {
  override readonly name = 'DirectoryInUseError'
}

/** The process that holds a lock. */
interface Owner {
  readonly pid: number
  /**
   * Start of the process in kernel ticks, which tells it from a later one with its pid; empty where the system has
   * none.
   */
  readonly started: string
  /** Host and pid namespace. Pids of two processes compare only if these are the same. */
  readonly space: string
}

/**
 * Makes this process the owner of the data beside `path` until the returned function is called or
 * the process ends, however it ends.
 *
 * A lock whose process is gone is taken over at once; a process that is about to end is waited for. The pid in a lock
 * of another host or container says nothing here, so the heartbeat of such a lock is watched for a few seconds.
 * @throws DirectoryInUseError if the owner lives
 */
export async function claim(path: string): Promise<() => void> {
  const self: Owner = { pid: process.pid, started: startOf(process.pid), space: pidSpace() }
  for (;;) {
    try {
      writeFileSync(path, JSON.stringify(self), { flag: 'wx' })
      break
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const owner = ownerIn(path)
    if (owner !== null && (await lives(owner, self, path))) {
      throw new DirectoryInUseError(
        `the data directory is in use by process ${owner.pid} of ${owner.space} (${path}); stop it first`,
      )
    }
    rmSync(path, { force: true })
  }
  const heartbeat = setInterval(() => {
    try {
      utimesSync(path, new Date(), new Date())
    } catch {
      // A heartbeat that is missing only matters to other hosts, which watch for several.
    }
  }, HEARTBEAT_MS)
  heartbeat.unref()
  return () => {
    clearInterval(heartbeat)
    rmSync(path, { force: true })
  }
}

/**
 * Null if the file is gone or was cut short by a crash.
 * @throws Error of the system if it cannot be read: a lock whose owner is unknown is not taken over
 */
function ownerIn(path: string): Owner | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  try {
    const owner: unknown = JSON.parse(text)
    return typeof owner === 'object' && owner !== null && 'pid' in owner && 'space' in owner
      ? (owner as Owner)
      : null
  } catch {
    return null
  }
}

async function lives(owner: Owner, self: Owner, path: string): Promise<boolean> {
  if (owner.space !== self.space) return beats(path)
  const end = performance.now() + LEAVING_OWNER_WATCH_MS
  while (runs(owner)) {
    if (owner.pid === self.pid || performance.now() >= end) return true
    await sleep(LEAVING_OWNER_POLL_MS)
  }
  return false
}

function runs(owner: Owner): boolean {
  try {
    process.kill(owner.pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  return startOf(owner.pid) === owner.started && !isDead(owner.pid)
}

/** Whether a process is a zombie. Containers without an init keep zombies for good. */
function isDead(pid: number): boolean {
  try {
    // The first thread of a process may end before others, which still hold its files.
    return stateOf(pid)[0] === 'Z' && readdirSync(`/proc/${pid}/task`).length === 1
  } catch {
    return false
  }
}

async function beats(path: string): Promise<boolean> {
  const before = modified(path)
  const end = performance.now() + FOREIGN_LOCK_WATCH_MS
  while (performance.now() < end) {
    await sleep(HEARTBEAT_MS / 4)
    if (modified(path) !== before) return true
  }
  return false
}

function modified(path: string): number {
  try {
    return statSync(path).mtimeMs
  } catch {
    return 0
  }
}

const startOf = (pid: number): string => stateOf(pid)[19] ?? ''

/** The fields of a process from its state on; empty where the system has none. Source: proc_pid_stat(5). */
function stateOf(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may hold blanks.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

function pidSpace(): string {
  let namespace = ''
  try {
    namespace = readlinkSync('/proc/self/ns/pid')
  } catch {
    // Systems other than Linux have no such file; the host name is used alone.
  }
  return `${hostname()}${namespace === '' ? '' : ` ${namespace}`}`
}
