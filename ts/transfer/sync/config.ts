/** The configuration of a sync: TOML, JSON, or a module with the same object as default export. */
import { readFile, stat } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parse as parseToml } from 'smol-toml'
import { LaunchError, tomlFault } from '../../launch/index.js'
import { isHttpUrl, suggestion } from '../../parse/index.js'
import { ALARM_BYTES, CONFIG_BYTES_MAX } from './limits.js'
import type { FieldSource, Mapping, RelatedTable, SourceSettings } from './source.js'

export interface SyncConfig {
  /** Unique for each sync of a target; part of names in the database. */
  readonly name: string
  readonly source: SourceSettings
  readonly target: { readonly url: string; readonly key: string | null; readonly keyFile: string | null }
  readonly mappings: readonly Mapping[]
  readonly slot: SlotLimits
  /** Address of the metrics, such as `127.0.0.1:9464`; null: none. */
  readonly metrics: string | null
}

interface SlotLimits {
  /** Bytes of kept log above which the sync logs an alarm. */
  readonly alarmBytes: number
  /** Bytes of kept log above which the sync removes the slot; null: never. */
  readonly dropBytes: number | null
}

/** @throws LaunchError with exit code 2 for a mistake, which it names */
export async function readSyncConfig(path: string): Promise<SyncConfig> {
  return syncConfig(await loaded(path), path)
}

async function loaded(path: string): Promise<unknown> {
  const refused = (why: string): LaunchError => new LaunchError(`${path} ${why}`, 2)
  const { size } = await stat(path).catch(({ code }: NodeJS.ErrnoException) => {
    if (code === 'ENOENT') throw refused('does not exist; `siftd sync postgres init` writes one')
    throw refused(`cannot be read: ${code}`)
  })
  if (size > CONFIG_BYTES_MAX) throw refused(`is longer than ${CONFIG_BYTES_MAX} bytes`)
  const kind = extname(path)
  if (['.js', '.mjs'].includes(kind)) {
    const module = import(pathToFileURL(resolve(path)).href) as Promise<{ readonly default?: unknown }>
    return (await module.catch((error: unknown) => Promise.reject(refused(`fails: ${firstLine(error)}`))))
      .default
  }
  const text = await readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw refused(`cannot be read: ${code}`)
  })
  try {
    return kind === '.json' ? JSON.parse(text) : parseToml(text)
  } catch (error) {
    throw refused(
      kind === '.json' ? `is not JSON: ${firstLine(error)}` : `is not valid TOML: ${tomlFault(error)}`,
    )
  }
}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n', 1)[0]!

/** Checks a configuration. @param path for messages, and base of relative paths @throws LaunchError */
export function syncConfig(value: unknown, path: string): SyncConfig {
  const root = new Section(value, path, '')
  root.only(['name', 'source', 'target', 'index', 'slot', 'metrics'])
  const name = root.text('name') ?? 'siftd_sync'
  if (!/^[a-z0-9_]{1,50}$/.test(name))
    root.fail('name', 'must have 1 to 50 characters of a to z, 0 to 9 and _')
  const source = root.section('source')
  const target = root.section('target')
  target.only(['url', 'key', 'key_file'])
  const url = target.text('url') ?? 'http://localhost:7700'
  if (!isHttpUrl(url)) target.fail('url', 'is not a URL of http or https')
  const slot = root.section('slot')
  slot.only(['alarm_bytes', 'drop_bytes'])
  const mappings = root.list('index').map(mappingOf)
  if (mappings.length === 0)
    root.fail('index', 'is missing: at least one table `[[index]]` with `uid` and `table`')
  const twice = mappings.find(({ uid }, at) => mappings.findIndex((other) => other.uid === uid) !== at)
  if (twice !== undefined) root.fail('index', `names \`${twice.uid}\` twice`)
  const keyFile = target.text('key_file')
  return {
    name,
    source: { ...source.members, name, directory: dirname(resolve(path)) },
    target: {
      url,
      key: target.text('key'),
      keyFile: keyFile === null ? null : resolve(dirname(path), keyFile),
    },
    mappings,
    slot: {
      alarmBytes: slot.count('alarm_bytes') ?? ALARM_BYTES,
      dropBytes: slot.count('drop_bytes'),
    },
    metrics: root.text('metrics'),
  }
}

function mappingOf(index: Section): Mapping {
  index.only(['uid', 'table', 'key', 'primary_key', 'where', 'fields', 'query', 'related'])
  const uid = index.required('uid')
  if (!/^[A-Za-z0-9_-]{1,400}$/.test(uid)) index.fail('uid', 'is no index uid: use letters, digits, - and _')
  const query = index.text('query')?.replace(/;\s*$/, '') ?? null
  const fields = index.optional('fields')
  if (query !== null && fields !== null)
    index.fail('fields', 'and `query` exclude each other: name fields in the query')
  if (query !== null && index.text('where') !== null)
    index.fail('where', 'and `query` exclude each other: write the condition into the query')
  const related = index.list('related').map(relatedOf)
  if (query === null && related.length > 0) index.fail('related', 'needs `query`')
  return {
    uid,
    table: index.required('table'),
    key: index.texts('key'),
    primaryKey: index.text('primary_key'),
    where: index.text('where'),
    fields: fields === null ? null : fieldsOf(fields),
    query,
    related,
  }
}

function fieldsOf(fields: Section): Readonly<Record<string, FieldSource>> {
  for (const [name, value] of Object.entries(fields.members))
    if (typeof value !== 'string' && (typeof value !== 'object' || value === null || Array.isArray(value)))
      fields.fail(
        name,
        'must be the name of a column, or a table such as { column = "price", as = "number" }',
      )
  return fields.members as Readonly<Record<string, FieldSource>>
}

function relatedOf(related: Section): RelatedTable {
  related.only(['table', 'key', 'query'])
  const key = related.texts('key')
  if (key === null) return related.fail('key', 'is missing: the columns that hold the key of the documents')
  return { table: related.required('table'), key, query: related.text('query') }
}

/** An object of the configuration with its place, for messages. */
class Section {
  readonly members: Readonly<Record<string, unknown>>
  readonly #path: string
  readonly #place: string

  constructor(value: unknown, path: string, place: string) {
    this.#path = path
    this.#place = place
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new LaunchError(
        `${path}: ${place === '' ? 'the configuration' : `\`${place}\``} must be an object`,
        2,
      )
    this.members = value as Readonly<Record<string, unknown>>
  }

  fail(name: string, why: string): never {
    throw new LaunchError(`${this.#path}: \`${this.#of(name)}\` ${why}`, 2)
  }

  #of(name: string): string {
    return this.#place === '' ? name : `${this.#place}.${name}`
  }

  only(names: readonly string[]): void {
    for (const name of Object.keys(this.members)) {
      if (names.includes(name)) continue
      const near = suggestion(name, names)
      this.fail(
        name,
        `is unknown${near === null ? `, expected ${names.join(', ')}` : `, did you mean \`${near}\`?`}`,
      )
    }
  }

  text(name: string): string | null {
    const value = this.members[name]
    if (value === undefined || value === null) return null
    return typeof value === 'string' && value !== '' ? value : this.fail(name, 'must be a text')
  }

  required(name: string): string {
    return this.text(name) ?? this.fail(name, 'is missing')
  }

  count(name: string): number | null {
    const value = this.members[name]
    if (value === undefined || value === null) return null
    return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
      ? value
      : this.fail(name, 'must be a number above 0')
  }

  /** A text or a list of texts. */
  texts(name: string): readonly string[] | null {
    const value = this.members[name]
    if (value === undefined || value === null) return null
    const list: readonly unknown[] = Array.isArray(value) ? value : [value]
    const isValid = list.length > 0 && list.every((one) => typeof one === 'string' && one !== '')
    return isValid ? (list as readonly string[]) : this.fail(name, 'must be a text or a list of texts')
  }

  section(name: string): Section {
    return new Section(this.members[name] ?? {}, this.#path, this.#of(name))
  }

  optional(name: string): Section | null {
    return this.members[name] === undefined ? null : this.section(name)
  }

  list(name: string): readonly Section[] {
    const value = this.members[name] ?? []
    if (!Array.isArray(value)) return this.fail(name, 'must be a list')
    return value.map((one, at) => new Section(one, this.#path, `${this.#of(name)}[${at}]`))
  }
}
