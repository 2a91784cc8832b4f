import { stringify } from 'smol-toml'
import { snake, variableOf } from './names.js'
import type { LaunchOption } from './option.js'
import type { Given } from './read.js'
import { type LaunchOptions, type OptionName, subjects } from './table.js'
import { shown } from './value-text.js'

/**
 * Returns the options as a configuration file for an identical server, each with the source of its value. Secrets, and
 * options that the file cannot hold, are comments.
 */
export function printed(options: LaunchOptions, given: Given): string {
  const groups = subjects.map(([title, rows]) => {
    const lines = Object.entries(rows).map(([name, row]) => line(name as OptionName, row, options, given))
    return `# ${title}\n${lines.join('\n')}\n`
  })
  return groups.join('\n')
}

function line(name: OptionName, row: LaunchOption<unknown>, options: LaunchOptions, given: Given): string {
  const value: unknown = options[name]
  const word = row.isVariable ? variableOf(name, row) : snake(name)
  const source = given.get(name)
  const from = source === undefined ? 'default' : `from ${source.from}`
  const isIdle = source === undefined && row.requires !== undefined && !given.has(row.requires as OptionName)
  if (isIdle || value === null || (row.isVariable && shown(value) === '')) return `# ${word} is not set`
  if (row.isSecret || holdsSecret(value)) return `# ${word} is set and not shown (${from})`
  if (row.isVariable || name === 'configFilePath') return `# ${word}=${shown(value)} (${from})`
  const kept = typeof value === 'object' ? shown(value) : value
  return `${stringify({ [word]: kept }).trimEnd()} # ${from.replaceAll(/\s+/g, ' ')}`
}

/** Returns true if a URL has a user name, a password or a query, which may be secrets. */
function holdsSecret(value: unknown): boolean {
  if (typeof value !== 'string' || !/^https?:/i.test(value)) return false
  const { username, password, search } = new URL(value)
  return username !== '' || password !== '' || search !== ''
}
