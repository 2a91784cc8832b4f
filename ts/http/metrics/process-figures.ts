import { Counter, collectDefaultMetrics, Registry } from 'prom-client'

/** Names of the figures that are reported, among those that prom-client knows of a process. */
const reported =
  /^(?:process_|nodejs_(?:eventloop_lag_|gc_duration_seconds$|heap_size_|external_memory_bytes$))/

/**
 * What the operating system and Node.js know of this process: time, memory, files, and delays of the event loop since
 * the answer before.
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

/** prom-client counts the time of the processor from its first look on, not from the start of the process. */
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
