/** What the system says about a process of ours from outside. Nulls where it does not say it. */
import { readFileSync, writeFileSync } from 'node:fs'

export interface Memory {
  /** Bytes that are the process's own: neither files nor what it shares. */
  readonly anonymous: number
  /** The most its resident memory has been since `forgetPeak`, files included. */
  readonly peak: number
}

export interface MainThread {
  /** Milliseconds the thread ran. */
  readonly ran: number
  /** Milliseconds it could have run while the processors did other work. */
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

/** Sets the peak back to what is resident now. */
export function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
  } catch {
    // Elsewhere than on Linux peaks are not told anyway.
  }
}

/** The thread that runs the process's JavaScript, which is its first. */
export function mainThreadOf(pid: number): MainThread | null {
  const [ran, waited] = (textOf(`/proc/${pid}/schedstat`) ?? '')
    .split(' ')
    .map((digits) => Number(digits) / 1e6)
  return ran === undefined || waited === undefined ? null : { ran, waited }
}

/** Milliseconds during which some process of the machine waited for a processor. */
export function processorPressure(): number | null {
  const [, digits] = /^some .*total=(\d+)/.exec(textOf('/proc/pressure/cpu') ?? '') ?? []
  return digits === undefined ? null : Number(digits) / 1000
}

/** Processes that were started by `pid` and live. */
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
