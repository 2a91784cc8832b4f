import { type Logger, pino } from 'pino'
import type { LaunchOptions } from '../settings/index.js'

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
 * Facts whose name says that they are secret are replaced.
 */
export async function openLog({ level, mode, destination }: LogOptions): Promise<Logger> {
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
  if (mode === 'JSON') return pino(options, destination ?? pino.destination({ dest: 2, sync: true }))
  const { default: pretty } = await import('pino-pretty')
  const stream = pretty({
    colorize: destination === undefined && process.stderr.isTTY === true,
    translateTime: false,
    singleLine: true,
    sync: true,
    destination: destination ?? 2,
  })
  return pino(options, stream)
}
