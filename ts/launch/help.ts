import { suggestion } from '../parse/index.js'
import { LaunchError } from './launch-error.js'
import { flagsOf, kebab, variableOf } from './names.js'
import type { LaunchOption, NoEffect, Rows } from './option.js'
import { subjects } from './table.js'
import { shown } from './value-text.js'

/** A command other than serving, for the help. */
export interface CommandLine {
  readonly name: string
  readonly summary: string
}

const examples = `Examples:
  siftd                                             serve ./data.ms on localhost:7700
  siftd --db-path /var/lib/siftd --http-addr 0.0.0.0:7700
  SVC_MASTER_KEY=… siftd --env production           all data needs a key
  siftd --master-key-file /run/secrets/key          a key that process lists do not show
  siftd --engine fallback                           without native code`

const sources = `Arguments win over variables, these over the configuration file. Every variable may begin with MEILI_ instead of SVC_.
An option --db-path is db_path in the file. A secret can be in a separate file, given by --…-file, SVC_…_FILE or …_file,
or in a systemd credential with the name of the option, such as LoadCredential=master-key:/etc/siftd/master-key.`

const own = `  --print-config
      Prints the options of a start as a configuration file, without secrets
  --version, -v
      Prints the version
  --help, -h [<group, option or command>]
      Prints the groups of options, or one of them; --help all prints every option
`

/** All options with a flag, for shell completion. */
export const optionFlags = (): readonly { readonly flag: string; readonly help: string }[] =>
  subjects.flatMap(([, rows]) =>
    Object.entries(rows).flatMap(([name, row]) =>
      flagsOf(name, row)
        .slice(0, 1)
        .map((flag) => ({ flag, help: row.help })),
    ),
  )

/**
 * Returns the text of `--help`.
 * @param topic a group, an option or `all`; null: the commands and the names of the groups
 * @throws LaunchError for an unknown topic
 */
export function helpText(commands: readonly CommandLine[], topic: string | null): string {
  if (topic === null) return overview(commands)
  if (topic === 'all') return everything(commands)
  const wanted = topic.replace(/^-+/, '').replaceAll('_', '-')
  for (const [title, rows] of subjects) {
    if (groupName(title) === wanted) return `${title}\n${groupText(rows)}\n${groupHint}`
    const option = Object.entries(rows).find(([name, row]) => flagsOf(name, row).includes(wanted))
    if (option !== undefined) return rowText(...option)
  }
  const known = [
    ...subjects.flatMap(([title, rows]) => [
      groupName(title),
      ...Object.entries(rows).flatMap(([name, row]) => flagsOf(name, row)),
    ]),
    ...commands.map(({ name }) => name),
  ]
  const near = suggestion(wanted, known)
  const hint = near === null ? '' : `, did you mean \`${near}\`?`
  throw new LaunchError(`no help on \`${topic}\`${hint} (siftd --help lists the groups)`, 2)
}

/** The names of all groups of options. */
export const optionGroups = (): readonly string[] => subjects.map(([title]) => groupName(title))

/** Name of a group of options: the first word of its title. */
const groupName = (title: string): string => title.split(' ')[0]!.toLowerCase()

const groupHint = `Variables and examples: siftd --help all, or siftd --help OPTION
`

/** The first screen. */
function overview(commands: readonly CommandLine[]): string {
  const groups = subjects.map(([title, rows]) => [groupName(title), titleAndSize(title, rows)] as const)
  return `siftd: a search engine that speaks the Meilisearch HTTP API

Usage: siftd [options]        serves ./data.ms on localhost:7700
       siftd COMMAND …

${commands.length === 0 ? '' : `Commands (siftd help COMMAND):\n${columns(commands.map(({ name, summary }) => [name, summary]))}\n`}
Options (siftd --help GROUP; siftd --help all prints every option):
${columns(groups)}
  --version, -v   --print-config
`
}

const titleAndSize = (title: string, rows: Rows): string => `${title} (${Object.keys(rows).length})`

function columns(lines: readonly (readonly [string, string])[]): string {
  const width = Math.max(...lines.map(([name]) => name.length))
  return lines.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`).join('\n')
}

/** Options of a group, with purpose and default. */
function groupText(rows: Rows): string {
  return Object.entries(rows)
    .map(([name, row]) => {
      const fact = row.placeholder === null ? '' : ` (default: ${defaultText(row)})`
      return `  ${headOf(name, row)}${fact}\n      ${row.help}\n`
    })
    .join('')
}

/** All options with their variables and examples. */
function everything(commands: readonly CommandLine[]): string {
  const groups = subjects.map(([title, rows]) => {
    const lines = Object.entries(rows).map(([name, row]) => rowText(name, row))
    return `${title}\n${lines.join('')}`
  })
  return `siftd: a search engine that speaks the Meilisearch HTTP API

Usage: siftd [options]
${commands.map(({ name }) => `       siftd ${name} …\n`).join('')}
${examples}
${commandsText(commands)}
${sources}

${groups.join('\n')}${own}`
}

const headOf = (name: string, row: LaunchOption<unknown>): string =>
  row.isVariable ? `${variableOf(name, row)}=<${row.placeholder}>` : `--${kebab(name)}${placeholderText(row)}`

/** Returns the help of an option: its name, purpose, variable, default and example. */
function rowText(name: string, row: LaunchOption<unknown>): string {
  const variable = variableOf(name, row)
  const effect = row.noEffect === undefined ? '' : `; ${effectText(row.noEffect)}`
  const facts = [
    ...(row.isVariable ? [] : [variable]),
    ...(row.placeholder === null ? [] : [`default: ${defaultText(row)}`, exampleText(name, row)]),
  ]
  return `${[`  ${headOf(name, row)}`, `${row.help}${effect}`, ...facts].join('\n      ')}\n`
}

const placeholderText = ({ placeholder, bare }: LaunchOption<unknown>): string =>
  placeholder === null ? '' : bare === undefined ? ` <${placeholder}>` : ` [<${placeholder}>]`

/** Returns the note about an option without effect. */
export const effectText = ({ on, why }: NoEffect): string =>
  on === undefined ? why : `without effect on the ${on} engine`

const exampleText = (name: string, row: LaunchOption<unknown>): string => {
  const value = /[\s…]/.test(row.example) ? `'${row.example}'` : row.example
  const [flag] = flagsOf(name, row)
  return `example: ${flag === undefined ? `${variableOf(name, row)}=${value}` : `--${flag} ${value}`}`
}

export function defaultText(row: LaunchOption<unknown>): string {
  if (row.defaultInWords !== undefined) return row.defaultInWords
  // Defaults that depend on the machine have a text.
  const value = row.fallback({ memoryBytes: 0, cores: 1, indexingMemoryBytes: 0 })
  return value === null || (Array.isArray(value) && value.length === 0) ? 'none' : shown(value)
}

function commandsText(commands: readonly CommandLine[]): string {
  if (commands.length === 0) return ''
  const lines = commands.map(({ name, summary }) => `  siftd ${name} --help\n      ${summary}\n`)
  return `\nCommands:\n${lines.join('')}`
}
