/** Clients that send every request to a random server. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Acknowledgement, Seen, StrongRead } from './history.js'
import type { Node } from './node.js'

/** Answers that the clients received. */
export class Records {
  readonly acknowledged: Acknowledgement[] = []
  /** Documents whose writes were refused with the promise that nothing was written. */
  readonly unwritten: number[] = []
  readonly seen: Seen[] = []
  readonly strong: StrongRead[] = []
  /** Documents that a strong read has shown as added. */
  readonly shown: number[] = []
  /** Searches that a server without a fault did not answer. */
  readonly unanswered: string[] = []
  searches = 0
  refused = 0
  unknown = 0
  nextId = 0
}

const WRITERS = 4
const READERS = 2
/** Number of tasks and documents that a strong read asks for. */
const ASKED = 10
const STRONG = { 'x-siftd-read-consistency': 'strong' }

const epochOf = (position: string | null): number | null => {
  const epoch = position?.split(':')[2]
  return epoch === undefined ? null : Number(epoch)
}

/** Adds one document. */
export async function write(node: Node, records: Records): Promise<void> {
  const id = records.nextId++
  const sentAt = performance.now()
  const answer = await node.call('POST', '/indexes/things/documents', [{ id, text: `thing ${id}` }])
  const answeredAt = performance.now()
  if (answer?.status === 202) {
    const epoch = epochOf(answer.headers.get('x-siftd-position'))
    records.acknowledged.push({ id, task: Number(answer.body.taskUid), epoch, sentAt, answeredAt })
    return
  }
  if (answer === null) records.unknown++
  else {
    records.refused++
    if (String(answer.body.message).includes('nothing was written')) records.unwritten.push(id)
  }
  await pause(50)
}

async function readTasks(node: Node, records: Records): Promise<void> {
  const asked = records.acknowledged.slice(-ASKED).map(({ task }) => task)
  if (asked.length === 0) return
  const answer = await node.call('GET', `/tasks?limit=${ASKED}&uids=${asked}`, undefined, STRONG)
  if (answer?.status !== 200) return
  const found = (answer.body.results as readonly { uid: number }[]).map(({ uid }) => uid)
  records.strong.push({ server: node.name, kind: 'task', asked, found })
}

/** Notes a document that a strong read shows as added. */
async function readTask(node: Node, records: Records, random: () => number): Promise<void> {
  const { acknowledged } = records
  const one = acknowledged[acknowledged.length - 1 - Math.floor(random() * ASKED)]
  if (one === undefined) return
  const answer = await node.call('GET', `/tasks/${one.task}`, undefined, STRONG)
  if (answer?.status === 200 && answer.body.status === 'succeeded') records.shown.push(one.id)
}

async function readDocuments(node: Node, records: Records): Promise<void> {
  const asked = [...new Set(records.shown.slice(-ASKED))]
  if (asked.length === 0) return
  const body = { ids: asked, fields: ['id'], limit: ASKED }
  const answer = await node.call('POST', '/indexes/things/documents/fetch', body, STRONG)
  if (answer?.status !== 200) return
  const found = (answer.body.results as readonly { id: number }[]).map(({ id }) => id)
  records.strong.push({ server: node.name, kind: 'document', asked, found })
}

async function search(node: Node, records: Records): Promise<void> {
  const wasWell = node.isWell
  const answer = await node.call('POST', '/indexes/things/search', { q: 'thing', limit: 1 })
  records.searches++
  if (answer?.status !== 200 && wasWell && node.isWell)
    records.unanswered.push(`${node.name} answered a search with ${JSON.stringify(answer?.body ?? null)}`)
}

async function watch(node: Node, records: Records): Promise<void> {
  const sentAt = performance.now()
  const position = (await node.health())?.position ?? null
  if (position !== null)
    records.seen.push({ server: node.name, position, sentAt, answeredAt: performance.now() })
}

/** Runs clients until `end` is called. @param random numbers from 0 to 1 */
export function startClients(nodes: readonly Node[], records: Records, random: () => number) {
  let isOn = true
  const any = (): Node => nodes[Math.floor(random() * nodes.length)]!
  const repeat = async (step: () => Promise<void>, everyMs: number): Promise<void> => {
    while (isOn) {
      await step()
      await pause(everyMs)
    }
  }
  const reads = [readTasks, readTask, readDocuments]
  const running = Promise.all([
    ...Array.from({ length: WRITERS }, () => repeat(() => write(any(), records), 20)),
    ...Array.from({ length: READERS }, () =>
      repeat(() => reads[Math.floor(random() * reads.length)]!(any(), records, random), 100),
    ),
    ...nodes.map((node) => repeat(() => search(node, records), 200)),
    ...nodes.map((node) => repeat(() => watch(node, records), 200)),
  ])
  return async () => {
    isOn = false
    await running
  }
}
