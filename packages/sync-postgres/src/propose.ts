/** Proposes a configuration for a database. */
import type { SourceSettings } from '../../../ts/transfer/sync/source.js'
import { type Column, findTable, type Table } from './catalogue.js'
import { openDatabase } from './database.js'
import { geometryTypes, isOmitted, isPosition, vectorTypes } from './expressions.js'
import { postgresSettings } from './settings.js'

const TABLES_MAX = 100
const plainIds = ['int2', 'int4', 'int8', 'uuid']

/** Returns a configuration file with all tables that have a primary key, without those of extensions. */
export async function propose(given: SourceSettings): Promise<string> {
  const database = openDatabase(postgresSettings(given))
  try {
    const names = await database.rows<{ name: string }>(
      'listing tables',
      `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence = 'p'
         and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
         and not exists (select from pg_depend d
           where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
       order by 1 limit ${TABLES_MAX}`,
    )
    const tables: Table[] = []
    for (const { name } of names) {
      const table = await findTable(database, name)
      if (table !== null) tables.push(table)
    }
    const url = typeof given.url === 'string' ? withoutPassword(given.url) : null
    return [
      '# Configuration of `siftd sync postgres`. Remove tables and columns that searches do not need.',
      'name = "siftd_sync"',
      '',
      '[source]',
      url === null ? '# url = "postgres://user@localhost/database"' : `url = ${JSON.stringify(url)}`,
      '# password_file = "postgres.password"   # or PGPASSWORD, or ~/.pgpass',
      '# tls = "verify-full"                   # disable, require, verify-full',
      '',
      '[target]',
      'url = "http://localhost:7700"',
      '# key_file = "siftd.key"                # or SVC_KEY, SVC_KEY_FILE',
      ...tables.flatMap(proposedIndex),
      '',
    ].join('\n')
  } finally {
    await database.close()
  }
}

function proposedIndex(table: Table): readonly string[] {
  const { schema, name, primaryKey, columns } = table
  const shown = schema === 'public' ? name : `${schema}.${name}`
  if (primaryKey.length === 0) return ['', `# ${shown} has no primary key.`]
  const key = columns.filter((column) => primaryKey.includes(column.name))
  const isPlain = key.length === 1 && plainIds.includes(key[0]!.base)
  const uid = shown.replaceAll(/[^A-Za-z0-9_-]/g, '_')
  return [
    '',
    '[[index]]',
    `uid = "${uid}"`,
    `table = ${JSON.stringify(schema === 'public' && /^[a-z_0-9]+$/.test(name) ? name : table.sql)}`,
    // Texts may have characters that document ids must not have.
    ...(isPlain ? [] : ['primary_key = "_key"']),
    '# where = "published"',
    '[index.fields]',
    ...columns.filter((column) => !isOmitted(column)).map((column) => proposedField(column, columns)),
  ]
}

/** The first position becomes `_geo`. Vectors need the name of an embedder, which the index must have. */
function proposedField(column: Column, columns: readonly Column[]): string {
  const { name, base } = column
  const source = JSON.stringify(name)
  if (isPosition(column) && columns.find(isPosition) === column) return `_geo = ${source}`
  if (vectorTypes.includes(base)) return `# _vectors = { vectors = { EMBEDDER = ${source} } }`
  const field = /^[A-Za-z0-9_-]+$/.test(name) ? name : source
  return geometryTypes.includes(base)
    ? `${field} = { column = ${source}, as = "geojson" }`
    : `${field} = ${source}`
}

function withoutPassword(url: string): string {
  try {
    const parsed = new URL(url)
    parsed.password = ''
    return parsed.href
  } catch {
    return url
  }
}
