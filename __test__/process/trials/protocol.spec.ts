/**
 * The model of the protocol in TLA+, in small bounds. `npm run trials -- protocol` has wider ones. Rules:
 * 1. The model keeps its properties, and loses one without a precaution.
 * 2. Runs of the real code are behaviours of the model. A run that lacks an event is refused there.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Check, configOf, models, precautions } from '../../../trials/protocol/checks.js'
import { findTlc, MissingToolError, modules, runTlc } from '../../../trials/protocol/tools.js'
import { refusedBy, traceOf } from '../../../trials/protocol/traces.js'
import type { TraceEvent } from '../../../trials/simulation/protocol-trace.js'
import { testNeeding } from '../../support/test-needing.js'

const found = await findTlc(null).catch((error: unknown) => {
  if (error instanceof MissingToolError) return error
  throw error
})
const missing = typeof found === 'string' ? null : found.message
const runs = testNeeding([{ missing, isDemanded: false }])
const jar = String(found)

const checked = async (check: Check) =>
  runTlc({
    jar,
    module: check.module,
    config: configOf(await readFile(join(modules, `${check.module}.cfg`), 'utf8'), check),
  })

runs('no order of events loses an acknowledged write', async (t) => {
  const [check] = models
  const { states, violation } = await checked(check!)
  t.is(violation, null)
  t.true(states > 5_000)
})

runs('an acknowledged write is lost if fences are garbage', async (t) => {
  const { violation } = await checked(precautions.find(({ name }) => name === 'KeepFences')!)
  t.is(violation, 'NothingLost')
})

runs('runs of the real code are behaviours of the model, unless an event is left out', async (t) => {
  t.timeout(120_000)
  const traces = [await traceOf(3), await traceOf(8), await traceOf(13)]
  t.is(await refusedBy(jar, traces), null)
  const [first = []] = traces
  const isReadBy = (s: unknown) => (event: TraceEvent) => event.a === 'read' && event.s === s
  const read = first.findIndex(({ a, s }, at) => a === 'read' && first.slice(at + 1).some(isReadBy(s)))
  const refusal = await refusedBy(jar, [first.toSpliced(read, 1)])
  t.is(refusal?.violation, 'deadlock')
  t.true((refusal?.event ?? 0) >= read)
})
