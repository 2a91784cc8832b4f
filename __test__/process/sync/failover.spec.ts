import { startCuttableProxy } from '../../../trials/sync-postgres/cuttable-proxy.js'
import { postgresPrograms, postgresVersion, TestPostgres } from '../../support/postgres.js'
import { nativeEngine, type Requirement } from '../../support/requirements.js'
import { testEngine } from '../../support/server.js'
import { testNeeding } from '../../support/test-needing.js'
import { startWorld } from './world.js'

const failoverSlots: Requirement = {
  missing: postgresVersion() >= 17 ? null : 'slots survive a failover from PostgreSQL 17 on',
  isDemanded: false,
}
const needs = [...(testEngine === 'native' ? [nativeEngine] : []), postgresPrograms, failoverSlots]

testNeeding(needs)('a sync continues on a standby that was promoted, without a copy', async (t) => {
  t.timeout(300_000)
  const primary = await TestPostgres.start(t)
  await primary.sql(
    `create table films (id int primary key, title text); insert into films values (1, 'Alien')`,
  )
  const proxy = await startCuttableProxy(Number(new URL(primary.url).port))
  t.teardown(() => proxy.close())
  const url = `postgres://shop@127.0.0.1:${proxy.port}/postgres`
  const world = await startWorld(t, { url }, { name: 'films', index: [{ uid: 'films', table: 'films' }] })
  const sync = world.run()
  await world.becomes(t, 'films', 1, { id: 1, title: 'Alien' })

  const standby = await primary.startStandby(t)
  await world.eventually(t, 'the standby has the slot', async () => {
    // The slot is copied once its changes have reached the standby.
    await primary.sql(`update films set title = 'Aliens'; select pg_log_standby_snapshot()`)
    const slots = await standby.sql(
      `select from pg_replication_slots where slot_name = 'films' and not temporary`,
    )
    return slots.length === 1
  })
  await world.becomes(t, 'films', 1, { id: 1, title: 'Aliens' })

  await primary.kill()
  await standby.sql('select pg_promote()')
  proxy.target = Number(new URL(standby.url).port)
  proxy.cut()
  await standby.sql(`insert into films values (2, 'Brazil')`)
  await world.becomes(t, 'films', 2, { id: 2, title: 'Brazil' })
  sync.interrupt()
  const { errors } = await sync.outcome
  t.deepEqual(
    errors.filter((line) => line.startsWith('all documents are copied')),
    ['all documents are copied: the target has no progress of this sync'],
    errors.join('\n'),
  )
})
