/** Reads options from each source: arguments, environment, configuration file, credentials. */
import { join } from 'node:path'
import { parse as parseToml } from 'smol-toml'
import { suggestion } from '../parse/index.js'
import { LaunchError } from './launch-error.js'
import { flagsOf, kebab, otherNamesOf, prefixes, snake, variablesOf } from './names.js'
import type { LaunchOption } from './option.js'
import { type OptionName, rowOf, rows } from './table.js'
import { tomlFault } from './toml-fault.js'

/** A value and a description of its source. */
interface Read {
  readonly value: unknown
  readonly from: string
}

/** The options given by one source or by all. */
export type Given = ReadonlyMap<OptionName, Read>

/** File access and error handling. */
export interface Reading {
  /** The text of a file; null if it does not exist. Throws errors of the system. */
  readonly readFile: (path: string) => string | null
  /** Receives each mistake. A start throws the first one, a validation collects all. */
  readonly refuse: (mistake: LaunchError) => void
}

/** The options of one source. */
class Source {
  readonly given = new Map<OptionName, Read>()

  constructor(
    private readonly reading: Reading,
    private readonly exitCode: 1 | 2,
  ) {}

  /** @param value undefined: `found` is malformed */
  put(name: OptionName, row: LaunchOption<unknown>, from: string, found: unknown, value: unknown): void {
    if (value === undefined) {
      const shown = row.isSecret ? '' : ` \`${String(found)}\``
      this.refuse(`${from}: invalid value${shown}, expected ${row.accepts}`)
    } else this.given.set(name, { value, from })
  }

  /** Reads the secret `name` from the file given by the option `from`. */
  putFile(name: OptionName, from: string, path: string): void {
    const other = this.given.get(name)
    const text = other === undefined ? this.textOf(path, from) : null
    if (other !== undefined) this.refuse(`${other.from} and ${from} exclude each other`)
    else if (text === null) this.refuse(`${from}: \`${path}\` does not exist`)
    else this.putSecret(name, `${from} ${path}`, text)
  }

  /** Stores the content of a file as the secret `name`. */
  putSecret(name: OptionName, from: string, text: string): void {
    const secret = text.replace(/\r?\n$/, '')
    if (secret === '' || /[\r\n]/.test(secret))
      this.refuse(`${from} must hold one line, the secret, and nothing else`)
    else this.given.set(name, { value: secret, from })
  }

  textOf(path: string, from: string): string | null {
    try {
      return this.reading.readFile(path)
    } catch (error) {
      this.refuse(`${from}: \`${path}\` cannot be read: ${(error as NodeJS.ErrnoException).code}`)
      return null
    }
  }

  refuse(message: string): void {
    this.reading.refuse(new LaunchError(message, this.exitCode))
  }
}

export function fromArguments(args: readonly string[], reading: Reading): Given {
  const source = new Source(reading, 2)
  const rest = [...args]
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [, flag = '', attached] = /^--([a-z0-9-]+)(?:=(.*))?$/s.exec(arg) ?? []
    const [name, row] = rows.find(([name, row]) => flagsOf(name, row).includes(flag)) ?? []
    if (row !== undefined) {
      readArgument(source, name!, row, `--${flag}`, attached, rest)
      continue
    }
    const [secret] =
      rows.find(([name, row]) => row.isSecret && flagsOf(name, row).includes(secretOf(flag))) ?? []
    if (secret === undefined) source.refuse(unknownArgument(arg))
    else {
      const path = attached ?? nextValue(rest)
      if (path === undefined) source.refuse(`--${flag} needs a value: the path of a file`)
      else source.putFile(secret, `--${flag}`, path)
    }
  }
  return source.given
}

const secretOf = (flag: string): string => (flag.endsWith('-file') ? flag.slice(0, -'-file'.length) : '')

function readArgument(
  source: Source,
  name: OptionName,
  row: LaunchOption<unknown>,
  flag: string,
  attached: string | undefined,
  rest: string[],
): void {
  if (row.placeholder === null) {
    if (attached === undefined) source.put(name, row, flag, true, true)
    else source.refuse(`${flag} takes no value, found \`${attached}\``)
    return
  }
  const value = attached ?? nextValue(rest)
  if (value !== undefined) {
    const other = row.isSecret ? source.given.get(name) : undefined
    if (other?.from.startsWith(`${flag}-file`)) source.refuse(`${flag}-file and ${flag} exclude each other`)
    else source.put(name, row, flag, value, row.fromText(value))
  } else if (row.bare !== undefined) source.put(name, row, flag, row.bare, row.bare)
  else source.refuse(`${flag} needs a value: ${row.accepts}`)
}

/** Takes the next argument, unless it is a flag. */
const nextValue = (rest: string[]): string | undefined =>
  rest[0] === undefined || rest[0].startsWith('--') ? undefined : rest.shift()

function unknownArgument(arg: string): string {
  const flags = rows.flatMap(([name, row]) => flagsOf(name, row))
  const near = suggestion(arg.replace(/^-+/, '').split('=', 1)[0] ?? '', flags)
  // A misspelt option may have the value of a secret.
  const shown = arg.startsWith('-') ? arg.split('=', 1)[0] : arg
  return `unknown option \`${shown}\`${near === null ? '' : `, did you mean \`--${near}\`?`} (see --help)`
}

export function fromEnvironment(env: Readonly<Record<string, string | undefined>>, reading: Reading): Given {
  const source = new Source(reading, 2)
  for (const [name, row] of rows) {
    const variables = variablesOf(name, row)
    const variable = variables.find((candidate) => isGiven(env[candidate], row))
    if (variable !== undefined) source.put(name, row, variable, env[variable], row.fromText(env[variable]!))
    if (!row.isSecret) continue
    const file = variables.map((word) => `${word}_FILE`).find((candidate) => isGiven(env[candidate], row))
    if (file !== undefined) source.putFile(name, file, env[file]!)
  }
  return source.given
}

/**
 * Returns true if a variable sets an option. Compose files write an empty variable for "not set"; only a switch reads
 * it as off.
 */
const isGiven = (value: string | undefined, row: LaunchOption<unknown>): boolean =>
  value !== undefined && (value !== '' || row.placeholder === null)

/** Finds misspelt variables, and returns a remark with a suggestion for each. */
export function misspelt(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const known = rows.flatMap(([name, row]) =>
    variablesOf(name, row).flatMap((word) => (row.isSecret ? [word, `${word}_FILE`] : [word])),
  )
  return Object.keys(env).flatMap((variable) => {
    if (!prefixes.some((prefix) => variable.startsWith(prefix)) || known.includes(variable)) return []
    const near = suggestion(variable, known)
    return near === null ? [] : [`the variable ${variable} sets no option; did you mean ${near}?`]
  })
}

/** Returns a remark for each option that is given by a former name. */
export function renamed(given: Given): readonly string[] {
  return [...given].flatMap(([name, { from }]) => {
    const { formerNames = [] } = rowOf(name)
    const written = from.toLowerCase().replaceAll('_', '-').replaceAll('`', '')
    return formerNames.some((former) => written.endsWith(former))
      ? [`${from} is a former name: use --${kebab(name)}`]
      : []
  })
}

/** @param path path as given by the user, for messages */
export function fromFile(content: string, path: string, reading: Reading): Given {
  const source = new Source(reading, 1)
  for (const [key, value] of Object.entries(tableOf(content, path, source))) {
    const [name, row] = rows.find(([name, row]) => keysOf(name, row).includes(key)) ?? []
    const [secret] =
      rows.find(([name, row]) => row.isSecret && keysOf(name, row).some((one) => key === `${one}_file`)) ?? []
    const from = `${path}: \`${key}\``
    if (row !== undefined) {
      if (row.isSecret && source.given.has(name!))
        source.refuse(`${path}: \`${key}\` and \`${key}_file\` exclude each other`)
      else source.put(name!, row, from, value, row.fromToml(value))
    } else if (secret === undefined) {
      const keys = rows.flatMap(([name, row]) => keysOf(name, row))
      const near = suggestion(key, keys)
      const hint = near === null ? '' : `: did you mean \`${near}\`?`
      source.refuse(`${path}: unknown key \`${key}\`${hint} (see siftd --help)`)
    } else if (typeof value === 'string' && value !== '') source.putFile(secret, from, value)
    else source.refuse(`${from}: invalid value \`${String(value)}\`, expected the path of a file`)
  }
  return source.given
}

/** Returns the keys of an option in the configuration file. The path of that file has no key. */
const keysOf = (name: OptionName, row: LaunchOption<unknown>): readonly string[] =>
  name === 'configFilePath' || row.isVariable ? [] : [snake(name), ...otherNamesOf(row).map(snake)]

function tableOf(content: string, path: string, source: Source): Readonly<Record<string, unknown>> {
  try {
    return parseToml(content)
  } catch (error) {
    source.refuse(`${path} is not valid TOML: ${tomlFault(error)}`)
    return {}
  }
}

/**
 * Reads secrets from systemd credentials, which have the names of the options:
 * `LoadCredential=master-key:/etc/siftd/key`.
 */
export function fromCredentials(env: Readonly<Record<string, string | undefined>>, reading: Reading): Given {
  const source = new Source(reading, 1)
  const directory = env.CREDENTIALS_DIRECTORY
  if (directory === undefined || directory === '') return source.given
  for (const [name, row] of rows) {
    if (!row.isSecret) continue
    const path = join(directory, snake(name).replaceAll('_', '-'))
    const text = source.textOf(path, 'CREDENTIALS_DIRECTORY')
    if (text !== null) source.putSecret(name, `the credential ${path}`, text)
  }
  return source.given
}
