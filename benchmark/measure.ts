/** How long, how much memory, how many bytes? Figures as a benchmark prints them. */
import { readFileSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { join } from 'node:path'

export interface Percentiles {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Milliseconds at the named ranks: of a hundred, p99 is the 99th from below. 0 for an empty list. */
export function percentiles(times: readonly number[]): Percentiles {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (rank: number) => sorted[Math.max(0, Math.ceil(sorted.length * rank) - 1)] ?? 0
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}

/** Bytes of all files below `directory`. */
export async function bytesOnDisk(directory: string): Promise<number> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true })
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      // One that went meanwhile takes nothing.
      .map((entry) =>
        stat(join(entry.parentPath, entry.name)).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Kibibytes of a field of `/proc/<pid>/status`, 0 where there is none (other systems). */
export async function memoryKib(pid: number, field: 'RssAnon' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
}

/** Processor time of a process in seconds, NaN where that is not told (other systems). */
export async function processorSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** Fewer ticks of the system's clock, a hundredth of a second each, say little of a share. */
const TICKS_MIN = 20

/**
 * What a machine that others share kept for them.
 * @returns a function that tells which share of the processors this system asked for and did not get since it was
 * last asked, in whole percent; NaN where that is not told (other systems) or was too short a time to tell
 */
export function watchStolen(): () => number {
  const read = () => {
    try {
      const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
      const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number)
      const [, , , idle = 0, waiting = 0, , , stolen = 0] = ticks
      return { wanted: ticks.reduce((sum, some) => sum + some, 0) - idle - waiting, stolen }
    } catch {
      return { wanted: Number.NaN, stolen: Number.NaN }
    }
  }
  let before = read()
  return () => {
    const now = read()
    const [wanted, stolen] = [now.wanted - before.wanted, now.stolen - before.stolen]
    before = now
    return wanted < TICKS_MIN ? Number.NaN : Math.round((100 * stolen) / wanted)
  }
}

export interface Busy {
  /** Processes that ran or waited to, on average over a minute, as the watch began. */
  readonly before: number
  /** The highest such average since, the measured processes among them. */
  readonly most: number
  /** As `watchStolen` tells it; null where it is not told. */
  readonly stolenPercent: number | null
}

/** How busy a machine is while it is measured. @returns a function that ends the watch and tells it */
export function watchBusy(): () => Busy {
  const stolen = watchStolen()
  const [before = 0] = loadavg()
  let most = before
  const look = () => {
    most = Math.max(most, loadavg()[0] ?? 0)
  }
  const timer = setInterval(look, 1000).unref()
  return () => {
    clearInterval(timer)
    look()
    const share = stolen()
    return { before, most, stolenPercent: Number.isNaN(share) ? null : share }
  }
}

/** Waits until a process does next to nothing for two seconds: what goes on in the background begins a little later. */
export async function untilIdle(pid: number): Promise<void> {
  for (let before = -1, quiet = 0; quiet < 4; ) {
    await new Promise((resolve) => setTimeout(resolve, 500))
    const now = await processorSeconds(pid)
    quiet = now - before > 0.05 ? 0 : quiet + 1
    before = now
  }
}

/**
 * Samples a process's anonymous memory from outside until stopped.
 * @returns a function that stops the sampling and tells both peaks in bytes
 */
export function watchMemory(pid: number): () => Promise<{ anonymous: number; resident: number }> {
  let anonymous = 0
  const timer = setInterval(async () => {
    anonymous = Math.max(anonymous, await memoryKib(pid, 'RssAnon'))
  }, 50)
  return async () => {
    clearInterval(timer)
    anonymous = Math.max(anonymous, await memoryKib(pid, 'RssAnon'))
    return { anonymous: anonymous * 1024, resident: (await memoryKib(pid, 'VmHWM')) * 1024 }
  }
}

/** `1,234,567` bytes as `1.2 MB`. */
export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
