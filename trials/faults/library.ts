/** Builds and controls the preloaded library `preload.c`, which makes system calls fail and shifts the clock. */
import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isCi, type Requirement } from '../../__test__/support/requirements.js'

/** Kinds of system calls, in the order of their bits in `preload.c`. */
export const callKinds = [
  'write',
  'sync',
  'rename',
  'unlink',
  'truncate',
  'open',
  'mkdir',
  'mmap',
  'allocate',
  'read',
  'create',
] as const

export type CallKind = (typeof callKinds)[number]

/** Errors of failed calls: the Linux errno, or a number from `preload.c`. */
export const errorNumbers = {
  EIO: 5,
  ENOMEM: 12,
  EMFILE: 24,
  ENOSPC: 28,
  short: 0,
  killed: 1 << 16,
  full: 1 << 17,
} as const

/** Calls that change the disk. */
export const diskChangingCalls: readonly CallKind[] = [
  'write',
  'sync',
  'rename',
  'unlink',
  'truncate',
  'mkdir',
  'allocate',
  'create',
]

/** Describes which calls fail, how, and for how long. */
export interface CallFault {
  readonly calls: readonly CallKind[]
  /**
   * `short`: a write writes half of its bytes. `killed`: the process dies; during a write, after half of its bytes.
   * `full`: the first write is short, then calls that need space fail; other calls succeed.
   */
  readonly error: keyof typeof errorNumbers
  /** True if only one call fails; false if all calls fail from the first. */
  readonly once: boolean
  /** Number of matching calls that succeed first. */
  readonly after: number
  /** Path pattern for fnmatch(3). A star also matches slashes. */
  readonly pattern: string
}

/** Returns why the library cannot be used on this machine, or null if it can. */
export function missingLibrary(): string | null {
  if (process.platform !== 'linux') return `failing calls needs Linux, this is ${process.platform}`
  return spawnSync('cc', ['--version']).status === 0 ? null : 'no C compiler `cc`'
}

/** Requirement of tests that make system calls fail. */
export const failingCalls: Requirement = {
  missing: missingLibrary(),
  isDemanded: isCi && process.platform === 'linux',
}

/** Compiles the library into a directory. @returns its path @throws if it does not compile */
export function buildLibrary(directory: string): string {
  const source = fileURLToPath(new URL('../../../trials/faults/preload.c', import.meta.url))
  const library = join(directory, 'preload.so')
  const flags = ['-O2', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC']
  const { status, stderr } = spawnSync('cc', [...flags, '-o', library, source, '-ldl'])
  if (status !== 0) throw new Error(`preload.c does not compile: ${stderr}`)
  return library
}

const FILE_BYTES = 1024
const PATTERN_OFFSET = 64
const PATTERN_BYTES_MAX = FILE_BYTES - PATTERN_OFFSET - 1
const ACTIVE_OFFSET = 0
const AFTER_OFFSET = 16
const HITS_OFFSET = 20
const FAULT_BYTES = 24
const CLOCK_SHIFT_OFFSET = 24
const AFTER_MAX = 2 ** 31 - 1

/** The control file of one server; layout: `struct control` in `preload.c`. */
export class Faults {
  readonly #path: string
  /** Environment variables that load the library into a server. */
  readonly env: Readonly<Record<string, string>>

  constructor(library: string, path: string) {
    this.#path = path
    // Calls through io_uring bypass the C library.
    this.env = { LD_PRELOAD: library, SIFTD_FAULTS: path, UV_USE_IO_URING: '0' }
    writeFileSync(path, Buffer.alloc(FILE_BYTES))
  }

  begin({ calls, error, once, after, pattern }: CallFault): void {
    if (Buffer.byteLength(pattern) > PATTERN_BYTES_MAX) throw new Error('the pattern is too long')
    const bytes = Buffer.alloc(FAULT_BYTES)
    const text = Buffer.alloc(PATTERN_BYTES_MAX + 1)
    const bits = calls.reduce((sum, call) => sum | (1 << callKinds.indexOf(call)), 0)
    bytes.writeUInt32LE(bits, 4)
    bytes.writeUInt32LE(errorNumbers[error], 8)
    bytes.writeUInt32LE(once ? 1 : 0, 12)
    bytes.writeInt32LE(after, 16)
    text.write(pattern)
    this.#write(text, PATTERN_OFFSET)
    this.#write(bytes.subarray(4), 4)
    this.#write(Buffer.from([1, 0, 0, 0]), ACTIVE_OFFSET)
  }

  /** Starts counting matching calls without failing any; read the number from `counted`. */
  beginCount(calls: readonly CallKind[], pattern: string): void {
    this.begin({ calls, error: 'EIO', once: true, after: AFTER_MAX, pattern })
  }

  /** Number of matching calls since `beginCount`. */
  get counted(): number {
    return AFTER_MAX - readFileSync(this.#path).readInt32LE(AFTER_OFFSET)
  }

  end(): void {
    this.#write(Buffer.alloc(4), ACTIVE_OFFSET)
  }

  /** Shifts the date that servers read by `seconds`, effective immediately. Negative values set it back. */
  shiftClock(seconds: number): void {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(Math.round(seconds)))
    this.#write(bytes, CLOCK_SHIFT_OFFSET)
  }

  /** Number of calls failed since the fault began. */
  get hits(): number {
    return readFileSync(this.#path).readUInt32LE(HITS_OFFSET)
  }

  #write(bytes: Buffer, at: number): void {
    const file = openSync(this.#path, 'r+')
    writeSync(file, bytes, 0, bytes.length, at)
    closeSync(file)
  }
}
