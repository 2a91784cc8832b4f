import test from 'ava'
import type { Outbound, OutboundAnswer, OutboundRequest } from '../../ts/outbound/index.js'
import { Tracer, type TracerSetup, tracedOutbound } from '../../ts/tracing/index.js'

const done: OutboundAnswer = { status: 200, headers: {}, body: Buffer.alloc(0) }

/** Calls that a function answers. */
const calling = (call: (request: OutboundRequest) => Promise<OutboundAnswer>): Outbound => ({
  call,
  stream: () => Promise.reject(new Error('nothing is streamed')),
  pass: () => Promise.reject(new Error('nothing is passed on')),
  close: async () => undefined,
})

/** Keeps the bodies for the collector. */
function collecting(): { readonly outbound: Outbound; text(): string } {
  const bodies: string[] = []
  return {
    outbound: calling(async ({ body }) => {
      bodies.push(String(body))
      return done
    }),
    text: () => bodies.join('\n'),
  }
}

const tracerTo = (outbound: Outbound, setup: Partial<TracerSetup> = {}): Tracer =>
  new Tracer({
    ...{ outbound, endpoint: 'http://localhost:4318/', headers: {}, sampleRatio: 1, showsQueries: false },
    ...{ service: { version: '1', instanceId: 'i' }, report: () => undefined },
    ...setup,
  })

test('calls pass traceparent on, except to a bucket; closing sends the last spans', async (t) => {
  const collector = collecting()
  const tracer = tracerTo(collector.outbound)
  const seen: OutboundRequest[] = []
  const others = calling(async (request) => {
    seen.push(request)
    return { ...done, status: 404 }
  })
  const request = {
    method: 'GET',
    url: 'https://u:p@b.example/k?x=secret',
    timeoutMs: 1,
    answerBytesMax: 1,
  } as const
  await tracer.run({ name: 'work' }, async () => {
    await tracedOutbound(others, tracer, 'bucket').call(request)
    await tracedOutbound(others, tracer, 'webhook').call(request)
  })
  t.is(seen[0]?.headers?.traceparent, undefined)
  t.regex(seen[1]?.headers?.traceparent ?? '', /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  t.is(collector.text(), '')
  await tracer.close()
  t.regex(collector.text(), /"name":"bucket GET","kind":3.*"name":"webhook GET".*"name":"work","kind":1/)
  t.regex(collector.text(), /"server\.address","value":\{"stringValue":"b\.example"\}/)
  t.notRegex(collector.text(), /secret|u:p/)
  t.deepEqual(tracer.figures, { exported: 3, dropped: 0 })
})

test('a slow collector costs a bounded number of spans, and others are dropped', async (t) => {
  let answer: (given: OutboundAnswer) => void = () => undefined
  const outbound = calling(
    () =>
      new Promise((resolve) => {
        answer = resolve
      }),
  )
  const tracer = tracerTo(outbound)
  for (let i = 0; i < 5000; i++) tracer.begin({ name: 'work' })?.end()
  t.deepEqual(tracer.figures, { exported: 0, dropped: 5000 - 512 - 4096 })
  answer(done)
})

test('failures of the collector are reported when they begin and end', async (t) => {
  const reports: (string | null)[] = []
  let status = 503
  const tracer = tracerTo(
    calling(async () => ({ ...done, status })),
    { report: (failure) => reports.push(failure) },
  )
  for (const next of [503, 503, 200, 200]) {
    status = next
    tracer.begin({ name: 'work' })?.end()
    await tracer.close()
  }
  t.deepEqual(reports, ['the collector answered with status 503', null])
  t.deepEqual(tracer.figures, { exported: 2, dropped: 2 })
})

test('work after an ended span begins a trace with a link to it', async (t) => {
  const collector = collecting()
  const tracer = tracerTo(collector.outbound)
  let later: Promise<void> = Promise.resolve()
  await tracer.run({ name: 'first' }, async () => {
    later = new Promise((resolve) => setImmediate(resolve)).then(() =>
      tracer.run({ name: 'later' }, async () => undefined),
    )
  })
  await later
  await tracer.close()
  const spans = [...collector.text().matchAll(/"traceId":"(\w+)","spanId":"(\w+)"(?=,"name":"(\w+)")/g)]
  const [[, trace, span], [, other]] = spans as unknown as [string[], string[]]
  t.not(trace, other)
  t.true(collector.text().includes(`"links":[{"traceId":"${trace}","spanId":"${span}"}]`))
})

test('errors of the engine are named by their code, because their messages quote queries', async (t) => {
  const collector = collecting()
  const tracer = tracerTo(collector.outbound)
  const error = Object.assign(new Error('the filter `secret = 1` fails'), { code: 'invalid_search_filter' })
  await t.throwsAsync(
    tracer.run({ name: 'work' }, () => Promise.reject(error)),
    { is: error },
  )
  await tracer.close()
  t.regex(collector.text(), /"status":\{"code":2,"message":"invalid_search_filter"\}/)
  t.notRegex(collector.text(), /secret/)
})
