/** Which memory does a process hold, as the kernel tells it to others? Linux alone. */
import { readFileSync } from 'node:fs'

/** Bytes. */
export interface Memory {
  /** Resident pages, with those of mapped files, which the kernel takes back when it needs them. */
  readonly resident: number
  /** The same, where a page shared by so many processes counts its share of each. */
  readonly proportional: number
  /** What the process made itself and the kernel cannot take back: heaps, stacks, shared memory, what is swapped out. */
  readonly own: number
}

/** Reads the text of `/proc/PID/smaps_rollup`. @throws Error if a line is missing */
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

/** @throws if there is no such process, or it is of another user */
export const memoryOf = (pid: number): Memory =>
  parseMemory(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))

/** The larger of each. */
export const higher = (one: Memory, other: Memory): Memory => ({
  resident: Math.max(one.resident, other.resident),
  proportional: Math.max(one.proportional, other.proportional),
  own: Math.max(one.own, other.own),
})
