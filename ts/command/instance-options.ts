/** The options that name a running instance: its URL and its key. */
import { readFileSync } from 'node:fs'
import { LaunchError } from '../launch/index.js'
import { isHttpUrl } from '../parse/index.js'
import type { PeerAddress, PeerFlag } from '../peer/index.js'
import { type Arguments, Option, SERVER_GROUP } from './command.js'

/** The server of commands that name one server. */
const DEFAULT_URL = 'http://localhost:7700'

/** `--from-key <key>`, to be added to a command beside `--from <url>`. */
export const keyOption = <F extends PeerFlag>(flag: F) =>
  new Option(`--${flag}-key <key>` as `--${F}-key <key>`, `Key of --${flag}`)

export const keyFileOption = <F extends PeerFlag>(flag: F) =>
  new Option(
    `--${flag}-key-file <file>` as `--${F}-key-file <file>`,
    'File that holds that key, so that no list of processes shows it',
  )

/** Gives a command the options that name its server. */
export const onServer = (command: Arguments) =>
  command
    .addOption(
      new Option('--url <url>', `Its URL (default: SVC_URL, or ${DEFAULT_URL})`).helpGroup(SERVER_GROUP),
    )
    .addOption(new Option('--key <key>', 'A key of it (default: SVC_KEY)').helpGroup(SERVER_GROUP))
    .addOption(
      new Option(
        '--key-file <file>',
        'A file that holds the key, so that no list of processes shows it (default: SVC_KEY_FILE)',
      ).helpGroup(SERVER_GROUP),
    )

/** The values of these options. */
export interface ServerOptions {
  readonly url?: string | undefined
  readonly key?: string | undefined
  readonly keyFile?: string | undefined
}

/**
 * The server that options and the environment name; an option wins over both variables of the key.
 * @throws LaunchError with exit code 2; it shows no key
 */
export function serverOf(options: ServerOptions, env: NodeJS.ProcessEnv = process.env): PeerAddress {
  const given = options.key ?? options.keyFile
  const [key, keyFile] =
    given === undefined
      ? [env.SVC_KEY || undefined, env.SVC_KEY_FILE || undefined]
      : [options.key, options.keyFile]
  const names =
    given === undefined ? (['SVC_KEY', 'SVC_KEY_FILE'] as const) : (['--key', '--key-file'] as const)
  const url = options.url ?? (env.SVC_URL || DEFAULT_URL)
  return {
    flag: 'url',
    url: checkedUrl(options.url === undefined && env.SVC_URL ? 'SVC_URL' : '--url', url),
    key: keyOf(names, key, keyFile),
  }
}

/**
 * The instance that options such as `--from`, `--from-key` and `--from-key-file` name.
 * @param fallback the URL if none is given; null: one must be given
 * @throws LaunchError with exit code 2; it shows no key
 */
export function instanceOf(
  flag: PeerFlag,
  values: Readonly<Record<string, unknown>>,
  fallback: string | null,
): PeerAddress {
  const url = values[flag] ?? fallback
  if (typeof url !== 'string')
    throw new LaunchError(`--${flag} is missing: the URL of an instance, such as http://localhost:7700`, 2)
  const [key, keyFile] = [values[`${flag}Key`], values[`${flag}KeyFile`]] as (string | undefined)[]
  const names = [`--${flag}-key`, `--${flag}-key-file`] as const
  return { flag, url: checkedUrl(`--${flag}`, url), key: keyOf(names, key, keyFile) }
}

function checkedUrl(name: string, url: string): string {
  if (isHttpUrl(url)) return url
  throw new LaunchError(`${name} is not a URL of http or https, such as http://localhost:7700`, 2)
}

function keyOf(
  [keyName, fileName]: readonly [string, string],
  key: string | undefined,
  file: string | undefined,
): string | null {
  if (key !== undefined && file !== undefined)
    throw new LaunchError(`${keyName} and ${fileName} exclude each other`, 2)
  if (file === undefined) return key ?? null
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new LaunchError(`${fileName}: ${file} cannot be read: ${code}`, 2)
  }
  if (text === '' || /\s/.test(text))
    throw new LaunchError(`${fileName}: ${file} must hold a key and nothing else`, 2)
  return text
}
