import { readFileSync, readlinkSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { FOREIGN_LOCK_WATCH_MS, HEARTBEAT_MS } from './limits.js'

/** The data directory belongs to another running process. */
export class DirectoryInUseError extends Error {
  override readonly name = 'DirectoryInUseError'
}

/** Who holds a lock, in terms that survive pids being reused. */
interface Owner {
  readonly pid: number
  /** Start of the process in kernel ticks, empty where the system does not tell. */
  readonly started: string
  /** Pids compare only inside the same host and pid namespace. */
  readonly space: string
}

/**
 * Makes this process the owner of the data kept beside `path` until the returned function is called or
 * the process ends, however it ends.
 *
 * A lock whose process is gone is taken over at once. One written from another host or container cannot
 * be judged by its pid, so its heartbeat is watched for a few seconds.
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
      // Without a beat the lock only looks older to other hosts.
    }
  }, HEARTBEAT_MS)
  heartbeat.unref()
  return () => {
    clearInterval(heartbeat)
    rmSync(path, { force: true })
  }
}

/** Null if the file is gone or was cut short by a crash. */
function ownerIn(path: string): Owner | null {
  try {
    const owner: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return typeof owner === 'object' && owner !== null && 'pid' in owner && 'space' in owner
      ? (owner as Owner)
      : null
  } catch {
    return null
  }
}

async function lives(owner: Owner, self: Owner, path: string): Promise<boolean> {
  if (owner.space !== self.space) return beats(path)
  try {
    process.kill(owner.pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  return startOf(owner.pid) === owner.started
}

async function beats(path: string): Promise<boolean> {
  const before = modified(path)
  const end = Date.now() + FOREIGN_LOCK_WATCH_MS
  while (Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, HEARTBEAT_MS / 4))
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

function startOf(pid: number): string {
  try {
    // The name in parentheses may hold blanks; the start time is the 20th field after it.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    return ''
  }
}

function pidSpace(): string {
  let namespace = ''
  try {
    namespace = readlinkSync('/proc/self/ns/pid')
  } catch {
    // Not Linux: the host name alone has to do.
  }
  return `${hostname()}${namespace === '' ? '' : ` ${namespace}`}`
}
