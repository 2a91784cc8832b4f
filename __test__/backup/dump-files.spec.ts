// 1. Existing data is never overwritten or skipped without an error, unless an option allows it.
// 2. An incomplete dump is refused with a reason, and leaves nothing in the data directory.
import { access, copyFile, mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import test, { type ExecutionContext } from 'ava'
import { readVersion } from '../../ts/instance/index.js'
import { LaunchError } from '../../ts/launch/index.js'
import { openLog } from '../../ts/telemetry/index.js'
import { startServer } from '../support/server.js'
import { archiveOf, indexAt, type MadeEntry, metadata, task, tempDir } from './archives.js'
import { place, sourceOf } from './import.js'

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

const rejected = async (t: ExecutionContext, attempt: Promise<void>, message: RegExp): Promise<void> => {
  const error = await t.throwsAsync(attempt, { instanceOf: LaunchError })
  t.regex(error.message, message)
  t.is(error.exitCode, 1)
}

for (const kind of ['dump', 'snapshot'] as const)
  test(`a ${kind} is imported, skipped or refused depending on file, existing data and options`, async (t) => {
    const archive = await (await sourceOf(t))[kind]()
    const { parent, directory, start: startFrom } = await place(t)
    const start: typeof startFrom = (path, some) => startFrom(path, { kind, ...some })
    const missing = join(parent, 'missing.dump')

    await rejected(t, start(missing), /there is no file .*missing\.dump/)
    await rejected(t, start(missing, { ignoreIfDbExists: true }), /there is no file/)
    t.deepEqual(await readdir(parent), [])
    await start(missing, { ignoreMissing: true })
    t.deepEqual(await readdir(parent), [])

    await mkdir(directory)
    await start(archive)
    t.is((await readVersion(directory)).version, '0.0.0')

    await writeFile(join(directory, 'mark'), 'kept')
    await rejected(t, start(archive), /holds data already/)
    await rejected(t, start(missing, { ignoreMissing: true }), /holds data already/)
    await rejected(t, start(missing, { ignoreIfDbExists: true }), /there is no file/)
    await start(archive, { ignoreIfDbExists: true })
    await start(missing, { ignoreIfDbExists: true, ignoreMissing: true })
    t.is(await readFile(join(directory, 'mark'), 'utf8'), 'kept')
    t.deepEqual(await readdir(parent), ['data.ms'])
  })

test('a truncated dump is refused, the complete one is imported', async (t) => {
  const { server, dump } = await sourceOf(t)
  await server.settle(
    t,
    server.post(
      '/indexes/plants/documents',
      Array.from({ length: 50 }, (_, id) => ({ id, n: id * 7 })),
    ),
  )
  const archive = await dump()
  const { length } = await readFile(archive)
  const { parent, directory, start } = await place(t)
  const cut = join(await tempDir(t), 'cut.dump')
  for (const share of [0, 0.01, 0.3, 0.6, 0.9, 0.99]) {
    await copyFile(archive, cut)
    await truncate(cut, Math.floor(length * share))
    await rejected(t, start(cut), /cannot be imported/)
    t.deepEqual(await readdir(parent), [], `cut to ${share}`)
  }
  await copyFile(archive, cut)
  await start(cut)
  t.true(await exists(join(directory, 'VERSION')))
})

test('the next import removes the remains of a killed import', async (t) => {
  const { dump } = await sourceOf(t)
  const { parent, start } = await place(t)
  // No process has this id.
  await mkdir(join(parent, 'data.ms.importing-4194305', 'indexes'), { recursive: true })
  await start(await dump())
  t.deepEqual(await readdir(parent), ['data.ms'])
})

test('a minimal dump is imported, and unknown files in it are ignored', async (t) => {
  const { directory, start } = await place(t)
  const archive = join(await tempDir(t), 'least.dump')
  const others = [
    { path: 'chat-completions-settings/one.txt', content: 'x' },
    { path: 'indexes/', type: 'Directory' as const },
  ]
  const dotted = indexAt('plants').map((entry) => ({ ...entry, path: `./${entry.path}` }))
  await writeFile(archive, archiveOf([metadata, ...others, ...dotted]))
  await start(archive)
  const server = await startServer(t, { directory })
  t.is((await server.get('/indexes/plants/documents')).body.total, 2)
})

/** The entry with the versions of a dump. */
const madeBy = (dbVersion: string, dumpVersion = 'V6'): MadeEntry => ({
  path: 'metadata.json',
  content: JSON.stringify({ dumpVersion, dbVersion, dumpDate: '2030-01-01T00:00:00Z' }),
})

for (const version of ['0.0.0', '0.0.9', '1.12.8', '1.53.0', '1.54.0-rc.1', '2.0.0'])
  test(`a dump of the version ${version} is imported, and logged`, async (t) => {
    const { start } = await place(t)
    const archive = join(await tempDir(t), 'versioned.dump')
    await writeFile(archive, archiveOf([madeBy(version), ...indexAt('plants')]))
    const lines: string[] = []
    const destination = new Writable({
      write(chunk, _encoding, done) {
        lines.push(String(chunk))
        done()
      },
    })
    await start(archive, { log: openLog({ level: 'INFO', mode: 'JSON', destination }) })
    t.true(lines.some((line) => line.includes(`"dbVersion":"${version}"`) && line.includes('"V6"')))
  })

const hostile: Readonly<Record<string, readonly [readonly MadeEntry[] | Buffer, RegExp]>> = {
  'is not compressed': [Buffer.from('{"dumpVersion":"V6"}'), /not a complete gzip-compressed tar archive/],
  'is empty': [Buffer.alloc(0), /not a complete gzip-compressed tar archive/],
  'holds no entries': [[], /not a complete gzip-compressed tar archive/],
  'holds no entry of a dump': [[{ path: 'notes.txt', content: 'x' }], /no metadata\.json/],
  'has a path outside its root': [
    [metadata, { path: '../escaped', content: 'x' }],
    /not the path of a file inside/,
  ],
  'has a path that leaves its root midway': [
    [metadata, { path: 'indexes/../../escaped', content: 'x' }],
    /not the path of a file inside/,
  ],
  'has an absolute path': [[metadata, { path: '/escaped', content: 'x' }], /not the path of a file inside/],
  'holds a symbolic link': [
    [metadata, { path: 'indexes/a', type: 'SymbolicLink', linkpath: '/etc' }],
    /kind SymbolicLink/,
  ],
  'holds a hard link': [
    [metadata, { path: 'keys.jsonl', type: 'Link', linkpath: '/etc/passwd' }],
    /kind Link/,
  ],
  'holds a device': [[metadata, { path: 'keys.jsonl', type: 'CharacterDevice' }], /kind CharacterDevice/],
  'claims more than the disk has': [
    [metadata, { path: 'keys.jsonl', content: 'x', size: 2 ** 52 }],
    /the disk has \d+ left/,
  ],
  'has an entry twice': [[metadata, metadata], /twice/],
  'has an older layout': [[madeBy('1.0.0', 'V5')], /has the layout V5.* reads V6: .*dump it there again$/],
  'has a newer layout': [[madeBy('1.53.0', 'V7')], /has the layout V7.* reads V6: import it with a newer/],
  'has a newer layout and no other field': [
    [{ path: 'metadata.json', content: '{"dumpVersion":"V10"}' }],
    /has the layout V10/,
  ],
  'has no layout': [[madeBy('1.53.0', '6')], /dumpVersion: expected a layout .*found `"6"`/],
  'was made by a newer version of this service': [
    [madeBy('0.2.0')],
    /was made by the version 0\.2\.0 .*newer than this one, 0\.0\.0: start that version/,
  ],
  'has no version': [
    [{ path: 'metadata.json', content: '{"dumpVersion":"V6"}' }],
    /dbVersion: expected a string, found nothing/,
  ],
  'has a malformed version': [[madeBy('1.53')], /dbVersion: expected a version .*found `"1\.53"`/],
  'holds no JSON': [[{ path: 'metadata.json', content: '{' }], /metadata\.json is not JSON/],
  'lacks the settings of an index': [
    [metadata, ...indexAt('a').filter(({ path }) => !path.includes('settings'))],
    /no indexes\/a\/settings\.json/,
  ],
  'has an invalid index uid': [[metadata, ...indexAt('../x', 'a')], /uid of an index/],
  'has an index twice': [[metadata, ...indexAt('a', 'a'), ...indexAt('a', 'b')], /twice/],
  'holds unknown settings': [
    [
      metadata,
      ...indexAt('a').map((one) =>
        one.path.includes('settings') ? { ...one, content: '{"colour":1}' } : one,
      ),
    ],
    /settings\.json: .*colour/,
  ],
  'has words instead of documents': [
    [
      metadata,
      ...indexAt('a').map((one) => (one.path.includes('documents') ? { ...one, content: 'words' } : one)),
    ],
    /indexes\/a: /,
  ],
  'holds documents without an id': [
    [
      metadata,
      ...indexAt('a').map((one) => (one.path.includes('documents') ? { ...one, content: '{"no":1}' } : one)),
    ],
    /indexes\/a: /,
  ],
  'holds a key without an uid': [[metadata, { path: 'keys.jsonl', content: '{}' }], /keys\.jsonl:1\.uid/],
  'has a task without a kind': [
    [metadata, { path: 'tasks/queue.jsonl', content: task({ type: 'wonder' }) }],
    /tasks\/queue\.jsonl:1: type/,
  ],
  'holds a task twice': [
    [metadata, { path: 'tasks/queue.jsonl', content: `${task({})}\n${task({})}` }],
    /is not greater than/,
  ],
  'has a task with an invalid uid': [
    [metadata, { path: 'tasks/queue.jsonl', content: task({ uid: 2 ** 40 }) }],
    /unsigned 32-bit/,
  ],
  'has a waiting task that this service never runs': [
    [
      metadata,
      {
        path: 'tasks/queue.jsonl',
        content: task({ status: 'processing', type: { networkTopologyChange: { state: 'waiting' } } }),
      },
    ],
    /queue\.jsonl:1: a waiting task of the type networkTopologyChange .*cancel it in the old instance/,
  ],
  'lacks the upload of a task': [
    [
      metadata,
      {
        path: 'tasks/queue.jsonl',
        content: task({
          status: 'enqueued',
          type: {
            documentImport: {
              primary_key: null,
              method: 'ReplaceDocuments',
              documents_count: 1,
              allow_index_creation: true,
            },
          },
        }),
      },
    ],
    /update_files\/0\.jsonl/,
  ],
  'has a webhook without a URL': [
    [
      metadata,
      { path: 'webhooks.json', content: '{"webhooks":{"11111111-1111-4111-8111-111111111111":{"url":"x"}}}' },
    ],
    /absolute URL/,
  ],
  'has an invalid instance uid': [[metadata, { path: 'instance_uid.uuid', content: '../../x' }], /UUID/],
}

for (const [name, [content, message]] of Object.entries(hostile)) {
  test(`an archive that ${name} is refused and leaves nothing`, async (t) => {
    const { parent, start } = await place(t)
    const archive = join(await tempDir(t), 'hostile.dump')
    await writeFile(archive, Buffer.isBuffer(content) ? content : archiveOf(content as readonly MadeEntry[]))
    await rejected(t, start(archive), message)
    t.deepEqual(await readdir(parent), [])
    t.false(await exists('/escaped'))
  })
}
