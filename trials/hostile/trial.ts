/** Sends requests to a server, watches it from outside, and reports faults. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { codes } from '../../ts/errors/index.js'
import type { Answer } from './answers.js'
import type { Bounds, Case } from './case.js'
import { type Client, mayDo } from './clients.js'
import { corpus } from './corpus.js'
import { childrenOf, memoryOf, resetPeak } from './figures.js'
import { apiOf, type Generated, Generator, type Operation } from './generate.js'
import { type HostileRequest, shown } from './request.js'
import type { Exchange } from './send.js'
import { Target, type Task, type TrialEngine, UnansweredError } from './target.js'
import { type Observation, startWatch, type Watch } from './watch.js'

export const defaultBounds: Bounds = { stopMsMax: 250, growthBytesMax: 150_000_000 }

export interface Finding {
  readonly what: string
  readonly name: string
  /** The request and those before it in the trial, for a replay. */
  readonly requests: readonly HostileRequest[]
  readonly engine: TrialEngine
  readonly seed: number
}

/** Cost of a case, for the report. */
export interface Cost {
  readonly name: string
  readonly ms: number
  readonly stopMs: number
  /** Largest sampled growth of anonymous memory. */
  readonly growthBytes: number
  /** Growth of the kernel's peak of resident memory. */
  readonly peakBytes: number
  /** True if the server ended during the case and was replaced. */
  readonly isDead: boolean
}

/** Number of preceding requests saved with a finding. */
const BEFORE_MAX = 40
/** Time allowed for garbage collection, in milliseconds. */
const SETTLE_MS_MAX = 8_000
/** The task uid is within this many first bytes of an answer. Data from the request may follow. */
const TASK_UID_BYTES = 100
/** Milliseconds after which the server has accepted the request of a disconnected client, if it ever does. */
const HUNG_UP_MS = 100
/** Number of requests after which the initial state is restored. */
const REFRESH_EVERY = 400
/** A larger answer is a finding, whatever its content. */
const ANSWER_BYTES_MAX = 110_000_000

export class Trial {
  readonly findings: Finding[] = []
  readonly costs: Cost[] = []
  readonly counts = { requests: 0, accepted: 0, refused: 0, tasks: 0, failedTasks: 0, unanswered: 0 }
  readonly #before: HostileRequest[] = []
  #watch: Watch
  #lastState = ''
  /** True if a request was not answered in time. Later requests would wait for it. */
  #isStuck = false

  private constructor(
    private target: Target,
    watch: Watch,
    private readonly seed: number,
    private readonly bounds: Bounds,
    private readonly directory: string | null,
    private readonly say: (line: string) => void,
  ) {
    this.#watch = watch
  }

  /** @param directory folder for findings; null saves none */
  static async start(
    engine: TrialEngine,
    seed: number,
    {
      bounds = defaultBounds,
      httpThreads = undefined as number | undefined,
      directory = null as string | null,
      say = (_line: string): void => undefined,
    } = {},
  ): Promise<Trial> {
    const target = await Target.start(engine, httpThreads)
    return new Trial(target, await watchOf(target), seed, bounds, directory, say)
  }

  async stop(): Promise<void> {
    await this.#watch.close()
    const children = childrenOf(this.target.daemon.pid)
    if (!this.target.daemon.ended()) await this.target.daemon.stop()
    for (const child of children) {
      if (memoryOf(child) !== null) await this.#find(`process ${child} outlived its server`, 'the end', [])
    }
    await this.target.stop()
  }

  /**
   * Runs the cases whose name contains `part`.
   * @param withOpen true to include cases with a known defect
   * @param every runs only every n-th case
   */
  async corpus(part = '', withOpen = true, every = 1): Promise<void> {
    for (const [at, one] of corpus.entries()) {
      if (at % every === 0 && one.name.includes(part) && (withOpen || one.open === undefined))
        await this.#replacingServer(one.name, one.requests, () => this.#case(one))
    }
    await this.target.refresh()
  }

  /** Sends generated requests until `ms` milliseconds have passed or `requestsMax` were sent. */
  async generated(ms: number, requestsMax = Number.POSITIVE_INFINITY): Promise<void> {
    const api = apiOf((await this.target.ask('GET', '/openapi.json')).text)
    const generator = new Generator(
      api,
      this.target.clients.map(({ name }) => name),
      this.seed,
    )
    await this.#watch.take()
    const start = memoryOf(this.target.daemon.pid)?.anonymous ?? 0
    this.#lastState = await this.target.state('queue')
    const until = performance.now() + ms
    for (let number = 0; number < requestsMax && performance.now() < until; number++) {
      const generated = generator.request(number)
      const name = `request ${number} of seed ${this.seed}`
      await this.#replacingServer(name, [generated.request], async () => {
        if (number % REFRESH_EVERY === REFRESH_EVERY - 1) await this.#refresh()
        await this.#one(generated, name)
      })
    }
    await this.#settle(start, 'all generated requests', [])
  }

  /** Sends saved requests again. */
  async replay(requests: readonly HostileRequest[]): Promise<void> {
    for (const request of requests) {
      const cost = await this.#watched('replayed', [request], async () => {
        const { answers, ended } = await this.#send(request)
        for (const { status, body, bytes } of answers) {
          this.say(`${status} ${bytes} bytes ${body.toString().slice(0, 500)}`)
          const task = await this.#taskOf(status, body)
          if (task !== undefined) this.say(JSON.stringify(task))
        }
        if (answers.length === 0) this.say(ended)
      })
      this.say(costLine(cost))
      for (const fault of this.target.faults()) this.say(fault)
    }
  }

  /** Does `work`. If the server ends or hangs during it, reports that and starts a new server. */
  async #replacingServer(
    name: string,
    about: readonly HostileRequest[],
    work: () => Promise<void>,
  ): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof UnansweredError)) throw error
      // A killed process may end shortly after its connections.
      await pause(500)
      if (await this.#isDead(name, about)) return
      await this.#find(error.message, name, about)
      await this.#renew()
    }
  }

  // Cases

  async #case(one: Case): Promise<void> {
    const { name, prepare = [], requests, wanted, afterwards = [], indexes = [] } = one
    for (const request of prepare) await this.#prepared(name, request)
    const before = wanted.refused ? await this.target.state('all') : ''
    const bounds = { ...this.bounds, ...one.bounds }
    const cost = await this.#watched(
      name,
      requests,
      async () => {
        const exchanges = await Promise.all(
          requests.flatMap((request) => {
            const { copies = 1 } = request
            return Array.from({ length: copies }, async () => ({
              request,
              exchange: await this.#send(request),
            }))
          }),
        )
        for (const { request, exchange } of exchanges) await this.#judgeCase(one, request, exchange)
      },
      bounds,
    )
    this.costs.push(cost)
    this.say(costLine(cost))
    if (cost.isDead) return
    if (this.#isStuck) {
      await this.#renew()
      return
    }
    for (const { request, status, holds } of afterwards) {
      const { answers } = await this.target.send(request)
      const text = answers[0]?.body.toString() ?? ''
      if (answers[0]?.status !== status || (holds !== undefined && !text.includes(holds))) {
        await this.#find(
          `afterwards ${shown(request)} → ${answers[0]?.status} ${text.slice(0, 300)}`,
          name,
          requests,
        )
      }
    }
    const after = wanted.refused ? await this.target.state('all') : ''
    if (after !== before) {
      const changed = difference(before, after)
      await this.#find(`a refused request changed the state: ${changed}`, name, requests)
    }
    for (const uid of indexes)
      await this.#prepared(name, { method: 'DELETE', path: `/indexes/${uid}` }, [404, 202])
  }

  async #prepared(
    name: string,
    request: HostileRequest,
    statuses: readonly number[] = [200, 201, 202],
  ): Promise<void> {
    const { answers, ended } = await this.target.send(request)
    const [answer] = answers
    if (answer === undefined || !statuses.includes(answer.status)) {
      const found = answer === undefined ? ended : `${answer.status} ${answer.body.toString().slice(0, 300)}`
      await this.#find(`the preparation failed: ${found}`, name, [request])
      return
    }
    const task = await this.#taskOf(answer.status, answer.body)
    if (task === null) await this.#find('a task of the preparation did not end', name, [request])
  }

  async #judgeCase(
    { name, wanted, requests }: Case,
    request: HostileRequest,
    { answers, ended }: Exchange,
  ): Promise<void> {
    if (ended === 'left') return
    if (ended === 'garbled') await this.#find('the answer is not HTTP', name, requests)
    const [answer] = answers
    if (answer === undefined) {
      this.#isStuck ||= ended === 'silent'
      if (wanted.hangUp !== true || ended !== 'closed')
        await this.#find(`no answer: ${ended}`, name, requests)
      return
    }
    const text = answer.body.toString().slice(0, 300)
    if (!wanted.statuses.includes(answer.status))
      await this.#find(`answered ${answer.status} ${text}`, name, requests)
    await this.#judgeAnswer(answer, name, requests)
    await this.#judgeSecrets(this.target.client(request.as ?? 'master'), request, answer, name, requests)
    const code = answer.status >= 400 ? codeOf(answer) : null
    if (wanted.code !== undefined && code !== null && !wanted.code.some((one) => one === code)) {
      await this.#find(`refused with ${code}: ${text}`, name, requests)
    }
    const task = await this.#taskOf(answer.status, answer.body)
    if (task === undefined) return
    await this.#judgeTask(task, name, requests)
    if (
      wanted.task !== undefined &&
      task !== null &&
      !wanted.task.includes(task.error?.code ?? task.status)
    ) {
      await this.#find(`its task ended with ${JSON.stringify(task)}`, name, requests)
    }
  }

  // Generated requests

  async #one(generated: Generated, name: string): Promise<void> {
    const { request } = generated
    this.#before.push(request)
    if (this.#before.length > BEFORE_MAX) this.#before.shift()
    const about = [...this.#before]
    let answers: readonly Answer[] = []
    const cost = await this.#watched(name, about, async () => {
      const exchanges = await Promise.all(
        Array.from({ length: request.copies ?? 1 }, () => this.#send(request)),
      )
      answers = exchanges.flatMap((exchange) => exchange.answers)
      for (const exchange of exchanges) await this.#judgeEnd(request, exchange, name, about)
    })
    if (cost.stopMs > 100 || cost.growthBytes > 60e6)
      this.costs.push({ ...cost, name: `${name} ${shown(request)}` })
    if (cost.isDead) return
    await this.#judgeState(generated, answers, name, about)
    for (const fault of this.target.faults())
      await this.#find(`the log says ${fault.slice(0, 2_000)}`, name, about)
  }

  async #judgeEnd(
    request: HostileRequest,
    { answers, ended }: Exchange,
    name: string,
    about: readonly HostileRequest[],
  ): Promise<void> {
    if (ended === 'silent') await this.#find('no answer in a minute', name, about)
    if (ended === 'garbled') await this.#find('the answer is not HTTP', name, about)
    if (ended === 'closed' && answers.length === 0 && request.delivery === 'whole' && !isMalformed(request)) {
      await this.#find('the connection was closed without an answer', name, about)
    }
  }

  /** Judges the answers, the rights of the client, and the state afterwards. */
  async #judgeState(
    { operation, request, index }: Generated,
    answers: readonly Answer[],
    name: string,
    about: readonly HostileRequest[],
  ): Promise<void> {
    const client = this.target.client(request.as ?? 'master')
    for (const answer of answers) {
      await this.#judgeAnswer(answer, name, about)
      await this.#judgeRights(operation, request, index, client, answer, name, about)
    }
    const isAsked = request.method === operation.method
    const isRead =
      ['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(request.method) ||
      (isAsked && operation.actions.some((action) => /search|\.get$/.test(action)))
    const taken = answers.filter(({ status }) => status < 400)
    // A route without a body accepts a request after its head, before it notices a missing or malformed body.
    const isEarly =
      operation.bodies.length === 0 && (request.delivery === 'truncated' || isMalformed(request))
    const isUnknown = isEarly || (answers.length === 0 && request.delivery !== 'truncated')
    if (taken.length === 0 && !isUnknown) {
      if (isRead) return
      const state = await this.target.state('queue')
      if (state !== this.#lastState) {
        const changed = difference(this.#lastState, state)
        await this.#find(`a refused request changed the state: ${changed}`, name, about)
        this.#lastState = state
      }
      return
    }
    for (const { status, body } of taken) {
      const task = await this.#taskOf(status, body)
      if (task !== undefined) await this.#judgeTask(task, name, about)
    }
    if (isUnknown) await this.#idle()
    // Moving an index changes the data that clients may see, so the initial state is restored at once.
    if (movesIndexes(operation, request) && taken.length > 0) await this.#refresh()
    else if (!isRead || isUnknown) this.#lastState = await this.target.state('queue')
  }

  async #judgeAnswer(answer: Answer, name: string, about: readonly HostileRequest[]): Promise<void> {
    const { status, headers, bytes, body } = answer
    const text = body.toString().slice(0, 500)
    const isBound = status === 503 && headers['retry-after'] !== undefined
    // 501 (not implemented) and 502 (another server failed) are not faults of this server.
    const isOurs = status >= 500 && !isBound && ![501, 502].includes(status)
    if (isOurs) await this.#find(`answered ${status} ${text}`, name, about)
    if (bytes > ANSWER_BYTES_MAX) await this.#find(`an answer of ${bytes} bytes`, name, about)
    const isPlain = headers['content-encoding'] === undefined && body.length === bytes
    if (status >= 400 && bytes > 0 && isPlain) {
      const code = codeOf(answer)
      if (code === null || !Object.hasOwn(codes, code))
        await this.#find(`an unknown error: ${text}`, name, about)
    }
  }

  async #judgeRights(
    operation: Operation,
    request: HostileRequest,
    index: string | null,
    client: Client,
    answer: Answer,
    name: string,
    about: readonly HostileRequest[],
  ): Promise<void> {
    await this.#judgeSecrets(client, request, answer, name, about)
    const isAsked = request.method === operation.method
    // A multi-search without queries reads no index.
    const isEmpty = answer.body.toString() === '{"results":[]}' && operation.path === '/multi-search'
    if (isAsked && answer.status < 300 && !isEmpty && !mayDo(client, operation.actions, index)) {
      const found = `${answer.status} ${answer.body.toString().slice(0, 200)}`
      await this.#find(`${client.name} lacks the right, but was answered ${found}`, name, about)
    }
  }

  async #judgeSecrets(
    client: Client,
    request: HostileRequest,
    answer: Answer,
    name: string,
    about: readonly HostileRequest[],
  ): Promise<void> {
    const text = answer.body.toString()
    // An answer may repeat texts of the request.
    const asked = JSON.stringify(request)
    const leaked = client.hidden.find((secret) => text.includes(secret) && !asked.includes(secret))
    if (leaked !== undefined) await this.#find(`leaked \`${leaked}\` to ${client.name}`, name, about)
  }

  async #judgeTask(task: Task | null, name: string, about: readonly HostileRequest[]): Promise<void> {
    if (task === null) {
      await this.#find('a task did not end in a minute', name, about)
      return
    }
    if (task.status === 'failed') this.counts.failedTasks++
    if (task.error?.code === 'internal') {
      await this.#find(`a task failed: ${JSON.stringify(task)}`, name, about)
    }
  }

  // Watching

  /** Does `work` and reports costs above the bounds. */
  async #watched(
    name: string,
    about: readonly HostileRequest[],
    work: () => Promise<void>,
    bounds = this.bounds,
  ): Promise<Cost> {
    const { pid } = this.target.daemon
    resetPeak(pid)
    await this.#watch.take()
    const before = memoryOf(pid)
    const start = performance.now()
    try {
      await work()
    } catch (error) {
      if (!(error instanceof UnansweredError && this.target.daemon.ended())) throw error
    }
    const seen = await this.#watch.take()
    const after = memoryOf(pid)
    const figures = {
      name,
      ms: performance.now() - start,
      stopMs: seen.stopMs,
      growthBytes: before === null ? 0 : Math.max(0, seen.anonymousMax - before.anonymous),
      peakBytes: before === null || after === null ? 0 : Math.max(0, after.peak - before.peak),
    }
    const cost: Cost = { ...figures, isDead: await this.#isDead(name, about) }
    if (cost.isDead) return cost
    await this.#judgeCost(cost, seen, bounds, about)
    if (before !== null && cost.growthBytes > bounds.growthBytesMax / 2)
      await this.#settle(before.anonymous, name, about, bounds)
    return cost
  }

  async #judgeCost(
    cost: Cost,
    seen: Observation,
    bounds: Bounds,
    about: readonly HostileRequest[],
  ): Promise<void> {
    const { name } = cost
    if (seen.lost > 0) await this.#find(`/health failed ${seen.lost} times`, name, about)
    if (cost.stopMs > bounds.stopMsMax) {
      const late = `slowest answer ${seen.slowestMs.toFixed()} ms, our own timer late by ${seen.lateMs.toFixed()} ms`
      await this.#find(`/health stopped for ${cost.stopMs.toFixed()} ms (${late})`, name, about)
    }
    if (cost.growthBytes > bounds.growthBytesMax) {
      await this.#find(`${megabytes(cost.growthBytes)} more memory during it`, name, about)
    }
  }

  /** Waits until memory is within the bound again. Reports it if it stays above. */
  async #settle(
    start: number,
    name: string,
    about: readonly HostileRequest[],
    bounds = this.bounds,
  ): Promise<void> {
    const { pid } = this.target.daemon
    let growth = 0
    for (const until = performance.now() + SETTLE_MS_MAX; performance.now() < until; await pause(200)) {
      growth = (memoryOf(pid)?.anonymous ?? start) - start
      if (growth <= bounds.growthBytesMax) return
      // Cheap requests trigger garbage collections.
      for (let i = 0; i < 50; i++) await this.target.ask('GET', '/stats')
    }
    await this.#find(`${megabytes(growth)} more memory after it`, name, about)
  }

  async #send(request: HostileRequest): Promise<Exchange> {
    const exchange = await this.target.send(request, async () => {
      // A client that does not read must not delay others.
      const { status } = await this.target.ask('POST', '/indexes/films/search', { q: 'a' })
      if (status !== 200) await this.#find(`a concurrent search was answered ${status}`, 'unread', [request])
    })
    this.counts.requests++
    for (const { status } of exchange.answers) {
      if (status < 400) this.counts.accepted++
      else this.counts.refused++
    }
    if (exchange.answers.length === 0) this.counts.unanswered++
    return exchange
  }

  /** Waits for the task that an answer names. Returns undefined if it names none, null if the task does not end. */
  async #taskOf(status: number, body: Buffer): Promise<Task | null | undefined> {
    // Exports are accepted with 200.
    if (status >= 300) return undefined
    const [, digits] = /^\{"taskUid":(\d+),/.exec(body.toString('latin1', 0, TASK_UID_BYTES)) ?? []
    if (digits === undefined) return undefined
    const taskUid = Number(digits)
    this.counts.tasks++
    return this.target.settled(taskUid)
  }

  async #idle(): Promise<void> {
    // A request may still arrive after its client closed the connection.
    await pause(HUNG_UP_MS)
    for (const until = performance.now() + SETTLE_MS_MAX; performance.now() < until; await pause(20)) {
      const { text } = await this.target.ask('GET', '/tasks?statuses=enqueued,processing&limit=0')
      if ((JSON.parse(text) as { readonly total: number }).total === 0) return
    }
  }

  async #refresh(): Promise<void> {
    await this.target.refresh()
    this.#lastState = await this.target.state('queue')
    await this.#watch.take()
  }

  /** Returns true if the server ended, after starting a new one. */
  async #isDead(name: string, about: readonly HostileRequest[]): Promise<boolean> {
    if (!this.target.daemon.ended()) return false
    await this.#find(`the server ended: ${this.target.daemon.log().slice(-3_000)}`, name, about)
    await this.#renew()
    return true
  }

  /** Replaces the server. */
  async #renew(): Promise<void> {
    await this.#watch.close()
    this.#isStuck = false
    const { engine, httpThreads } = this.target
    await this.target.stop()
    this.target = await Target.start(engine, httpThreads)
    this.#watch = await watchOf(this.target)
    this.#lastState = await this.target.state('queue')
  }

  async #find(what: string, name: string, requests: readonly HostileRequest[]): Promise<void> {
    const finding: Finding = { what, name, requests, engine: this.target.engine, seed: this.seed }
    this.findings.push(finding)
    this.say(`FOUND ${name}: ${what}`)
    const last = requests.at(-1)
    if (last !== undefined) this.say(`  ${shown(last)}`)
    if (this.directory === null) return
    const path = join(this.directory, `finding-${this.target.engine}-${this.findings.length}.json`)
    await writeFile(path, JSON.stringify(finding, null, 1))
    this.say(`  ${path}`)
  }
}

/** With several threads, the main thread answers only the second path: through the thread of the connection. */
const watchOf = ({ daemon, httpThreads = 1 }: Target): Promise<Watch> =>
  startWatch({ pid: daemon.pid, port: daemon.port, path: httpThreads === 1 ? '/health' : '/health/' })

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed()} MB`

export const costLine = ({ name, ms, stopMs, growthBytes, peakBytes }: Cost): string =>
  `${ms.toFixed().padStart(7)} ms, stop ${stopMs.toFixed().padStart(5)} ms, memory ${megabytes(growthBytes).padStart(7)} (peak ${megabytes(peakBytes)})  ${name}`

/** Shows the lines that differ between two states, cut if they are long. */
function difference(before: string, after: string): string {
  const [old, fresh] = [before.split('\n'), after.split('\n')]
  const changed = fresh.flatMap((line, i) => (line === old[i] ? [] : [`${old[i]} → ${line}`]))
  return changed.join('\n').slice(0, 3_000)
}

function codeOf({ body }: Answer): string | null {
  try {
    const { code } = JSON.parse(body.toString()) as { readonly code?: unknown }
    return typeof code === 'string' ? code : null
  } catch {
    return null
  }
}

/** Returns true if the head contradicts the body. The server need not answer then. */
const isMalformed = ({ headers = {} }: HostileRequest): boolean =>
  'content-length' in headers || 'transfer-encoding' in headers || headers.host === '' || 'upgrade' in headers

/** Returns true if an accepted request may have moved data between indexes. */
function movesIndexes({ path, method }: Operation, request: HostileRequest): boolean {
  if (request.method === 'DELETE' && path.startsWith('/indexes')) return true
  return (
    path === '/swap-indexes' ||
    (path === '/indexes/{indexUid}' && method === 'PATCH') ||
    path.endsWith('/edit')
  )
}
