/** Options for the URL and the key of a running instance. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { LaunchError } from '../../launch/index.js'
import { isHttpUrl } from '../../parse/index.js'
import type { PeerAddress, PeerFlag } from '../../transfer/index.js'
import { type Arguments, Option, SERVER_GROUP } from './command.js'

/** Default server of commands. */
const DEFAULT_URL = 'http://localhost:7700'

/** Option such as `--from-key <key>`, for a command with `--from <url>`. */
export const keyOption = <F extends PeerFlag>(flag: F) =>
  new Option(`--${flag}-key <key>` as `--${F}-key <key>`, `Key of --${flag}`)

export const keyFileOption = <F extends PeerFlag>(flag: F) =>
  new Option(
    `--${flag}-key-file <file>` as `--${F}-key-file <file>`,
    'File that holds that key, so that process lists do not show it',
  )

/** Option for the certificate of an authority. */
export const caOption = new Option(
  '--ca <file>',
  'PEM certificate of an authority to trust for https (default: SVC_CA)',
).helpGroup(SERVER_GROUP)

/**
 * Returns the certificates of `--ca` or `SVC_CA`, as a part of `OutboundSetup`.
 * @throws LaunchError with exit code 2
 */
export function authoritiesOf({ ca }: { readonly ca?: string | undefined }): {
  readonly authorities?: string
} {
  const path = ca ?? process.env.SVC_CA
  if (!path) return {}
  const name = ca === undefined ? 'SVC_CA' : '--ca'
  let authorities: string
  try {
    authorities = readFileSync(path, 'utf8')
    new X509Certificate(authorities)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why =
      code?.startsWith('ERR_') === false ? `cannot be read: ${code}` : 'holds no certificate in PEM form'
    throw new LaunchError(`${name}: ${path} ${why}`, 2)
  }
  return { authorities }
}

/** Adds the options that name a server to a command. */
export const onServer = (command: Arguments) =>
  command
    .addOption(caOption)
    .addOption(
      new Option('--url <url>', `URL of the server (default: SVC_URL, or ${DEFAULT_URL})`).helpGroup(
        SERVER_GROUP,
      ),
    )
    .addOption(new Option('--key <key>', 'API key (default: SVC_KEY)').helpGroup(SERVER_GROUP))
    .addOption(
      new Option(
        '--key-file <file>',
        'File that holds the key, so that process lists do not show it (default: SVC_KEY_FILE)',
      ).helpGroup(SERVER_GROUP),
    )

/** Values of the options of `onServer`. */
export interface ServerOptions {
  readonly url?: string | undefined
  readonly key?: string | undefined
  readonly keyFile?: string | undefined
  readonly ca?: string | undefined
}

/**
 * Returns the server that options and environment name. A key option overrides both key variables.
 * @throws LaunchError with exit code 2; its message shows no key
 */
export function serverOf(options: ServerOptions): PeerAddress {
  const { env } = process
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
 * Returns the instance that options such as `--from`, `--from-key` and `--from-key-file` name.
 * @param fallback default URL; null: the option is required
 * @throws LaunchError with exit code 2; its message shows no key
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
  if (text === '' || /\s/.test(text)) throw new LaunchError(`${fileName}: ${file} must contain only a key`, 2)
  return text
}
