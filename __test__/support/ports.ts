/** Free TCP ports for servers that tests start. */
import { closeSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Systems assign ports above this range to connections and to `listen(0)`. `fetch` refuses some ports below it, the last
 * is 10080: https://fetch.spec.whatwg.org/#port-blocking
 */
const PORTS = { first: 10_100, count: 19_900 }

/** An older claim was left by a killed process. */
const CLAIM_MS_MAX = 6 * 3_600_000

/** A file for each claimed port, for the test processes of this machine. */
const directory = join(tmpdir(), 'siftd-test-ports')
const claims = new Set<string>()

process.once('exit', () => {
  for (const claim of claims) rmSync(claim, { force: true })
})

/**
 * Finds a free TCP port. No other test process gets it before this process ends: a server listens on it only later, and
 * not while it restarts.
 */
export async function freePort(): Promise<number> {
  mkdirSync(directory, { recursive: true })
  for (;;) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count)
    if (claimed(port) && (await isFree(port))) return port
  }
}

/** Claims a port. @returns false if another process has claimed it */
function claimed(port: number): boolean {
  const claim = join(directory, String(port))
  try {
    closeSync(openSync(claim, 'wx'))
    claims.add(claim)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const age = Date.now() - (statSync(claim, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
    if (age > CLAIM_MS_MAX) rmSync(claim, { force: true })
    return false
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer().once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
