import { type Logger, pino } from 'pino'
import type { LaunchOptions } from '../settings/index.js'
import { humanLine } from './human-line.js'
import { FACT_LEVELS_MAX } from './limits.js'
import { LineWriter } from './line-writer.js'
import { LogOutlets } from './outlets.js'

export type { Logger } from 'pino'

const levels = {
  OFF: 'silent',
  ERROR: 'error',
  WARN: 'warn',
  INFO: 'info',
  DEBUG: 'debug',
  TRACE: 'trace',
} as const

/** Names of facts that hold secrets, wherever they stand in a line. */
const secretNames: ReadonlySet<string> = new Set([
  'masterKey',
  'apiKey',
  'authorization',
  'searchApiKey',
  'writeApiKey',
  'key',
  'token',
  'cookie',
])

/** How lines are written. */
export interface LogOptions {
  readonly level: LaunchOptions['logLevel']
  readonly mode: LaunchOptions['experimentalLogsMode']
  /** Where lines go, stderr if not given. */
  readonly destination?: NodeJS.WritableStream
}

/** A logger and where its lines go. */
export interface OpenedLog {
  readonly log: Logger
  readonly outlets: LogOutlets
  /** Standard error, for text beside the log; null if lines go elsewhere. */
  readonly console: LineWriter | null
}

/** The logger of `openLogWithOutlets`, for who only writes. */
export const openLog = (options: LogOptions): Logger => openLogWithOutlets(options).log

/**
 * A logger to hand on as an argument. HUMAN: one text line per event, coloured on a terminal.
 * JSON: one object per line with `time` (RFC 3339), `level` (a word), `msg` and the facts.
 * Facts whose name says that they are secret are replaced. Lines to stderr are written in the background, and lost
 * while they cannot be written.
 */
export function openLogWithOutlets({ level, mode, destination }: LogOptions): OpenedLog {
  const coloured = destination === undefined && process.stderr.isTTY === true
  const shown = (line: string): string => (mode === 'JSON' ? line : humanLine(line, coloured))
  const console =
    destination === undefined ? new LineWriter(process.stderr, (lost) => shown(lossLine(lost))) : null
  const lines = console ?? destination
  const write = (line: string): void => void lines?.write(shown(line))
  const outlets = new LogOutlets({ level: levels[level], write })
  const log = pino(
    {
      level: levels[level],
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label: string) => ({ level: label.toUpperCase() }),
        // Five times cheaper than the wildcard paths of pino's own redaction.
        log: (facts: Record<string, unknown>) => withoutSecrets(facts, FACT_LEVELS_MAX),
      },
    },
    outlets,
  )
  outlets.onLevel((wanted) => {
    log.level = wanted
  })
  return { log, outlets, console }
}

/** As pino writes a line. */
const lossLine = (lost: number): string => {
  const msg = 'lines of the log were lost: they could not be written'
  return `${JSON.stringify({ level: 'WARN', time: new Date().toISOString(), lost, msg })}\n`
}

function withoutSecrets(facts: Record<string, unknown>, levels: number): Record<string, unknown> {
  const shown = (name: string, value: unknown): unknown => {
    if (secretNames.has(name)) return '[secret]'
    if (!isPlain(value)) return value
    return levels === 0 ? '[deeper]' : withoutSecrets(value, levels - 1)
  }
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, shown(name, value)]))
}

/** Errors and the like are left to their serializers. */
function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
