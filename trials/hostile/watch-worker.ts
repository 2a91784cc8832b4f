/** Polls `/health` and measures how long it is not answered; see `watch.ts`. */
import { Agent, get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { mainThreadOf, memoryOf, processorPressure } from './figures.js'
import type { Observation, Watched } from './watch.js'

const { pid, port, path } = workerData as Watched

/** Milliseconds between two polls, and period of the timer. */
const PERIOD_MS = 20
/** A poll without an answer in this time is lost. */
const ANSWER_MS_MAX = 120_000
/** If processes waited for a processor for more than this share of the time, sleep of the thread is ignored. */
const PRESSURE_MAX = 0.2

/** Kills the server at this memory use, to protect the machine. Ten times the limit of any request. */
const ANONYMOUS_MAX = 2_000_000_000

const nothing = (): Observation => ({ stopMs: 0, slowestMs: 0, lateMs: 0, lost: 0, anonymousMax: 0 })
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
let observed = nothing()
/** Total delay of our timer since the start, in milliseconds. */
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

/** Returns how long the server has stopped since `began`, without delays caused by us or the machine. */
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

function sampleMemory(): void {
  const anonymous = memoryOf(pid)?.anonymous ?? 0
  if (anonymous > ANONYMOUS_MAX) process.kill(pid, 'SIGKILL')
  observed = { ...observed, anonymousMax: Math.max(observed.anonymousMax, anonymous) }
}

/** When the current poll was sent; null between polls. */
let asked: Moment | null = null

function recordPoll(): void {
  if (asked === null) return
  const tookMs = performance.now() - asked.at
  // Most answers are this fast and count as no stop. Reading /proc for each would cost more than the answer.
  const stopMs = tookMs < PERIOD_MS ? 0 : since(asked)
  observed = {
    ...observed,
    stopMs: Math.max(observed.stopMs, stopMs),
    slowestMs: Math.max(observed.slowestMs, tookMs),
  }
}

parentPort?.on('message', () => {
  recordPoll()
  sampleMemory()
  parentPort?.postMessage(observed)
  observed = nothing()
})

let planned = performance.now() + PERIOD_MS
setInterval(() => {
  const behind = performance.now() - planned
  planned = performance.now() + PERIOD_MS
  if (behind > 1) late += behind
  observed = { ...observed, lateMs: Math.max(observed.lateMs, behind) }
  sampleMemory()
}, PERIOD_MS)

for (;;) {
  asked = moment()
  const isHealthy = await ask()
  recordPoll()
  asked = null
  if (!isHealthy) observed = { ...observed, lost: observed.lost + 1 }
  await pause(PERIOD_MS)
}
