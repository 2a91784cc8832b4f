/** Asks `/health` all the time and measures how long it is not answered; see `watch.ts`. */
import { Agent, get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { mainThreadOf, memoryOf, processorPressure } from './figures.js'
import type { Observation, Watched } from './watch.js'

const { pid, port, path } = workerData as Watched

/** Milliseconds between two questions, and of our own timer. */
const PERIOD_MS = 20
/** A question that is not answered within this time is lost. */
const ANSWER_MS_MAX = 120_000
/** Share of the time some process waited for a processor, above which a thread that slept proves nothing. */
const PRESSURE_MAX = 0.2

/** Bytes at which the server is ended before the machine is: ten times what any request may cost. */
const ANONYMOUS_MAX = 2_000_000_000

const nothing = (): Observation => ({ stopMs: 0, slowestMs: 0, lateMs: 0, lost: 0, anonymousMax: 0 })
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
let observed = nothing()
/** Milliseconds by which our own timer was late, summed from the start. */
let late = 0

function ask(): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path, agent, timeout: ANSWER_MS_MAX }, (answer) => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode === 200))
      answer.once('error', () => resolve(false))
    })
    request.once('timeout', () => request.destroy())
    request.once('error', () => resolve(false))
  })
}

/** How long the server stopped between two moments, as far as neither we nor the machine are the reason. */
function since(began: Moment): number {
  const now = moment()
  const took = now.at - began.at
  if (began.thread === null || now.thread === null) return Math.max(0, took - (now.late - began.late))
  const ran = now.thread.ran - began.thread.ran
  const slept = took - ran - (now.thread.waited - began.thread.waited) - (now.late - began.late)
  const pressed = began.pressure === null || now.pressure === null ? 0 : now.pressure - began.pressure
  return pressed > took * PRESSURE_MAX ? ran : ran + Math.max(0, slept)
}

interface Moment {
  readonly at: number
  readonly late: number
  readonly thread: ReturnType<typeof mainThreadOf>
  readonly pressure: number | null
}

const moment = (): Moment => ({
  at: performance.now(),
  late,
  thread: mainThreadOf(pid),
  pressure: processorPressure(),
})

function look(): void {
  const anonymous = memoryOf(pid)?.anonymous ?? 0
  if (anonymous > ANONYMOUS_MAX) process.kill(pid, 'SIGKILL')
  observed = { ...observed, anonymousMax: Math.max(observed.anonymousMax, anonymous) }
}

/** The question that waits for its answer. */
let asked: Moment | null = null

function note(): void {
  if (asked === null) return
  const tookMs = performance.now() - asked.at
  // Answers as quick as this are no stop, and most: asking the system about each would cost more than they do.
  const stopMs = tookMs < PERIOD_MS ? 0 : since(asked)
  observed = {
    ...observed,
    stopMs: Math.max(observed.stopMs, stopMs),
    slowestMs: Math.max(observed.slowestMs, tookMs),
  }
}

parentPort?.on('message', () => {
  note()
  look()
  parentPort?.postMessage(observed)
  observed = nothing()
})

let planned = performance.now() + PERIOD_MS
setInterval(() => {
  const behind = performance.now() - planned
  planned = performance.now() + PERIOD_MS
  if (behind > 1) late += behind
  observed = { ...observed, lateMs: Math.max(observed.lateMs, behind) }
  look()
}, PERIOD_MS)

for (;;) {
  asked = moment()
  const isWell = await ask()
  note()
  asked = null
  if (!isWell) observed = { ...observed, lost: observed.lost + 1 }
  await pause(PERIOD_MS)
}
