/** The preloaded library, which fails calls and shifts the clock: built from `preload.c`, steered through a file. */
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

/** Errors that calls are failed with, by their number on Linux; the others are numbered by `preload.c`. */
export const errorNumbers = {
  EIO: 5,
  ENOMEM: 12,
  EMFILE: 24,
  ENOSPC: 28,
  short: 0,
  killed: 1 << 16,
  full: 1 << 17,
} as const

/** Calls that change what is on a disk. */
export const changingCalls: readonly CallKind[] = [
  'write',
  'sync',
  'rename',
  'unlink',
  'truncate',
  'mkdir',
  'allocate',
  'create',
]

/** Which calls fail, how, and for how long. */
export interface CallFault {
  readonly calls: readonly CallKind[]
  /**
   * `short`: writes take half of what they are given. `killed`: the process ends, in the middle of a write if the call
   * is one. `full`: the first write is short, and then what needs space is refused; other calls go on.
   */
  readonly error: keyof typeof errorNumbers
  /** Whether only one call fails, or all from the first on. */
  readonly once: boolean
  /** How many calls still succeed first. */
  readonly after: number
  /** Paths as fnmatch(3) takes them; a star matches slashes. */
  readonly pattern: string
}

/** Why system calls cannot be failed here, null if they can. */
export function whyNoLibrary(): string | null {
  if (process.platform !== 'linux') return `calls are failed on Linux only, this is ${process.platform}`
  return spawnSync('cc', ['--version']).status === 0 ? null : 'there is no C compiler `cc`'
}

/** System calls that fail as they are told to. */
export const failingCalls: Requirement = {
  missing: whyNoLibrary(),
  isDemanded: isCi && process.platform === 'linux',
}

/** Compiles the library into a directory. @returns its path @throws if the compiler does not take it */
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
  /** What a server needs in its environment to have its calls failed. */
  readonly env: Readonly<Record<string, string>>

  constructor(library: string, path: string) {
    this.#path = path
    // Calls through io_uring would not pass the C library.
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

  /** Fails nothing, so that `counted` tells how many calls a fault of these calls would meet. */
  beginCount(calls: readonly CallKind[], pattern: string): void {
    this.begin({ calls, error: 'EIO', once: true, after: AFTER_MAX, pattern })
  }

  /** How many calls there were since `beginCount`. */
  get counted(): number {
    return AFTER_MAX - readFileSync(this.#path).readInt32LE(AFTER_OFFSET)
  }

  end(): void {
    this.#write(Buffer.alloc(4), ACTIVE_OFFSET)
  }

  /** Sets the date so many seconds ahead of that of the system, from the next look at it on; negative: behind it. */
  shiftClock(seconds: number): void {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(Math.round(seconds)))
    this.#write(bytes, CLOCK_SHIFT_OFFSET)
  }

  /** How many calls were failed since the fault began. */
  get hits(): number {
    return readFileSync(this.#path).readUInt32LE(HITS_OFFSET)
  }

  #write(bytes: Buffer, at: number): void {
    const file = openSync(this.#path, 'r+')
    writeSync(file, bytes, 0, bytes.length, at)
    closeSync(file)
  }
}
