import { Counter, Gauge, Registry } from 'prom-client'
import type { SearchQueue } from '../searches/index.js'
import type { Services } from '../services.js'

/** The services to report metrics of. */
export type Measured = Services & { readonly searches: SearchQueue }

/**
 * The metrics of one answer. Each answer has a separate registry, so that a deleted index leaves no series behind and
 * concurrent answers do not mix.
 */
export class Report {
  readonly #registry = new Registry()

  /** A single number. */
  gauge(name: string, help: string, value: number): void {
    this.gauges(name, help, []).set(value)
  }

  /** Numbers by label. */
  gauges(name: string, help: string, labelNames: readonly string[]): Gauge {
    return new Gauge({ name, help, labelNames: [...labelNames], registers: [this.#registry] })
  }

  /** Counts by label. Each label is added once. */
  counters(name: string, help: string, labelNames: readonly string[]): Counter {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.#registry] })
  }

  text(): Promise<string> {
    return this.#registry.metrics()
  }
}
