import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '../../__test__/support/connection.js'
import { MASTER_KEY, type ServerProcess } from '../../__test__/support/server-process.js'

/** Connections opened at a time, and how often: the kernel decides which thread accepts one. */
const CANDIDATES = 32
const WAVES_MAX = 30

interface Spread {
  readonly connections: readonly Connection[]
  /** Thread → its number of connections. The main thread has the number 0. */
  readonly spread: Readonly<Record<string, number>>
}

/** Opens connections until each thread can have an equal share of `count`, and closes the others. */
export async function spreadConnections(server: ServerProcess, count: number): Promise<Spread> {
  const { port } = new URL(server.url)
  const threads = Number(/"threads":(\d+)/.exec(server.errors)?.[1] ?? 1)
  const byThread = new Map<number, Connection[]>()
  const share = Math.ceil(count / threads)
  for (let wave = 0; wave < WAVES_MAX; wave++) {
    if (byThread.size === threads && [...byThread.values()].every((list) => list.length >= share)) break
    const opened = Array.from({ length: CANDIDATES }, () => new Connection(Number(port), MASTER_KEY))
    const found = await Promise.all(opened.map((one, at) => threadOf(server, one, `wave-${wave}-${at}`)))
    for (const [at, thread] of found.entries()) {
      const list = byThread.get(thread) ?? []
      byThread.set(thread, list)
      if (list.length < share) list.push(opened[at]!)
      else opened[at]!.close()
    }
  }
  // Takes one of each thread in turn, so that shares differ by at most one.
  const turns = Array.from({ length: share }, (_, at) =>
    [...byThread].flatMap(([thread, list]) => (list[at] === undefined ? [] : [{ thread, one: list[at] }])),
  ).flat()
  for (const { one } of turns.slice(count)) one.close()
  const spread: Record<string, number> = {}
  for (const { thread } of turns.slice(0, count)) spread[thread] = (spread[thread] ?? 0) + 1
  // Further log lines would only cost time.
  await server.call('PATCH', '/experimental-features', { logsRoute: true })
  await server.call('POST', '/logs/stderr', { target: 'ERROR' })
  return { connections: turns.slice(0, count).map(({ one }) => one), spread }
}

/** Returns the number of the thread that answers a connection, from the id of a request in the log. */
async function threadOf(server: ServerProcess, connection: Connection, agent: string): Promise<number> {
  await connection.call('GET', '/health', undefined, { headers: { 'user-agent': agent } })
  const line = new RegExp(`"reqId":"req-(?:(\\d+)-)?\\w+"[^\\n]*"user_agent":"${agent}"`)
  for (;;) {
    const found = line.exec(server.errors)
    if (found !== null) return Number(found[1] ?? 0)
    await sleep(5)
  }
}
