import { type DestinationStream, type Logger, pino } from 'pino'
import type { LaunchOptions } from '../settings/index.js'
import { humanLine } from './human-line.js'

export type { Logger } from 'pino'

const levels = {
  OFF: 'silent',
  ERROR: 'error',
  WARN: 'warn',
  INFO: 'info',
  DEBUG: 'debug',
  TRACE: 'trace',
} as const

/** Names of facts that hold secrets, at the top of a line and one or two levels down. */
const secretNames = [
  'masterKey',
  'apiKey',
  'authorization',
  'searchApiKey',
  'writeApiKey',
  'key',
  'token',
  'cookie',
]

/** How lines are written. */
export interface LogOptions {
  readonly level: LaunchOptions['logLevel']
  readonly mode: LaunchOptions['experimentalLogsMode']
  /** Where lines go, stderr if not given. */
  readonly destination?: NodeJS.WritableStream
}

/**
 * A logger to hand on as an argument. HUMAN: one text line per event, coloured on a terminal.
 * JSON: one object per line with `time` (RFC 3339), `level` (a word), `msg` and the facts.
 * Facts whose name says that they are secret are replaced. Lines to stderr are written in the background,
 * the last ones when the process ends.
 */
export function openLog({ level, mode, destination }: LogOptions): Logger {
  const options = {
    level: levels[level],
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label.toUpperCase() }) },
    redact: {
      paths: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
      censor: '[secret]',
    },
  }
  const lines: DestinationStream = destination ?? pino.destination({ dest: 2, sync: false })
  if (mode === 'JSON') return pino(options, lines)
  const coloured = destination === undefined && process.stderr.isTTY === true
  return pino(options, { write: (line: string) => void lines.write(humanLine(line, coloured)) })
}
