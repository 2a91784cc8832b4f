/** PostgreSQL as a source of documents. */
import { setTimeout as sleep } from 'node:timers/promises'
import type {
  ChangeBatch,
  Mapping,
  Prepared,
  Source,
  SourceSettings,
} from '../../../ts/transfer/sync/source.js'
import type { Table } from './catalogue.js'
import { check } from './check.js'
import { openDatabase } from './database.js'
import { VISIBLE_PAUSE_LAST_MS } from './limits.js'
import { positionNumber } from './names.js'
import { makePlan, type Plan } from './plan.js'
import { ReplicationClient } from './replication-client.js'
import { postgresSettings } from './settings.js'
import { dropPublication, dropSlot, ensurePublication, ensureSlot, slotFacts } from './slot.js'
import { PostgresError } from './source-error.js'
import { ChangeStream } from './stream.js'
import { hasSettled } from './visibility.js'

const tablesOf = ({ table, relations }: Plan): readonly Table[] => [
  table,
  ...relations.map((one) => one.table),
]

/** @throws PostgresError for a mistake in the settings */
export function openSource(
  given: SourceSettings,
  mappings: readonly Mapping[],
  log: (line: string) => void,
): Source {
  const settings = postgresSettings(given)
  const database = openDatabase(settings)
  const plans = new Map<string, Plan>()
  let stream: ChangeStream | null = null

  const mappingOf = (uid: string): Mapping => {
    const mapping = mappings.find((one) => one.uid === uid)
    if (mapping === undefined) throw new PostgresError(`no index \`${uid}\` is configured`, false)
    return mapping
  }
  const planOf = (uid: string): Plan => {
    const plan = plans.get(uid)
    if (plan === undefined) throw new PostgresError(`the documents of \`${uid}\` cannot be read`, false)
    return plan
  }
  /** Oids of the tables that the publication has. */
  let published: ReadonlySet<string> = new Set()
  const publish = async (): Promise<void> => {
    const tables = [...plans.values()].flatMap(tablesOf)
    if (tables.length > 0) await ensurePublication(database, settings, tables)
    published = new Set(tables.map(({ oid }) => oid))
  }
  const snapshot = async (): Promise<string> => {
    const sql = 'select pg_current_snapshot()::text as snapshot'
    const [row] = await database.rows<{ snapshot: string }>('reading the snapshot', sql)
    return row?.snapshot ?? ''
  }

  return {
    async identity() {
      const client = await ReplicationClient.connect(settings)
      try {
        const { systemid, dbname } = await client.command('identifying the database', 'IDENTIFY_SYSTEM')
        return `${systemid}/${dbname}`
      } finally {
        await client.end()
      }
    },
    check: () => check(database, settings, mappings),
    async prepare(uid): Promise<Prepared> {
      try {
        const plan = await makePlan(database, mappingOf(uid))
        plans.set(uid, plan)
        // A table that was created again is not published. A new session publishes it, and copies it only after the
        // transactions have ended that may have changed it before.
        const added = stream === null ? undefined : tablesOf(plan).find(({ oid }) => !published.has(oid))
        if (added !== undefined)
          throw new PostgresError(`the table ${added.sql} is new and must be published`, true)
        return { ok: true, facts: plan.facts }
      } catch (error) {
        if (!(error instanceof PostgresError) || error.isTransient) throw error
        plans.delete(uid)
        return { ok: false, reason: error.message }
      }
    },
    async openSlot() {
      await publish()
      const state = await ensureSlot(database, settings)
      if (state.isNew) log(`created the slot ${settings.slot}`)
      return state
    },
    async settled(signal) {
      const first = await snapshot()
      let isSaid = false
      for (let waited = 0; !signal.aborted; waited += VISIBLE_PAUSE_LAST_MS) {
        if (hasSettled(first, await snapshot())) return
        if (waited > 5_000 && !isSaid) {
          isSaid = true
          log('waiting for transactions that were open when the sync subscribed to the tables')
        }
        await sleep(VISIBLE_PAUSE_LAST_MS)
      }
    },
    page: async (uid, after, rows) => planOf(uid).page(after, rows),
    read: async (uid, keys) => planOf(uid).read(keys),
    async *changes(after, signal): AsyncGenerator<ChangeBatch> {
      const setup = { database, settings, plans: () => plans }
      const opened = await ChangeStream.open(setup, positionNumber(after), signal)
      stream = opened
      try {
        for (;;) {
          const batch = await opened.next(signal)
          if (batch === null) return
          yield batch
        }
      } finally {
        stream = null
        opened.close()
      }
    },
    async confirm(position) {
      stream?.confirm(positionNumber(position))
    },
    slotFacts: () => slotFacts(database, settings),
    async dropSlot({ isForced }) {
      await dropSlot(database, settings, isForced)
      // The next slot needs it again.
      if (isForced) return
      await dropPublication(database, settings).catch(({ message }: Error) =>
        log(`${message}: let its owner run DROP PUBLICATION "${settings.publication}";`),
      )
    },
    compare(a, b) {
      const [first, second] = [positionNumber(a), positionNumber(b)]
      return first < second ? -1 : first > second ? 1 : 0
    },
    close: () => database.close(),
  }
}
