import { printable } from '../parse/index.js'

const colours: Readonly<Record<string, string>> = {
  ERROR: '\x1b[31m',
  WARN: '\x1b[33m',
  INFO: '\x1b[32m',
  DEBUG: '\x1b[34m',
  TRACE: '\x1b[90m',
}

/**
 * Formats a JSON log line as text: time, level, module, message, and `name=value` for each fact. The stack of an error
 * follows on separate lines.
 */
export function humanLine(json: string, coloured: boolean): string {
  const {
    time,
    level,
    target,
    msg = '',
    err,
    ...facts
  } = JSON.parse(json) as Readonly<Record<string, unknown>>
  const word = String(level).padEnd(5)
  const shown = coloured ? `${colours[String(level)] ?? ''}${word}\x1b[0m` : word
  const rest = Object.entries(facts).map(([name, value]) => ` ${name}=${factText(value)}`)
  const module = target === undefined ? '' : `${target}: `
  return `${time} ${shown} ${module}${oneLine(String(msg))}${rest.join('')}${errorText(err)}\n`
}

const factText = (value: unknown): string =>
  typeof value === 'string' && /^[\w./:@+-]+$/.test(value) ? value : printable(String(JSON.stringify(value)))

/** Escapes line breaks, so that text from a client cannot imitate a log line. */
const oneLine = (text: string): string => printable(text.replaceAll('\n', '\\n'))

function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { stack, message } = error as { readonly stack?: unknown; readonly message?: unknown }
  return `\n${printable(String(stack ?? message))}`
}
