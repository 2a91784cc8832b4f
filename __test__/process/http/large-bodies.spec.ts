/**
 * The cost of a JSON body is bounded.
 *
 * 1. Each route has limits of bytes and values. Requests of real clients are below them.
 * 2. All concurrent bodies together have a memory limit. Bodies beyond it are refused and may be retried.
 * 3. The only body passes, whatever the common limit.
 * 4. The chunking of a body does not matter.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import test, { type ExecutionContext } from 'ava'
import { readJson, readJsonInSlices, toText } from '../../../ts/parse/index.js'
import { checkError, checkRefusals } from '../../support/refusals.js'
import { startServer, type TestAnswer, type TestServer } from '../../support/server.js'

const documents = '/indexes/a/documents'
const list = <T>(length: number, item: (at: number) => T): T[] => Array.from({ length }, (_, at) => item(at))

test('a body with more values than its route accepts is refused, compressed or not', async (t) => {
  const server = await startServer(t)
  const values = (count: number): string => `[${'1,"a",'.repeat(count / 2)}1]`
  const refused = { status: 413, code: 'payload_too_large', names: 'values' }
  await checkRefusals(t, server, [
    { path: '/indexes/a/search', body: `{"filter":${values(200_000)}}`, ...refused },
    { path: '/indexes/a/facet-search', body: `{"filter":${values(200_000)}}`, ...refused },
    { path: '/indexes/a/similar', body: `{"filter":${values(200_000)}}`, ...refused },
    { path: '/multi-search', body: `{"queries":${values(300_000)}}`, ...refused },
    { path: `${documents}/fetch`, body: `{"ids":${values(200_000)}}`, ...refused },
    { path: `${documents}/delete`, body: `{"filter":${values(200_000)}}`, ...refused },
    { path: `${documents}/edit`, body: `{"context":{"a":${values(200_000)}}}`, ...refused },
    { path: `${documents}/delete-batch`, body: values(1_000_002), ...refused },
    { path: '/render-template', body: `{"input":${values(200_000)}}`, ...refused },
    { method: 'PATCH', path: '/indexes/a/settings', body: `{"stopWords":${values(500_000)}}`, ...refused },
    { method: 'PUT', path: '/indexes/a/settings/stop-words', body: values(500_000), ...refused },
    { path: '/indexes', body: `{"uid":${values(100_000)}}`, ...refused },
    { path: '/swap-indexes', body: values(100_000), ...refused },
    { method: 'PATCH', path: '/network', body: `{"remotes":${values(100_000)}}`, ...refused },
    { path: '/dynamic-search-rules', body: `{"filter":${values(100_000)}}`, ...refused },
    {
      path: '/indexes/a/search',
      body: gzipSync(`{"filter":${values(200_000)}}`),
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      ...refused,
    },
  ])
  t.is((await server.get('/tasks')).body.total, 0)
})

test('a body with more bytes than its route accepts is refused', async (t) => {
  const server = await startServer(t)
  const blanks = (bytes: number): string => `${' '.repeat(bytes)}{}`
  const refused = { status: 413, code: 'payload_too_large' }
  await checkRefusals(t, server, [
    { path: '/indexes', body: blanks(4_000_000), names: '4 MB', ...refused },
    { path: '/indexes/a/search', body: blanks(20_000_000), names: '20 MB', ...refused },
    {
      path: '/indexes/a/search',
      body: gzipSync(blanks(20_000_000)),
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      names: '20 MB',
      ...refused,
    },
  ])
})

test('a byte limit chosen by the operator holds on every route, above and below its default', async (t) => {
  const server = await startServer(t, { payloadBytesMax: 5_000_000, payloadIsChosen: true })
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  const blanks = (bytes: number) => ({ body: gzipSync(`${' '.repeat(bytes - 2)}{}`), headers })
  const routes = [
    ['POST', '/indexes/a/search'],
    ['POST', '/indexes'],
    ['PATCH', '/indexes/a/settings'],
  ] as const
  for (const [method, path] of routes) {
    const taken = await server.request(method, path, blanks(5_000_000))
    t.not(taken.status, 413, path)
    const refused = await server.request(method, path, blanks(5_000_001))
    checkError(t, refused, 413, 'payload_too_large')
    t.regex(refused.body.message, /5 MB/)
  }
})

test('requests of large indexes are accepted: synonyms, ids, filters, vectors', async (t) => {
  const server = await startServer(t, { limits: { tasksMax: 0 } })
  const synonyms = Object.fromEntries(list(100_000, (i) => [`word${i}`, [`other${i}`]]))
  t.is((await server.put('/indexes/a/settings/synonyms', synonyms)).status, 202)
  t.is((await server.put('/indexes/a/settings/stop-words', Object.keys(synonyms))).status, 202)
  const ids = list(1_000_000, String)
  t.is((await server.post(`${documents}/delete-batch`, ids)).status, 202)
  const filter = [list(10_000, (i) => `id = ${i}`)]
  t.is((await server.post(`${documents}/delete`, { filter })).status, 202)
  const vector = list(1536, (i) => i / 7)
  const queries = list(300, () => ({ indexUid: 'a', vector, hybrid: { embedder: 'e' } }))
  checkError(t, await server.post('/multi-search', { queries }), 400, 'index_not_found')
})

test('settings of megabytes are shown completely: as settings, in their task, in its batch', async (t) => {
  const server = await startServer(t)
  const synonyms = Object.fromEntries(list(30_000, (i) => [`w${String(i).padStart(5, '0')}`, [`v"${i}`]]))
  const stopWords = Object.keys(synonyms)
  t.is((await server.settle(t, server.put('/indexes/a/settings/synonyms', synonyms))).status, 'succeeded')
  t.is((await server.settle(t, server.patch('/indexes/a/settings', { stopWords }))).status, 'succeeded')
  for (const [uid, details] of [{ synonyms }, { stopWords }].entries()) {
    const { body: task } = await server.get(`/tasks/${uid}`)
    t.deepEqual(task.details, details)
    t.deepEqual((await server.get(`/batches/${task.batchUid}`)).body.details, details)
    const [listed] = (await server.get(`/tasks?uids=${uid}`)).body.results
    t.deepEqual(listed, task)
    t.deepEqual(Object.keys(task).slice(4, 8), ['type', 'canceledBy', 'details', 'error'])
  }
  const batches = (await server.get('/batches')).body.results
  t.deepEqual(
    batches.map(({ details }) => details),
    [{ stopWords }, { synonyms }],
  )
  t.deepEqual((await server.get('/indexes/a/settings/synonyms')).body, synonyms)
  const { body: settings } = await server.get('/indexes/a/settings')
  t.deepEqual([settings.synonyms, settings.stopWords, settings.dictionary], [synonyms, stopWords, []])
})

test('a refusal quotes only the beginning of a long value', async (t) => {
  const server = await startServer(t)
  const long = 'x'.repeat(3_000_000)
  for (const uid of [long, list(50_000, () => 'x'), `${long}"`]) {
    const answer = await server.post('/indexes', { uid })
    t.is(answer.body.code, 'invalid_index_uid')
    t.true(answer.bytes.length < 20_000)
  }
  t.true((await server.post('/indexes', `{"uid":"${long}\\ud800"}`)).bytes.length < 20_000)
})

/** Sends the head and the first bytes of a long body, and nothing more. */
async function begin(t: ExecutionContext, server: TestServer, path: string, start: string): Promise<Socket> {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  t.teardown(() => socket.destroy())
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`
  await once(socket, 'connect')
  await new Promise((resolve) => socket.write(`${head}${start.length.toString(16)}\r\n${start}\r\n`, resolve))
  return socket
}

/** Starts a body that leaves no memory for `other`, and sends `other` until it is refused. */
async function holdMemory(
  begun: () => Promise<Socket>,
  other: () => Promise<TestAnswer>,
): Promise<{ readonly first: Socket; readonly refused: TestAnswer }> {
  for (;;) {
    const first = await begun()
    let isAnswered = false
    first.once('data', () => {
      isAnswered = true
    })
    // Gives the server time to read the first body. If `other` arrives between two chunks of it, the first one is refused,
    // and another one starts.
    for (let turns = 0; turns < 20; turns++) await turn()
    while (!isAnswered) {
      const refused = await other()
      if (refused.status === 503) return { first, refused }
    }
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5))

test('bodies that take too much memory together are refused with Retry-After', async (t) => {
  const server = await startServer(t, { bodiesBytesMax: 1_000_000, limits: { tasksMax: 0 } })
  const other = (): ReturnType<TestServer['post']> =>
    server.post(
      `${documents}/delete-batch`,
      list(10_000, (i) => `${i}-${'x'.repeat(30)}`),
    )
  const begun = () => begin(t, server, `${documents}/delete-batch`, `["${'a'.repeat(900_000)}"`)
  const { first, refused } = await holdMemory(begun, other)
  checkError(t, refused, 503, 'too_many_requests')
  t.is(refused.headers['retry-after'], '10')
  t.is((await server.post('/indexes', { uid: 'small' })).status, 202, 'short bodies are taken')
  first.write('1\r\n]\r\n0\r\n\r\n')
  const [answer] = (await once(first, 'data')) as [Buffer]
  t.regex(answer.toString(), /^HTTP\/1\.1 202 /)
  t.is((await other()).status, 202)
})

test('a client that disconnects frees the memory of its body', async (t) => {
  const server = await startServer(t, { bodiesBytesMax: 1_000_000 })
  const other = (): ReturnType<TestServer['post']> =>
    server.post('/indexes/a/search', { q: 'x'.repeat(300_000) })
  const begun = () => begin(t, server, '/indexes/a/search', `{"q":"${'a'.repeat(900_000)}`)
  const { first } = await holdMemory(begun, other)
  first.destroy()
  while ((await other()).status === 503) await turn()
  t.is((await other()).body.code, 'index_not_found')
})

test('the only body is accepted, however much memory it takes', async (t) => {
  const server = await startServer(t, { bodiesBytesMax: 1000, limits: { tasksMax: 0 } })
  for (let times = 0; times < 3; times++)
    t.is((await server.post(`${documents}/delete-batch`, list(50_000, String))).status, 202)
})

test('a body in chunks of one byte is read like an undivided body', async (t) => {
  const server = await startServer(t, { limits: { tasksMax: 0 } })
  const socket = await begin(t, server, `${documents}/delete-batch`, '[')
  const body = `${list(20_000, String).join(',')}]`
  socket.write(`${[...body].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  t.regex(answer.toString(), /^HTTP\/1\.1 202 /)
  const task = await server.get('/tasks/0')
  t.is(task.body.details.providedIds, 20_000)
})

test('long JSON is read in slices, with the same result as at once', async (t) => {
  const value = list(300_000, (i) => ({ [`key${i}`]: [i, `text ${i}`, null, true, [[]], {}] }))
  const bytes = Buffer.from(JSON.stringify(value))
  const limits = { depthMax: 128, valuesMax: 10_000_000 }
  const slices: number[] = []
  const node = await readJsonInSlices(bytes, limits, async (values) => {
    slices.push(values)
  })
  t.true(toText(node) === JSON.stringify(value))
  t.true(slices.length > 10, `${slices.length} slices`)
  // An element has nine values: an object, an array, six values and one inside. The list counts too.
  t.is(
    slices.reduce((sum, values) => sum + values),
    300_000 * 9 + 1,
  )
  const stopped = readJsonInSlices(bytes, { depthMax: 128, valuesMax: 1000 }, async () => undefined)
  await t.throwsAsync(stopped, { message: /1000 values/ })
})

test('the JSON reader accepts a text exactly if JSON.parse does', (t) => {
  const whole = '{"a":[1,-0.5e+3,"\\u00e9\\n",true],"b":{"c":null,"d":[]},"e":[[1,2],[3]], "f":false}'
  const marks = [
    '',
    ' ',
    '"',
    '\\',
    ',',
    ':',
    '[',
    ']',
    '{',
    '}',
    '0',
    '1',
    '-',
    '+',
    '.',
    'e',
    't',
    'null',
    '\n',
    '\t',
    '\u0001',
    'é',
  ]
  let taken = 0
  for (let at = 0; at <= whole.length; at++)
    for (const mark of marks)
      for (const removed of [0, 1, 2]) {
        const text = whole.slice(0, at) + mark + whole.slice(at + removed)
        let expected: unknown
        let error: unknown = null
        try {
          expected = JSON.parse(text)
          taken += 1
        } catch (thrown) {
          error = thrown
        }
        const read = (): string => toText(readJson(Buffer.from(text)))
        if (error === null) t.deepEqual(JSON.parse(read()), expected, text)
        else t.throws(read, { name: 'ApiError', message: /malformed/ }, text)
      }
  t.true(taken > 500)
})
