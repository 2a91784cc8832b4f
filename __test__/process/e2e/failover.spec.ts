/**
 * Three servers of a bucket, started with `--candidate yes`. Rules tested here:
 * 1. If the leader is killed, a follower takes over. It does not restart, and it answers searches all the time.
 * 2. No acknowledged document is lost with `--bucket-ack bucket`.
 * 3. The former leader becomes a follower at its next start, and a follower without the option never leads.
 * 4. A leader that stops hands over to a candidate. Every server accepts writes during the handover.
 * 5. Every server takes writes, and knows the task of a write that another one took.
 * 6. `siftd handover` names the next leader, and the former one follows it. It refuses if there is no candidate.
 * 7. `--candidate first --follow` begins the log of an empty bucket.
 * 8. A leader that has lost the bucket is replaced although it answers.
 * 9. A strong read finds what any follower has shown before it.
 */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from '../../support/command.js'
import type { TestDaemon } from '../../support/daemon.js'
import { startFaultProxy } from '../../support/fault-proxy.js'
import { add, answered, settled, tests, titles, type World, world } from './bucket-world.js'

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const as =
  (value: 'yes' | 'first') =>
  (start: World['start'], name: string, ...args: readonly string[]) =>
    start(name, (port) => [
      ...['--candidate', value, '--bucket-ack', 'bucket', '--advertised-url', `http://127.0.0.1:${port}`],
      ...args,
    ])

const candidate = as('yes')

interface Health {
  readonly role: 'writer' | 'follower'
  readonly writer: string | null
}

async function healthOf(server: TestDaemon): Promise<Health> {
  for (;;) {
    const { body } = await answered(server, 'GET', '/health')
    // A server that restarts its instance answers 503.
    if (body.replication !== undefined) return body.replication as unknown as Health
    await pause(50)
  }
}

/** Waits until one of the servers leads. */
async function leaderOf(servers: readonly TestDaemon[]): Promise<TestDaemon> {
  for (;;) {
    for (const server of servers) if ((await healthOf(server)).role === 'writer') return server
    await pause(50)
  }
}

/** Adds documents until `end` is called. `acknowledged` has the ids that were answered with 202. */
function load(server: TestDaemon) {
  const acknowledged: number[] = []
  let isOn = true
  const run = async (): Promise<void> => {
    for (let id = 1; isOn; id++) {
      const sent = await server
        .call('POST', '/indexes/films/documents', [{ id, title: `film ${id}` }])
        .catch(() => null)
      if (sent?.status === 202) acknowledged.push(id)
      else await pause(20)
    }
  }
  const running = run()
  return {
    acknowledged,
    async end() {
      isOn = false
      await running
    },
  }
}

/** Searches until `end` is called. @returns the number of searches, and those that failed */
function searches(server: TestDaemon) {
  const failed: unknown[] = []
  let [count, isOn] = [0, true]
  const run = async (): Promise<void> => {
    for (; isOn; count++) {
      const found = await server
        .call('POST', '/indexes/films/search', { q: 'solaris' })
        .catch((error) => error)
      if (found.status !== 200) failed.push(found)
      await pause(10)
    }
  }
  const running = run()
  return {
    async end() {
      isOn = false
      await running
      return { count, failed }
    },
  }
}

const finds = async (server: TestDaemon, title: string): Promise<boolean> => {
  const found: readonly unknown[] = await titles(server, title).catch(() => [])
  return found.includes(title)
}

const idsIn = async (server: TestDaemon): Promise<ReadonlySet<number>> => {
  const { body } = await server.call('GET', '/indexes/films/documents?limit=100000&fields=id')
  return new Set((body.results as unknown as readonly { id: number }[]).map(({ id }) => id))
}

tests('a candidate takes over from a killed leader without losing documents or searches', async (t) => {
  const { start } = await world(t)
  const leader = await candidate(start, 'first')
  await settled(leader, await add(leader, [{ id: 0, title: 'Solaris' }]))
  const followers = await Promise.all([
    candidate(start, 'second', '--follow'),
    candidate(start, 'third', '--follow'),
  ])
  const bystander = await start('fourth', '--follow')
  for (const follower of [...followers, bystander])
    while (!(await finds(follower, 'Solaris'))) await pause(20)
  const searching = followers.map(searches)
  const clients = load(leader)
  await pause(2_000)
  await leader.kill()
  const killedAt = performance.now()
  await clients.end()
  const successor = await leaderOf(followers)
  const other = followers.find((each) => each !== successor)!
  t.log(`a candidate leads ${Math.round(performance.now() - killedAt)} ms after the leader was killed`)
  // Both servers take the write, and either knows its task.
  const task = await add(other, [{ id: -1, title: 'Stalker' }])
  t.is((await settled(successor, task)).status, 'succeeded')
  const found = await idsIn(successor)
  t.true(clients.acknowledged.length > 0)
  t.deepEqual(
    clients.acknowledged.filter((id) => !found.has(id)),
    [],
  )
  for (const each of searching) {
    const { count, failed } = await each.end()
    t.true(count > 100)
    t.deepEqual(failed, [])
  }
  for (const follower of [other, bystander]) {
    t.is((await settled(follower, task)).status, 'succeeded')
    t.deepEqual(await titles(follower, 'stalker'), ['Stalker'])
    t.deepEqual(await healthOf(follower).then(({ role, writer }) => [role, writer]), [
      'follower',
      `http://127.0.0.1:${successor.port}`,
    ])
  }
  const again = await candidate(start, 'first')
  while ((await healthOf(again)).role !== 'follower') await pause(50)
  while (!(await finds(again, 'Stalker'))) await pause(20)
  t.false([...followers, bystander].some((each) => each.ended()))
})

/** Writes through a server, and waits for the task of each write as SDKs do. @returns milliseconds of the longest write */
function writes(server: TestDaemon, other: TestDaemon) {
  const failed: unknown[] = []
  const acknowledged: number[] = []
  let [longestMs, lastTask, isOn] = [0, -1, true]
  const run = async (): Promise<void> => {
    for (let id = 1000; isOn; id++) {
      const beganAt = performance.now()
      for (let tries = 0; ; tries++) {
        const sent = await server.call('POST', '/indexes/films/documents', [{ id, title: `film ${id}` }])
        if (sent.status === 202) {
          acknowledged.push(id)
          lastTask = sent.body.taskUid
          const known = await other.call('GET', `/tasks/${sent.body.taskUid}`)
          if (known.status !== 200) failed.push(known)
          break
        }
        // Each 503 asks for a second. The successor is usually known after a third of one.
        if (sent.status !== 503 || tries > 20) failed.push(sent)
        if (sent.status !== 503) break
        await pause(100)
      }
      longestMs = Math.max(longestMs, performance.now() - beganAt)
    }
  }
  const running = run()
  return {
    acknowledged,
    async end() {
      isOn = false
      await running
      // An accepted write is found once its task has ended.
      await settled(other, lastTask)
      return { failed, longestMs }
    },
  }
}

tests('a stopped leader hands over, and writes through any server go on', async (t) => {
  const { start, directory } = await world(t)
  const leader = await candidate(start, 'first')
  await settled(leader, await add(leader, [{ id: 0, title: 'Solaris' }]))
  const second = await candidate(start, 'second', '--follow')
  const bystander = await start('third', '--follow', '--read-consistency', 'strong')
  for (const follower of [second, bystander]) while (!(await finds(follower, 'Solaris'))) await pause(20)
  for (let id = 1; id <= 5; id++) {
    // A document on one follower is in the log. A strong read on another follower finds it.
    await settled(second, await add(second, [{ id, title: `Mirror ${id}` }]))
    t.is((await bystander.call('GET', `/indexes/films/documents/${id}`)).status, 200)
  }
  // The leader must know its candidate, which announces itself after its first poll.
  await pause(2_000)
  const writing = writes(bystander, second)
  await pause(500)
  const stoppedAt = performance.now()
  const stopped = leader.stop()
  await leaderOf([second])
  t.log(
    `the successor leads ${Math.round(performance.now() - stoppedAt)} ms after the leader was asked to stop`,
  )
  await stopped
  t.regex(leader.log(), /another server is asked to take over/)
  await pause(1_000)
  const { failed, longestMs } = await writing.end()
  t.log(`the longest write took ${Math.round(longestMs)} ms`)
  t.deepEqual(failed, [])
  const found = await idsIn(second)
  t.deepEqual(
    writing.acknowledged.filter((id) => !found.has(id)),
    [],
  )
  // Its directory is a copy now, so a newer version follows on from it without an upgrade of its own.
  await writeFile(join(directory, 'first', 'VERSION'), '0.0.9\n')
  const upgraded = await candidate(start, 'first')
  t.is((await healthOf(upgraded)).role, 'follower')
  while (!(await finds(upgraded, `film ${writing.acknowledged.at(-1)}`))) await pause(20)
  t.deepEqual(
    (await readdir(join(directory, 'first'))).filter((name) => name.startsWith('diverged')),
    [],
  )
})

tests('a leader that has lost the bucket is replaced while it answers, and then follows', async (t) => {
  const { start, origin } = await world(t)
  const proxy = await startFaultProxy({ store: origin, lot: () => 0, failing: 0, delayMs: 0 })
  t.teardown(() => proxy.close())
  const leader = await candidate(start, 'first', '--bucket-endpoint', proxy.origin)
  const task = await add(leader, [{ id: 0, title: 'Solaris' }])
  await settled(leader, task)
  const second = await candidate(start, 'second', '--follow')
  while (!(await finds(second, 'Solaris'))) await pause(20)
  proxy.leave()
  const leftAt = performance.now()
  await leaderOf([second])
  t.log(`another server leads ${Math.round(performance.now() - leftAt)} ms after the leader lost the bucket`)
  t.is((await healthOf(leader)).role, 'writer')
  await settled(second, await add(second, [{ id: 1, title: 'Stalker' }]))
  proxy.comeBack()
  while (!(await finds(leader, 'Stalker'))) await pause(20)
  t.is((await healthOf(leader)).role, 'follower')
})

tests('siftd handover lets a named server lead, and refuses without a candidate', async (t) => {
  const { start } = await world(t)
  // It begins the log of the empty bucket.
  const leader = await as('first')(start, 'first', '--follow')
  const url = (server: TestDaemon): string => `http://127.0.0.1:${server.port}`
  await settled(leader, await add(leader, [{ id: 0, title: 'Solaris' }]))
  const refused = await runCommand(['handover', '--url', url(leader)])
  t.is(refused.code, 1)
  t.regex(refused.errors.join(), /no_successor.*no server can take over/)
  const [second, third] = await Promise.all([
    candidate(start, 'second', '--follow'),
    candidate(start, 'third', '--follow'),
  ])
  // Any server passes the request on to the leader. A candidate announces itself after its first poll.
  const handover = ['handover', '--url', url(second), '--to', url(third)]
  let done = await runCommand(handover)
  while (done.code !== 0 && /no_successor/.test(done.errors.join())) done = await runCommand(handover)
  t.deepEqual([done.code, done.lines], [0, [`${url(third)} is the leader now`]], done.errors.join())
  t.is(await leaderOf([leader, second, third]), third)
  while ((await healthOf(leader)).role !== 'follower') await pause(50)
  await settled(leader, await add(leader, [{ id: 1, title: 'Stalker' }]))
  t.deepEqual(await titles(leader, 'stalker'), ['Stalker'])
})
