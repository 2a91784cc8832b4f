/** Lists what a database lacks for a sync. */
import type { Finding, Mapping } from '../../../ts/transfer/sync/source.js'
import type { Database } from './database.js'
import { makePlan, type Plan } from './plan.js'
import type { PostgresSettings } from './settings.js'
import { publicationStatement, serverVersion } from './slot.js'
import { PostgresError } from './source-error.js'

/** The oldest version with `pg_current_snapshot` and `publish_via_partition_root`. */
const OLDEST_VERSION = 130_000

export async function check(
  database: Database,
  settings: PostgresSettings,
  mappings: readonly Mapping[],
): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  const fatal = (problem: string, remedy: string) => findings.push({ isFatal: true, problem, remedy })
  const advise = (problem: string, remedy: string) => findings.push({ isFatal: false, problem, remedy })
  const version = await serverVersion(database)
  if (version < OLDEST_VERSION)
    fatal(`PostgreSQL ${Math.floor(version / 10_000)} is too old`, 'use version 13 or newer')
  const [server] = await database.rows<Record<string, string>>(
    'reading settings',
    `select current_setting('wal_level') as level, current_setting('max_slot_wal_keep_size') as keep, current_user as role,
       (select (rolreplication or rolsuper)::text from pg_roles where rolname = current_user) as replication,
       (select count(*) from pg_replication_slots)::text as used, current_setting('max_replication_slots') as slots,
       (select count(*) from pg_replication_slots where slot_name = $1)::text as own`,
    [settings.slot],
  )
  const { level, keep, role, replication, used, slots, own } = server ?? {}
  if (level !== 'logical')
    fatal(`wal_level is ${level}`, 'ALTER SYSTEM SET wal_level = logical; and restart PostgreSQL')
  if (replication !== 'true') fatal(`the role ${role} may not replicate`, `ALTER ROLE "${role}" REPLICATION;`)
  if (own === '0' && Number(used) >= Number(slots))
    fatal(`all ${slots} replication slots are used`, 'raise max_replication_slots and restart PostgreSQL')
  if (keep === '-1')
    advise(
      'max_slot_wal_keep_size is not set: a sync that is stopped for long fills the disk of the database',
      "ALTER SYSTEM SET max_slot_wal_keep_size = '10GB'; SELECT pg_reload_conf();",
    )
  const plans: Plan[] = []
  for (const mapping of mappings) {
    try {
      plans.push(await makePlan(database, mapping))
    } catch (error) {
      if (!(error instanceof PostgresError) || error.isTransient) throw error
      fatal(
        `index \`${mapping.uid}\`: ${error.message}`,
        'correct the configuration, or GRANT SELECT on the table',
      )
    }
  }
  for (const plan of plans) {
    for (const table of [plan.table, ...plan.relations.map((one) => one.table)]) {
      const [row] = await database.rows<{ can: string }>(
        'reading rights',
        `select has_table_privilege($1::oid, 'select')::text as can`,
        [table.oid],
      )
      if (row?.can !== 'true')
        fatal(`the role ${role} may not read ${table.sql}`, `GRANT SELECT ON ${table.sql} TO "${role}";`)
      if (table.isPartition)
        fatal(
          `${table.sql} is a partition`,
          'name the partitioned table; its changes are published under that name',
        )
    }
    identityFindings(plan, fatal)
  }
  const statement =
    plans.length === 0 ? null : await publicationStatement(database, settings, plans.flatMap(tablesOf))
  const [rights] = await database.rows<{ can: string }>(
    'reading rights',
    `select has_database_privilege(current_database(), 'create')::text as can`,
  )
  const owned = await database.rows<{ oid: string }>(
    'reading rights',
    `select c.oid::text as oid from pg_class c where c.oid = any($1::oid[]) and not pg_has_role(c.relowner, 'usage')`,
    [plans.flatMap(tablesOf).map(({ oid }) => oid)],
  )
  if (statement !== null && (rights?.can !== 'true' || owned.length > 0))
    fatal(`the role ${role} may not publish the tables`, `${statement};`)
  return findings
}

const tablesOf = (plan: Plan) => [plan.table, ...plan.relations.map((one) => one.table)]

/** Deletions must tell the key: of the table itself, and of tables that are related by other columns. */
function identityFindings(plan: Plan, fatal: (problem: string, remedy: string) => void): void {
  const needs = [
    { table: plan.table, columns: plan.key },
    ...plan.relations.map(({ table, columns }) => ({ table, columns })),
  ]
  for (const { table, columns } of needs) {
    const missing = columns.filter((name) => !table.identity.includes(name))
    if (missing.length > 0)
      fatal(
        `the log does not contain \`${missing.join('`, `')}\` of deleted and changed rows of ${table.sql}`,
        `ALTER TABLE ${table.sql} REPLICA IDENTITY FULL;`,
      )
  }
}
