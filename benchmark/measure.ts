/** Measures time, memory, disk use and machine load for benchmarks. */
import { readFileSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { join } from 'node:path'

export interface Percentiles {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Returns percentiles by nearest rank: of a hundred times, p99 is the 99th smallest. 0 for an empty list. */
export function percentiles(times: readonly number[]): Percentiles {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (rank: number) => sorted[Math.max(0, Math.ceil(sorted.length * rank) - 1)] ?? 0
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}

/** Returns the total size of all files below `directory`. */
export async function bytesOnDisk(directory: string): Promise<number> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true })
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      // A file may have been removed in between.
      .map((entry) =>
        stat(join(entry.parentPath, entry.name)).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Returns a field of `/proc/<pid>/status` in kibibytes; 0 on other systems. */
export async function memoryKib(pid: number, field: 'RssAnon' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
}

/** Returns the processor time of a process in seconds; NaN on other systems. */
export async function processorSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** Returns the processor time in seconds of a process and all processes that it has started; NaN on other systems. */
export async function familyProcessorSeconds(pid: number): Promise<number> {
  const entries = await readdir('/proc').catch(() => [])
  const all = new Map<number, { readonly parent: number; readonly ticks: number }>()
  for (const entry of entries.filter((name) => /^\d+$/.test(name))) {
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // User and system time of the process, and of its children that have ended.
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    all.set(Number(entry), { parent: Number(fields[1]), ticks })
  }
  const isInside = (at: number): boolean => at === pid || (all.has(at) && isInside(all.get(at)!.parent))
  const inside = [...all].filter(([at]) => isInside(at))
  return inside.length === 0 ? Number.NaN : inside.reduce((sum, [, { ticks }]) => sum + ticks, 0) / 100
}

/** Minimum number of clock ticks (10 ms each) for a meaningful share. */
const TICKS_MIN = 20

/**
 * Measures the processor time stolen by other virtual machines.
 * @returns a function that returns the stolen share of the requested processor time since its last call, in whole
 * percent; NaN on other systems or after too short a time
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
  /** Load average of a minute when the watch began. */
  readonly before: number
  /** Highest load average since, including the measured processes. */
  readonly most: number
  /** Result of `watchStolen`; null if not available. */
  readonly stolenPercent: number | null
}

/** Watches how busy the machine is. @returns a function that ends the watch and returns the result */
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

/** Waits until a process is idle for two seconds, because background work begins with a delay. */
export async function untilIdle(pid: number): Promise<void> {
  for (let before = -1, quiet = 0; quiet < 4; ) {
    await new Promise((resolve) => setTimeout(resolve, 500))
    const now = await processorSeconds(pid)
    quiet = now - before > 0.05 ? 0 : quiet + 1
    before = now
  }
}

/**
 * Samples the anonymous memory of a process from outside.
 * @returns a function that stops the sampling and returns the peaks in bytes
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
