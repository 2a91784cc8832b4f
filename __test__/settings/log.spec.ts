import { Writable } from 'node:stream'
import test from 'ava'
import { moduleLog, openLog, openLogWithOutlets } from '../../ts/telemetry/index.js'

/** Collects written lines. */
function sink(): { stream: Writable; lines: () => string[] } {
  const chunks: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk))
      done()
    },
  })
  return { stream, lines: () => chunks.join('').split('\n').filter(Boolean) }
}

test('a JSON line holds time, level, message and facts', (t) => {
  const { stream, lines } = sink()
  const log = openLog({ level: 'INFO', mode: 'JSON', destination: stream })
  log.info({ index: 'films' }, 'committed')
  log.debug('too quiet to be written')
  t.is(lines().length, 1)
  const line = JSON.parse(lines()[0]!) as Record<string, unknown>
  t.like(line, { level: 'INFO', msg: 'committed', index: 'films' })
  t.false(Number.isNaN(Date.parse(String(line.time))))
})

for (const mode of ['JSON', 'HUMAN'] as const) {
  test(`secrets are not logged as ${mode}`, (t) => {
    const { stream, lines } = sink()
    const log = openLog({ level: 'INFO', mode, destination: stream })
    log.info({ masterKey: 's3cret', request: { headers: { authorization: 's3cret' } } }, 'a request')
    t.is(lines().length, 1)
    t.true(lines()[0]!.includes('a request'))
    t.false(lines()[0]!.includes('s3cret'))
  })
}

test('a human line holds time, level, message and facts, and keeps client input on that line', (t) => {
  const { stream, lines } = sink()
  const log = openLog({ level: 'WARN', mode: 'HUMAN', destination: stream })
  log.warn({ index: 'films', query: 'two\nlines', tasks: [1, 2] }, 'a request\nwith a trick')
  t.is(lines().length, 1)
  t.regex(
    lines()[0]!,
    /^\d{4}-\d\d-\d\dT[\d:.]+Z WARN {2}a request\\nwith a trick index=films query="two\\nlines" tasks=\[1,2\]$/,
  )
  log.error({ err: new Error('it broke') }, 'oh')
  t.true(lines().some((line) => line.includes('Error: it broke')))
})

test('a log that is off writes nothing', (t) => {
  const { stream, lines } = sink()
  const log = openLog({ level: 'OFF', mode: 'JSON', destination: stream })
  log.error('this line is dropped')
  t.deepEqual(lines(), [])
})

test('each module logs from its own level on, and its lines have its name', (t) => {
  const { stream, lines } = sink()
  const log = openLog({ level: 'warn,tasks=debug,engine=off', mode: 'JSON', destination: stream })
  for (const module of ['tasks', 'engine', 'http'] as const)
    for (const level of ['debug', 'warn', 'error'] as const) moduleLog(log, module)[level](level)
  log.info('info')
  log.warn('warn')
  const shown = lines().map((line) => JSON.parse(line) as { target?: string; msg: string })
  t.deepEqual(
    shown.map(({ target, msg }) => [target, msg]),
    [
      ['tasks', 'debug'],
      ['tasks', 'warn'],
      ['tasks', 'error'],
      ['http', 'warn'],
      ['http', 'error'],
      [undefined, 'warn'],
    ],
  )
})

test('level changes apply to module loggers in use and to their children', (t) => {
  const { stream, lines } = sink()
  const { log, outlets } = openLogWithOutlets({ level: 'OFF', mode: 'JSON', destination: stream })
  const request = moduleLog(log, 'http').child({ reqId: 1 })
  request.error('off')
  outlets.setConsoleTarget({ others: 'off', modules: { http: 'info' } })
  request.info('on')
  request.debug('too quiet')
  moduleLog(request, 'tasks').error('another module')
  const followed: string[] = []
  const stop = outlets.follow({
    target: { others: 'debug', modules: {} },
    write: (line) => void followed.push(line),
  })
  request.debug('followed')
  stop()
  request.debug('no more')
  t.deepEqual(
    lines().map((line) => (JSON.parse(line) as { msg: string }).msg),
    ['on'],
  )
  t.is(followed.length, 1)
})
