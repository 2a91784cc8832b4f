/** Instances with arbitrary answers: commands end with one printable line and use little memory. */
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { silentOutput } from '../../../ts/cli/command/index.js'
import { compare } from '../../../ts/cli/commands/compare.js'
import { migrate } from '../../../ts/cli/commands/migrate.js'
import { PeerError } from '../../../ts/transfer/index.js'
import { tempDir } from '../../backup/archives.js'
import { runCommand } from '../../support/command.js'

/** An empty healthy instance, except for the given answers. */
async function instance(
  t: ExecutionContext,
  answers: Readonly<Record<string, unknown>>,
  status = 200,
): Promise<string> {
  const ordinary: Readonly<Record<string, unknown>> = {
    '/health': { status: 'available' },
    '/indexes': { results: [], total: 0 },
    '/keys': { results: [], total: 0 },
    '/webhooks': { results: [] },
    '/dynamic-search-rules': { results: [], total: 0 },
    '/experimental-features': {},
  }
  const server = createServer((request, answer) => {
    const path = (request.url ?? '').split('?', 1)[0]!
    const given = path in answers ? answers[path] : (ordinary[path] ?? {})
    answer.writeHead(path in answers ? status : 200)
    answer.end(typeof given === 'string' || Buffer.isBuffer(given) ? given : JSON.stringify(given))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const key = { uid: 'u', name: null, description: null, key: 'k', actions: ['*'], indexes: ['*'] }
const films = { uid: 'films', primaryKey: 'id', createdAt: '2030-01-01T00:00:00Z' }
const nothing = [null, '', '[]', 'null', '3', '"text"', '<html>', '{}', '{"results":null,"total":0}']
const entries = [null, 3, [], {}, { uid: 3 }, { uid: null }]
const malformed: readonly (readonly [path: string, answers: readonly unknown[]])[] = [
  ['/health', ['null', '[]', 'x']],
  ['/indexes', [...nothing, ...entries.map((one) => ({ results: [one], total: 1 }))]],
  ['/keys', [...nothing, { results: [{ ...key, actions: null }], total: 1 }]],
  ['/webhooks', [...nothing.slice(1), { results: [{ uuid: 'u', isEditable: true, url: 'x', headers: {} }] }]],
  ['/experimental-features', ['null', '[]']],
  ['/dynamic-search-rules', [...nothing, { results: [{ uid: 3 }], total: 1 }]],
]
for (const [path, answers] of malformed)
  test(`migrate ends with one line for arbitrary answers at ${path}`, async (t) => {
    const sound = await instance(t, {})
    for (const answer of answers) {
      const url = await instance(t, { [path]: answer ?? 'null' })
      for (const sides of [
        ['--from', url, '--to', sound],
        ['--from', sound, '--to', url],
      ]) {
        const error = await t.throwsAsync(migrate.run([...sides, '--verify'], silentOutput))
        t.true(error instanceof PeerError, `${JSON.stringify(answer)}: ${error?.stack}`)
        t.true(error?.message.includes(path), error?.message)
      }
    }
  })

test('invalid settings and counts end a migration with one line', async (t) => {
  const indexes = { results: [films], total: 1 }
  const sound = { '/indexes': indexes, '/indexes/films/stats': { numberOfDocuments: 0 } }
  const to = await instance(t, sound)
  for (const wrong of [
    { '/indexes/films/stats': 'null' },
    { '/indexes/films/stats': { numberOfDocuments: null } },
    { '/indexes/films/settings': 'null' },
    { '/indexes/films/settings': { embedders: 3 } },
    { '/indexes/films/settings': { embedders: { e: null } } },
  ]) {
    const from = await instance(t, { ...sound, ...wrong })
    const error = await t.throwsAsync(migrate.run(['--from', from, '--to', to, '--verify'], silentOutput))
    t.true(error instanceof PeerError, `${JSON.stringify(wrong)}: ${error?.stack}`)
  }
})

test('an endless list and a deeply nested answer are refused', async (t) => {
  const page = { results: Array.from({ length: 10_000 }, () => films), total: 1e9 }
  const sound = await instance(t, {})
  for (const [answer, message] of [
    [page, /lists more than 100000 entries/],
    [Buffer.alloc(20_000_000, '['), /not answered with a JSON object/],
    [Buffer.from(`{"results":[${'[],'.repeat(6_000_000)}[]],"total":1}`), /not answered with a JSON object/],
  ] as const) {
    const url = await instance(t, { '/indexes': answer })
    const error = await t.throwsAsync(migrate.run(['--from', url, '--to', sound], silentOutput))
    t.true(error instanceof PeerError, error?.stack)
    t.regex(error?.message ?? '', message)
  }
})

const searches = { '/indexes': { results: [films], total: 1 } }
const path = '/indexes/films/search'

test('invalid answers to searches are compared, or refused in one line', async (t) => {
  const file = join(await tempDir(t), 'searches.ndjson')
  await writeFile(file, `${JSON.stringify({ indexUid: 'films' })}\n`)
  const right = await instance(t, { ...searches, [path]: { hits: [] } })
  for (const [answer, isRefused] of [
    ['null', true],
    ['[]', true],
    [{ hits: null }, false],
    [{ hits: [null, 3, [], { _federation: null }] }, false],
    [{ results: [null, 3] }, false],
    [{ results: [{ hits: [null] }], facetDistribution: 3 }, false],
  ] as const) {
    const left = await instance(t, { ...searches, [path]: answer })
    const asked = compare.run(['--left', left, '--right', right, file], silentOutput)
    if (isRefused) t.true((await t.throwsAsync(asked)) instanceof PeerError)
    else await t.notThrowsAsync(asked, JSON.stringify(answer))
  }
})

test('control characters of an instance do not reach the terminal', async (t) => {
  const escapes = '\u001b]0;owned\u0007\u001b[2J\u009b31m\r\u007f'
  const file = join(await tempDir(t), 'searches.ndjson')
  await writeFile(file, `${JSON.stringify({ indexUid: 'films' })}\n`)
  const right = await instance(t, { ...searches, [path]: { hits: [] } })
  const found = await instance(t, { ...searches, [path]: { hits: [{ id: escapes }], totalHits: escapes } })
  const refused = await instance(t, { '/indexes': { message: escapes, code: `c${escapes}` } }, 403)
  for (const [left, code] of [
    [found, 1],
    [refused, 1],
  ] as const) {
    const outcome = await runCommand(['compare', '--left', left, '--right', right, file])
    const printed = [...outcome.lines, ...outcome.errors].join('\n')
    t.is(outcome.code, code, printed)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test checks them
    t.notRegex(printed, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
    t.true(printed.includes('owned'), printed)
  }
})
