/** Section `source` of the configuration → options of connections. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import pg, { type ClientConfig } from 'pg'
import type { SourceSettings } from '../../../ts/transfer/sync/source.js'
import { PostgresError } from './source-error.js'

export interface PostgresSettings {
  readonly client: ClientConfig
  readonly slot: string
  readonly publication: string
}

const texts = [
  'url',
  'host',
  'database',
  'user',
  'password',
  'password_file',
  'tls',
  'ca',
  'slot',
  'publication',
]
const known = [...texts, 'port', 'name', 'directory']
const tlsModes = ['disable', 'require', 'verify-full']

/** Texts of values do not depend on settings of the database: keys are compared as text. */
const SESSION = [
  ...['timezone=UTC', 'datestyle=ISO', 'intervalstyle=iso_8601', 'extra_float_digits=3'],
  ...['statement_timeout=0', 'idle_in_transaction_session_timeout=0', 'bytea_output=hex'],
]

/**
 * Options that are missing are taken from the variables of PostgreSQL, such as PGHOST and PGPASSWORD, and ~/.pgpass.
 * @throws PostgresError
 */
export function postgresSettings(given: SourceSettings): PostgresSettings {
  for (const [name, value] of Object.entries(given)) {
    if (!known.includes(name)) fail(name, `is unknown, expected ${known.slice(0, -2).join(', ')}`)
    if (texts.includes(name) && typeof value !== 'string') fail(name, 'must be a text')
  }
  const options = given as Readonly<Record<string, string | undefined>> & { readonly port?: unknown }
  if (options.port !== undefined && !Number.isInteger(options.port)) fail('port', 'must be a number')
  if (options.url !== undefined) checkUrl(options.url)
  const { name = 'siftd_sync', directory = '.' } = options
  const read = (option: 'password_file' | 'ca'): string | undefined => {
    const path = options[option]
    if (path === undefined) return undefined
    try {
      return readFileSync(resolve(directory, path), 'utf8').trim()
    } catch (error) {
      return fail(option, `cannot be read: ${(error as NodeJS.ErrnoException).code}`)
    }
  }
  const password = read('password_file') ?? options.password
  const slot = options.slot ?? name
  if (!/^[a-z0-9_]{1,63}$/.test(slot)) fail('slot', 'must have 1 to 63 characters of a to z, 0 to 9 and _')
  return {
    client: {
      ...(options.url !== undefined && { connectionString: options.url }),
      ...(options.host !== undefined && { host: options.host }),
      ...(options.port !== undefined && { port: Number(options.port) }),
      ...(options.database !== undefined && { database: options.database }),
      ...(options.user !== undefined && { user: options.user }),
      ...(password !== undefined && { password }),
      ...tlsOf(options.tls, read('ca')),
      application_name: slot,
      options: SESSION.map((setting) => `-c ${setting}`).join(' '),
      keepAlive: true,
      connectionTimeoutMillis: 15_000,
    },
    slot,
    publication: options.publication ?? name,
  }
}

/** Without this check, `pg` takes any text for the name of a database on the host `base`. */
function checkUrl(url: string): void {
  if (!/^(postgres(ql)?:\/\/|socket:|\/)/i.test(url))
    fail('url', 'is not a URL of PostgreSQL, expected postgres://USER:PASSWORD@HOST:PORT/DATABASE')
  try {
    new pg.Client({ connectionString: url })
  } catch (error) {
    const { message } = error as Error
    fail(
      'url',
      `cannot be used: ${message}; write special characters of the password as %XX, such as %23 for #`,
    )
  }
}

function tlsOf(mode: string | undefined, ca: string | undefined): Pick<ClientConfig, 'ssl'> {
  if (mode === undefined && ca === undefined) return {}
  if (mode !== undefined && !tlsModes.includes(mode)) fail('tls', `must be one of ${tlsModes.join(', ')}`)
  if (mode === 'disable') return { ssl: false }
  if (mode === 'require' && ca === undefined) return { ssl: { rejectUnauthorized: false } }
  return { ssl: { rejectUnauthorized: true, ...(ca !== undefined && { ca }) } }
}

function fail(name: string, why: string): never {
  throw new PostgresError(`\`source.${name}\` ${why}`, false)
}
