/** Programs that open a directory: when they end by themselves, in CommonJS, in a worker thread, and in Bun and Deno. */
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { chosenEngines } from '../../support/engines.js'
import type { Requirement } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'

const entry = new URL('../../../ts/index.js', import.meta.url).href

/** Runs a program in a folder of its own; kills it after `ms`. */
async function run(
  t: ExecutionContext,
  file: string,
  program: string,
  ms = 150_000,
  [command, ...args]: readonly [string, ...string[]] = [process.execPath],
) {
  const folder = await mkdtemp(join(tmpdir(), 'siftd-program-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, file), program)
  return new Promise<{ code: number | null; wasKilled: boolean; text: string }>((resolve) => {
    const child = execFile(command, [...args, file], { cwd: folder, timeout: ms }, (error, stdout, stderr) =>
      resolve({ code: child.exitCode, wasKilled: error?.killed === true, text: stdout + stderr }),
    )
  })
}

const opening = (engine: string, more = '') =>
  `const siftd = await open({ directory: './data', engine: '${engine}', logLevel: 'OFF'${more} })`

for (const { name, needs } of chosenEngines) {
  testNeeding(needs)(`${name}: a program that does not close ends, once its writes are done`, async (t) => {
    const program = `
      import { open } from '${entry}'
      ${opening(name)}
      siftd.onTaskChange(({ hasEnded }) => hasEnded && console.log('ended'))
      const { taskUid } = await siftd.index('films').addDocuments([{ id: 1, title: 'Solaris' }])
      await siftd.waitForTask(taskUid)
      console.log((await siftd.index('films').search('solris')).hits[0].title)
      await siftd.index('films').addDocuments([{ id: 2, title: 'Stalker' }])`
    t.deepEqual(await run(t, 'main.mjs', program), {
      code: 0,
      wasKilled: false,
      text: 'ended\nSolaris\nended\n',
    })
  })

  testNeeding(needs)(`${name}: keepAlive keeps a program running until it closes`, async (t) => {
    const kept = await run(
      t,
      'main.mjs',
      `import { open } from '${entry}'\n${opening(name, ', keepAlive: true')}`,
      8000,
    )
    t.true(kept.wasKilled, kept.text)
    const closed = `import { open } from '${entry}'
      ${opening(name, ', keepAlive: true')}
      setTimeout(() => siftd.close(), 100)`
    t.deepEqual(await run(t, 'main.mjs', closed), { code: 0, wasKilled: false, text: '' })
  })

  testNeeding(needs)(`${name}: a CommonJS program imports the package`, async (t) => {
    const program = `
      import('${entry}').then(async ({ open }) => {
        ${opening(name)}
        const films = siftd.index('films')
        await siftd.waitForTask((await films.addDocuments([{ id: 1, title: 'Solaris' }])).taskUid)
        console.log((await films.search('solris')).hits[0].title)
        await siftd.close()
      })`
    t.deepEqual(await run(t, 'main.cjs', program), { code: 0, wasKilled: false, text: 'Solaris\n' })
  })

  testNeeding(needs)(`${name}: worker threads open a directory one after another`, async (t) => {
    const program = `
      import { Worker, isMainThread, parentPort } from 'node:worker_threads'
      import { open } from '${entry}'
      if (isMainThread) {
        // The native engine must be loaded by the main thread first: docs/in-process.md.
        await (await open({ directory: './other', engine: '${name}', logLevel: 'OFF' })).close()
        for (let round = 0; round < 2; round++) {
          const worker = new Worker(new URL(import.meta.url))
          worker.on('message', (title) => console.log(title))
          await new Promise((resolve) => worker.once('exit', resolve))
        }
      } else {
        ${opening(name)}
        const films = siftd.index('films')
        await siftd.waitForTask((await films.addDocuments([{ id: 1, title: 'Solaris' }])).taskUid)
        parentPort.postMessage((await films.search('solris')).hits[0].title)
        await siftd.close()
      }`
    t.deepEqual(await run(t, 'main.mjs', program), { code: 0, wasKilled: false, text: 'Solaris\nSolaris\n' })
  })
}

/** Other runtimes, if they are installed: the arguments with which they run a program. */
const runtimes = [
  ['bun', []],
  ['deno', ['run', '--allow-all', '--node-modules-dir=manual']],
] as const

for (const [runtime, args] of runtimes) {
  const installed: Requirement = {
    missing: spawnSync(runtime, ['--version']).error === undefined ? null : `${runtime} is not installed`,
    isDemanded: false,
  }
  for (const { name, needs } of chosenEngines)
    testNeeding([...needs, installed])(
      `${name}: ${runtime} opens a directory, and opens it again`,
      async (t) => {
        const program = `
        import { open } from '${entry}'
        for (const readOnly of [false, true]) {
          const siftd = await open({ directory: './data', engine: '${name}', logLevel: 'WARN', readOnly })
          const films = siftd.index('films')
          if (!readOnly) await siftd.waitForTask((await films.addDocuments([{ id: 1, title: 'Solaris' }])).taskUid)
          console.log((await films.search('solris')).hits[0].title)
          await siftd.close()
        }`
        const expected = { code: 0, wasKilled: false, text: 'Solaris\nSolaris\n' }
        t.deepEqual(await run(t, 'main.mjs', program, 150_000, [runtime, ...args]), expected)
      },
    )
}

test('require loads the package, where Node can require ES modules', async (t) => {
  const path = fileURLToPath(entry)
  const { text } = await run(t, 'main.cjs', `console.log(typeof require(${JSON.stringify(path)}).open)`)
  t.true(/^function$/m.test(text) || text.includes('ERR_REQUIRE_ESM'), text)
})
