import { randomUUID } from 'node:crypto'
import {
  linkSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import {
  FOREIGN_LOCK_WATCH_MS,
  HEARTBEAT_MS,
  LEAVING_OWNER_POLL_MS,
  LEAVING_OWNER_WATCH_MS,
} from './limits.js'

/** The data directory belongs to another running process. */
export class DirectoryInUseError extends Error {
  override readonly name = 'DirectoryInUseError'
}

/** The process that holds a lock. */
interface Owner {
  readonly pid: number
  /** Start of the process in kernel ticks, to detect that its pid was reused; empty where the system has none. */
  readonly started: string
  /** Host and pid namespace. Pids can be compared only within one namespace. */
  readonly space: string
}

/**
 * Makes this process the owner of the data next to `path` until the returned function is called or the process ends in
 * any way.
 *
 * A lock of a dead process is taken over at once. If the process is ending, this waits for it. The pid in a lock of
 * another host or container is meaningless here, so the heartbeat of that lock is watched for a few seconds.
 * @throws DirectoryInUseError if the owner is alive
 */
export async function claim(path: string): Promise<() => void> {
  const own = JSON.stringify(thisProcess())
  while (!created(path, own)) await removeDead(path)
  const heartbeat = setInterval(() => {
    try {
      utimesSync(path, new Date(), new Date())
    } catch {
      // A missed heartbeat only matters to other hosts, which wait for several.
    }
  }, HEARTBEAT_MS)
  heartbeat.unref()
  return () => {
    clearInterval(heartbeat)
    // Another host may have taken over the lock of a process that was suspended.
    if (textIn(path) === own) rmSync(path, { force: true })
  }
}

/** Creates a lock, complete from the moment that it exists. @returns false if there is one */
function created(path: string, content: string): boolean {
  const part = `${path}.${randomUUID()}`
  try {
    writeFileSync(part, content, { flag: 'wx' })
    return isNew(() => linkSync(part, path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== 'link') throw error
    // The file system has no hard links.
    return isNew(() => writeFileSync(path, content, { flag: 'wx' }))
  } finally {
    rmSync(part, { force: true })
  }
}

/** @returns false if the file that `create` creates exists */
function isNew(create: () => void): boolean {
  try {
    create()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/**
 * Removes a lock whose owner is dead. Processes that find it at the same time take turns, which a lock of its own decides:
 * otherwise one could remove the lock that another has created in its place.
 * @throws DirectoryInUseError if the owner is alive
 */
async function removeDead(path: string): Promise<void> {
  const found = textIn(path)
  await requireFree(path)
  if (found === null) return
  const release = await claim(`${path}.${crc32(found).toString(16)}`).catch(async (error: unknown) => {
    await requireFree(path)
    throw error
  })
  try {
    if (textIn(path) === found) rmSync(path, { force: true })
  } finally {
    release()
  }
}

/**
 * Checks that no living process owns the data next to `path`, without claiming it.
 * @throws DirectoryInUseError if the owner is alive
 */
export const requireFree = (path: string): Promise<void> => requireDeadOwner(path, thisProcess())

async function requireDeadOwner(path: string, self: Owner): Promise<void> {
  const owner = ownerIn(path)
  if (owner === null || !(await lives(owner, self, path))) return
  throw new DirectoryInUseError(
    `the data directory is in use by process ${owner.pid} of ${owner.space} (${path}); stop it first`,
  )
}

const thisProcess = (): Owner => ({
  pid: process.pid,
  started: startOf(process.pid),
  space: pidSpace(),
})

/** Returns null if the file is missing or was truncated by a crash. @throws Error of the system as `textIn` */
function ownerIn(path: string): Owner | null {
  try {
    const owner: unknown = JSON.parse(textIn(path) ?? '')
    return typeof owner === 'object' && owner !== null && 'pid' in owner && 'space' in owner
      ? (owner as Owner)
      : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

/**
 * Returns null if the file is missing.
 * @throws Error of the system if it cannot be read: a lock with an unknown owner is not taken over
 */
function textIn(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
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

/** True if a process is a zombie. Containers without an init process never remove zombies. */
function isDead(pid: number): boolean {
  try {
    // The main thread may end before others, which still hold the files.
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

/** Fields of a process from its state on; empty where the system has none. Source: proc_pid_stat(5). */
function stateOf(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may contain spaces.
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
    // Other systems than Linux have no such file. The host name then has to suffice.
  }
  return `${hostname()}${namespace === '' ? '' : ` ${namespace}`}`
}
