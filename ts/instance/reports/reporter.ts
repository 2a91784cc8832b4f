import type { Logger, Usage } from '../../telemetry/index.js'
import {
  batchesOf,
  identifyEvent,
  launchedEvent,
  type ReportEvent,
  type Sender,
  type Traits,
  trackEvent,
} from './batches.js'
import { BATCH_BYTES_MAX, LAST_REPORT_MS_MAX, LOOK_MS, REPORT_MS } from './limits.js'

/** Sends a batch. A rejection drops the batch. */
export type Deliver = (batch: string) => Promise<void>

/** Time source of the reports. */
export interface ReportClock {
  /** Milliseconds of a monotonic clock. */
  now(): number
  /** Calls `check` every `ms` milliseconds. @returns a function that ends it */
  every(ms: number, check: () => void): () => void
}

interface ReporterSetup {
  readonly sender: Sender
  readonly usage: Usage
  /** Reads the state of the instance. */
  readonly traits: () => Promise<Traits>
  /** True at the first start of the instance. */
  readonly isFirstStart: boolean
  readonly deliver: Deliver
  readonly log: Logger
  /** Default: the clock of the system. */
  readonly clock?: ReportClock
}

/** Reports usage every hour, or as soon as the counted events fill a batch. */
export interface Reporter {
  /** Reports everything counted since the last report. Never rejects. */
  report(): Promise<void>
  /** Ends the reports. Sends a last report if anything was counted, and waits at most a second for it. */
  close(): Promise<void>
}

const systemClock: ReportClock = {
  now: () => performance.now(),
  every(ms, check) {
    const timer = setInterval(check, ms).unref()
    return () => clearInterval(timer)
  },
}

export function openReporter(setup: ReporterSetup): Reporter {
  const { usage, sender, traits, deliver, log, clock = systemClock } = setup
  let isNew = setup.isFirstStart
  let reportedAt = clock.now()
  let reporting = 0
  let last = Promise.resolve()

  const send = async (): Promise<void> => {
    reportedAt = clock.now()
    try {
      const now = Date.now()
      const events: ReportEvent[] = [identifyEvent(sender, await traits(), now)]
      if (isNew) events.push(launchedEvent(sender, now))
      isNew = false
      for (const counted of usage.report()) events.push(trackEvent(sender, counted))
      for (const batch of batchesOf(events, now)) await deliver(batch)
    } catch (error) {
      // Drops telemetry that cannot be sent, since nothing depends on it.
      log.debug({ err: error }, 'telemetry was not sent')
    } finally {
      reporting -= 1
    }
  }
  const report = (): Promise<void> => {
    reporting += 1
    last = last.then(send)
    return last
  }
  const endTicks = clock.every(LOOK_MS, () => {
    const isDue = clock.now() - reportedAt >= REPORT_MS || usage.bytes() >= BATCH_BYTES_MAX
    if (isDue && reporting === 0) void report()
  })
  return {
    report,
    async close() {
      endTicks()
      if (usage.isEmpty) return
      let timer: NodeJS.Timeout | undefined
      const tooLong = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, LAST_REPORT_MS_MAX)
      })
      await Promise.race([report(), tooLong])
      clearTimeout(timer)
    },
  }
}
