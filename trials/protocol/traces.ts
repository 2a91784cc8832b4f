/** Runs of the real code, written as sequences of events for `LogTrace.tla`. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ProtocolTrace, type TraceEvent } from '../simulation/protocol-trace.js'
import { type SimulationSetup, simulate } from '../simulation/simulation.js'
import { configured } from './checks.js'
import { modules, runTlc } from './tools.js'

/** The events of all servers of a run, in order. */
export type Trace = readonly TraceEvent[]

/** Simulates a run with a bucket. */
export async function traceOf(seed: number, setup: Pick<SimulationSetup, 'weakness'> = {}): Promise<Trace> {
  const trace = new ProtocolTrace()
  await simulate(seed, { ...setup, hasBucket: true, elects: true, trace })
  return trace.events
}

/** The module `Traces`. */
const moduleOf = (traces: readonly Trace[]): string =>
  `---- MODULE Traces ----\nTraces == <<\n${traces.map((trace) => `<<\n${trace.map(textOf).join(',\n')}\n>>`).join(',\n')}\n>>\n====\n`

const textOf = (event: TraceEvent): string =>
  `[${Object.entries(event)
    .map(([name, value]) => `${name} |-> ${literal(value)}`)
    .join(', ')}]`

const literal = (value: string | number | boolean): string =>
  typeof value === 'boolean' ? String(value).toUpperCase() : JSON.stringify(value)

/** A run that the model does not allow. */
export interface Refusal {
  /** Index of the run. */
  readonly run: number
  /** Index of the event that the model does not allow, or after which a property is violated. */
  readonly event: number
  readonly violation: string
}

/** Checks runs against the model. @returns the first run that is refused; null: none */
export async function refusedBy(jar: string, traces: readonly Trace[]): Promise<Refusal | null> {
  const { servers, slots } = boundsOf(traces)
  const constants = {
    Servers: `{${Array.from({ length: servers }, (_, number) => number + 1).join(', ')}}`,
    MaxSlot: slots + 1,
    ...{ MaxWrites: 0, MaxLost: 1_000_000, MaxRestarts: 1_000_000, Handovers: true, EmptyRecords: true },
  }
  const text = await readFile(join(modules, 'Log.cfg'), 'utf8')
  const config = configured(text, constants).replace('SPECIFICATION Spec', 'SPECIFICATION TraceSpec')
  const { violation, output } = await runTlc({
    ...{ jar, module: 'LogTrace', config, findsDeadlocks: true, generated: { Traces: moduleOf(traces) } },
  })
  if (violation === null) return null
  const last = (name: string): number => {
    const found = output.slice(output.lastIndexOf(`/\\ ${name} = `))
    return Number(/= (\d+)/.exec(found)?.[1])
  }
  // Before a deadlock the event is the next one, after a violated property it is the last one.
  const event = last('at') - (violation === 'deadlock' ? 1 : 2)
  return { run: last('run') - 1, event, violation }
}

/** Constants of `LogTrace.tla` for these runs. */
function boundsOf(traces: readonly Trace[]): { readonly servers: number; readonly slots: number } {
  const events = traces.flat()
  const most = (names: readonly string[]): number =>
    events.reduce((max, event) => Math.max(max, ...names.map((name) => Number(event[name] ?? 0))), 0)
  return { servers: most(['s', 'of']), slots: most(['slot', 'next']) }
}
