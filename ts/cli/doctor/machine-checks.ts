/** Checks of `siftd doctor` on the machine. */
import { readFileSync } from 'node:fs'
import { build, type LaunchOptions, machine, packageVersion } from '../../launch/index.js'
import { bad, type Finding, good, odd, size } from './finding.js'

/** The oldest supported Node.js, as in `package.json`. */
const NODE_VERSION_MIN = [20, 17] as const

/** Open files that a busy server needs for connections and index files. */
const OPEN_FILES_MIN = 4_096

/** With less memory, in bytes, indexing of large documents is slow. */
const MEMORY_BYTES_MIN = 512 * 2 ** 20

export function checkVersions(): readonly Finding[] {
  const { commitSha } = build()
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [majorMin, minorMin] = NODE_VERSION_MIN
  const isOld = major < majorMin || (major === majorMin && minor < minorMin)
  const node = `Node.js ${process.versions.node} on ${process.platform} ${process.arch}`
  return [
    good('version', `siftd ${packageVersion()}, commit ${commitSha}`),
    isOld
      ? bad('node', node, `install Node.js ${majorMin}.${minorMin} or later from https://nodejs.org`)
      : good('node', node),
  ]
}

export function checkLimits({ maxIndexingMemory }: LaunchOptions): readonly Finding[] {
  const { memoryBytes, cores } = machine()
  const memory = `${size(memoryBytes)} and ${cores} cores, of which indexing may use ${size(maxIndexingMemory)}`
  return [
    memoryBytes < MEMORY_BYTES_MIN
      ? odd(
          'memory',
          memory,
          `give the process at least ${size(MEMORY_BYTES_MIN)}, or lower --max-indexing-memory`,
        )
      : maxIndexingMemory > memoryBytes
        ? bad('memory', memory, 'lower --max-indexing-memory below the memory of the process')
        : good('memory', memory),
    ...openFiles(),
  ]
}

/** Checks the limit of open files on systems with `/proc`. */
function openFiles(): readonly Finding[] {
  const text = readIfExists('/proc/self/limits')
  const [, limit = 'unlimited'] = /^Max open files\s+(\S+)/m.exec(text ?? '') ?? []
  if (text === null) return []
  const found = `${limit} files may be open at a time`
  return [
    limit !== 'unlimited' && Number(limit) < OPEN_FILES_MIN
      ? odd(
          'open files',
          found,
          'raise it: LimitNOFILE=65535 in a unit of systemd, or ulimit -n 65535 in a shell',
        )
      : good('open files', found),
  ]
}

function readIfExists(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}

/** With a wrong clock, keys expire at the wrong time and certificates of other hosts are refused. */
export function checkClock(): readonly Finding[] {
  const built = Date.parse(build().commitDate)
  const found = `${new Date().toISOString()}`
  return [
    Date.now() < built
      ? bad(
          'clock',
          `${found}, which is before this version was made`,
          'set the clock: timedatectl set-ntp true',
        )
      : good('clock', found),
  ]
}
