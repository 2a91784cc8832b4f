import type { Logger, Usage } from '../telemetry/index.js'
import {
  batchesOf,
  identifyEvent,
  launchedEvent,
  type ReportEvent,
  type Sender,
  type Traits,
  trackEvent,
} from './batches.js'
import { BATCH_BYTES_MAX, LOOK_MS, REPORT_MS } from './limits.js'

/** Where batches go. A rejection drops the batch. */
export type Deliver = (batch: string) => Promise<void>

export interface ReporterSetup {
  readonly sender: Sender
  readonly usage: Usage
  /** Reads the state of the instance. */
  readonly traits: () => Promise<Traits>
  /** Whether the instance starts for the first time. */
  readonly isFirstStart: boolean
  readonly deliver: Deliver
  readonly log: Logger
}

/** Reports the use of an instance every hour, or once so much was counted that it fills a batch. */
export interface Reporter {
  /** Reports now what was counted since the last report. Never rejects. */
  report(): Promise<void>
  /** Reports nothing more. */
  close(): void
}

export function openReporter(setup: ReporterSetup): Reporter {
  const { usage, sender, traits, deliver, log } = setup
  let isNew = setup.isFirstStart
  let reportedAt = performance.now()
  let isReporting = false

  const report = async (): Promise<void> => {
    if (isReporting) return
    isReporting = true
    reportedAt = performance.now()
    try {
      const now = Date.now()
      const events: ReportEvent[] = [identifyEvent(sender, await traits(), now)]
      if (isNew) events.push(launchedEvent(sender, now))
      isNew = false
      for (const one of usage.report()) events.push(trackEvent(sender, one))
      for (const batch of batchesOf(events, now)) await deliver(batch)
    } catch (error) {
      // Telemetry that cannot be sent is dropped, since nothing depends on it.
      log.debug({ err: error }, 'telemetry was not sent')
    } finally {
      isReporting = false
    }
  }
  const timer = setInterval(() => {
    const isDue = performance.now() - reportedAt >= REPORT_MS
    if (isDue || usage.bytes() >= BATCH_BYTES_MAX) void report()
  }, LOOK_MS).unref()
  return { report, close: () => clearInterval(timer) }
}
