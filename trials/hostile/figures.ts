/** Reads figures about a process from /proc. They are null where the system does not provide them. */
import { readFileSync, writeFileSync } from 'node:fs'

export interface Memory {
  /** Bytes of private memory, without files and shared memory. */
  readonly anonymous: number
  /** Peak of resident memory since `resetPeak`, in bytes, files included. */
  readonly peak: number
}

export interface MainThread {
  /** Milliseconds that the thread ran. */
  readonly ran: number
  /** Milliseconds that the thread was runnable but waited for a processor. */
  readonly waited: number
}

export function memoryOf(pid: number): Memory | null {
  const text = textOf(`/proc/${pid}/status`)
  const kilobytes = (name: string): number | null => {
    const [, digits] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text ?? '') ?? []
    return digits === undefined ? null : Number(digits) * 1024
  }
  const [anonymous, peak] = [kilobytes('RssAnon'), kilobytes('VmHWM')]
  return anonymous === null || peak === null ? null : { anonymous, peak }
}

/** Resets the peak to the currently resident memory. */
export function resetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
  } catch {
    // Only Linux reports peaks.
  }
}

/** Returns figures of the main thread, which runs JavaScript. */
export function mainThreadOf(pid: number): MainThread | null {
  const [ran, waited] = (textOf(`/proc/${pid}/schedstat`) ?? '')
    .split(' ')
    .map((digits) => Number(digits) / 1e6)
  return ran === undefined || waited === undefined ? null : { ran, waited }
}

/** Returns the milliseconds during which any process on the machine waited for a processor. */
export function processorPressure(): number | null {
  const [, digits] = /^some .*total=(\d+)/.exec(textOf('/proc/pressure/cpu') ?? '') ?? []
  return digits === undefined ? null : Number(digits) / 1000
}

/** Returns the living child processes of `pid`. */
export function childrenOf(pid: number): readonly number[] {
  return (textOf(`/proc/${pid}/task/${pid}/children`) ?? '').split(' ').filter(Boolean).map(Number)
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
