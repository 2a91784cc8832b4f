/** Reads the memory use of a process from /proc (Linux only). */
import { readFileSync } from 'node:fs'

/** Bytes. */
export interface Memory {
  /** Resident pages, including mapped files, which the kernel can reclaim. */
  readonly resident: number
  /** The same, with each shared page divided by the number of processes that share it. */
  readonly proportional: number
  /** Memory that the kernel cannot reclaim: heaps, stacks, shared memory, swapped pages. */
  readonly own: number
}

/** Parses `/proc/PID/smaps_rollup`. @throws Error if a line is missing */
export function parseMemory(text: string): Memory {
  const bytes = (name: string): number => {
    const kibibytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]
    if (kibibytes === undefined) throw new Error(`smaps_rollup has no line ${name}`)
    return Number(kibibytes) * 1024
  }
  return {
    resident: bytes('Rss'),
    proportional: bytes('Pss'),
    own: bytes('Pss_Anon') + bytes('Pss_Shmem') + bytes('SwapPss'),
  }
}

/** @throws if the process does not exist or belongs to another user */
export const memoryOf = (pid: number): Memory =>
  parseMemory(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))

/** Returns the maximum of each figure. */
export const higher = (one: Memory, other: Memory): Memory => ({
  resident: Math.max(one.resident, other.resident),
  proportional: Math.max(one.proportional, other.proportional),
  own: Math.max(one.own, other.own),
})
