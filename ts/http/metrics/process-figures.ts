import { Counter, collectDefaultMetrics, Registry } from 'prom-client'

/** Names of the reported metrics among the default metrics of prom-client. */
const reported =
  /^(?:process_|nodejs_(?:eventloop_lag_|gc_duration_seconds$|heap_size_|external_memory_bytes$))/

/**
 * Metrics of this process from the operating system and Node.js: time, memory, files, and delays of the event loop
 * since the previous report.
 */
export function processFigures(): Registry {
  const runtime = new Registry()
  collectDefaultMetrics({ register: runtime })
  const registry = new Registry()
  for (const metric of runtime.getMetricsAsArray()) {
    const { name } = metric as unknown as { readonly name: string }
    if (reported.test(name)) registry.registerMetric(runtime.getSingleMetric(name)!)
  }
  addEarlierTime(registry)
  return registry
}

/** prom-client counts processor time from its first call on, not from the start of the process. */
function addEarlierTime(registry: Registry): void {
  const { user, system } = process.cpuUsage()
  const micros = { user, system, total: user + system }
  const names = {
    user: 'process_cpu_user_seconds_total',
    system: 'process_cpu_system_seconds_total',
    total: 'process_cpu_seconds_total',
  }
  for (const [part, name] of Object.entries(names)) {
    const counter = registry.getSingleMetric(name)
    if (counter instanceof Counter) counter.inc(micros[part as keyof typeof micros] / 1e6)
  }
}
