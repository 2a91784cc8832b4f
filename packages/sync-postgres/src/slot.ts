/** The publication and the slot of a sync. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SlotFacts, SlotState } from '../../../ts/transfer/sync/source.js'
import type { Table } from './catalogue.js'
import type { Database } from './database.js'
import { literal, quoted } from './names.js'
import type { PostgresSettings } from './settings.js'
import { isDenied, PostgresError } from './source-error.js'

/** Milliseconds until a connection that was ended has released its slot, and between two attempts. */
const RELEASE_MS_MAX = 10_000
const RELEASE_PAUSE_MS = 100

/** First version with slots that continue on a standby after a failover. */
const FAILOVER_VERSION = 170_000

export async function serverVersion(database: Database): Promise<number> {
  const [row] = await database.rows<{ version: string }>(
    'connecting',
    `select current_setting('server_version_num') as version`,
  )
  return Number(row?.version)
}

/** Returns the statement that adds missing tables to the publication; null: it has all. */
export async function publicationStatement(
  database: Database,
  { publication }: PostgresSettings,
  tables: readonly Table[],
): Promise<string | null> {
  const [found] = await database.rows<Record<string, string>>(
    'reading the publication',
    `select oid::text as oid, puballtables::text as "all" from pg_publication where pubname = $1`,
    [publication],
  )
  const unique = [...new Map(tables.map((table) => [table.oid, table])).values()]
  if (found === undefined) {
    const list = unique.map(({ sql }) => sql).join(', ')
    return `CREATE PUBLICATION ${quoted(publication)} FOR TABLE ${list} WITH (publish_via_partition_root = true)`
  }
  if (found.all === 'true') return null
  const members = await database.rows<{ oid: string }>(
    'reading the publication',
    'select prrelid::text as oid from pg_publication_rel where prpubid = $1::oid',
    [found.oid],
  )
  const missing = unique.filter(({ oid }) => !members.some((one) => one.oid === oid))
  if (missing.length === 0) return null
  return `ALTER PUBLICATION ${quoted(publication)} ADD TABLE ${missing.map(({ sql }) => sql).join(', ')}`
}

/** @throws PostgresError that names the statement if the role may not run it */
export async function ensurePublication(
  database: Database,
  settings: PostgresSettings,
  tables: readonly Table[],
): Promise<void> {
  const statement = await publicationStatement(database, settings, tables)
  if (statement === null) return
  try {
    await database.rows('publishing tables', statement)
  } catch (error) {
    if (!isDenied(error)) throw error
    throw new PostgresError(
      `the role may not publish the tables: let the owner of the tables run \`${statement};\``,
      false,
    )
  }
}

export async function ensureSlot(database: Database, { slot }: PostgresSettings): Promise<SlotState> {
  const existing = await confirmedOf(database, slot)
  if (existing !== null) return { confirmed: existing, isNew: false }
  const isFailover = (await serverVersion(database)) >= FAILOVER_VERSION
  const [row] = await database.rows<{ lsn: string }>(
    'creating the slot',
    `select lsn::text from pg_create_logical_replication_slot(${literal(slot)}, 'pgoutput', false, false${
      isFailover ? ', true' : ''
    })`,
  )
  return { confirmed: row?.lsn ?? '0/0', isNew: true }
}

async function confirmedOf(database: Database, slot: string): Promise<string | null> {
  const [row] = await database.rows<{ plugin: string; lsn: string; here: string }>(
    'reading the slot',
    `select plugin, confirmed_flush_lsn::text as lsn, (database = current_database())::text as here
     from pg_replication_slots where slot_name = $1`,
    [slot],
  )
  if (row === undefined) return null
  if (row.plugin !== 'pgoutput' || row.here !== 'true')
    throw new PostgresError(
      `the slot ${slot} belongs to another database or program: set another \`name\``,
      false,
    )
  return row.lsn
}

export async function slotFacts(database: Database, { slot }: PostgresSettings): Promise<SlotFacts | null> {
  const [row] = await database.rows<Record<string, string | null>>(
    'reading the slot',
    `select coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::text as retained,
       coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn), 0)::text as lag,
       pg_current_wal_lsn()::text as newest, (coalesce(wal_status, '') <> 'lost')::text as usable, active::text
     from pg_replication_slots where slot_name = $1`,
    [slot],
  )
  if (row === undefined) return null
  return {
    retainedBytes: Number(row.retained),
    lagBytes: Number(row.lag),
    newest: row.newest ?? '0/0',
    isActive: row.active === 'true',
    isUsable: row.usable === 'true',
  }
}

export async function dropSlot(
  database: Database,
  { slot }: PostgresSettings,
  isForced: boolean,
): Promise<void> {
  const end = Date.now() + (isForced ? RELEASE_MS_MAX : 0)
  for (;;) {
    if (isForced)
      await database.rows(
        'ending the stream of changes',
        `select pg_terminate_backend(active_pid) from pg_replication_slots where slot_name = $1 and active_pid is not null`,
        [slot],
      )
    try {
      await database.rows(
        'removing the slot',
        'select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = $1',
        [slot],
      )
      return
    } catch (error) {
      if (Date.now() > end || !(error as PostgresError).isTransient) throw error
      await sleep(RELEASE_PAUSE_MS)
    }
  }
}

export async function dropPublication(database: Database, { publication }: PostgresSettings): Promise<void> {
  await database.rows('removing the publication', `DROP PUBLICATION IF EXISTS ${quoted(publication)}`)
}
