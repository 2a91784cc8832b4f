import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { allowance } from '../../../trials/memory-cap/allowance.js'
import { uploads } from '../../../trials/memory-cap/documents.js'
import { parseMemory } from '../../../trials/memory-cap/memory.js'
import { chosenEngines } from '../../support/engines.js'
import { testNeeding } from '../../support/test-needing.js'

const main = fileURLToPath(new URL('../../../trials/memory-cap/main.js', import.meta.url))
const procfs = {
  missing: process.platform === 'linux' ? null : 'reading memory from /proc needs Linux',
  isDemanded: false,
}

const run = (...args: readonly string[]) => spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' })

for (const { name, needs } of chosenEngines)
  testNeeding([procfs, ...needs])(
    `${name}: a load above the allowance exits with 1 and reports the peak`,
    (t) => {
      const { status, stdout, stderr } = run('--engine', name, '--megabytes', '0.3', '--allow-mb', '0.001')
      t.is(status, 1, stderr)
      t.regex(stdout, /own memory +idle \d+\.\d MB, peak \d+\.\d MB, grown by \d+\.\d MB/)
      t.regex(stdout, /EXCEEDED/)
    },
  )

for (const { name, needs } of chosenEngines)
  testNeeding([procfs, ...needs])(`${name}: a load stays below the limit in docs/memory.md`, (t) => {
    const load = ['--megabytes', '4', '--upload-mb', '1', '--cap-mib', '32', '--cache-mib', '8']
    const { status, stdout, stderr } = run('--engine', name, ...load)
    t.is(status, 0, stdout + stderr)
    const [, documents] = /: (\d+) documents, 4 MB/.exec(stdout) ?? []
    t.true(Number(documents) > 5_000, stdout)
    const [, grown] = /own memory +idle .* grown by (\d+\.\d) MB/.exec(stdout) ?? []
    const [, allowed] = /own memory may grow by (\d+\.\d) MB: passed/.exec(stdout) ?? []
    // Without a measurement the growth would be 0.
    t.true(Number(grown) > 1 && Number(grown) <= Number(allowed), stdout)
  })

test('--help names every option', (t) => {
  const { status, stdout } = run('--help')
  t.is(status, 0)
  for (const option of ['engine', 'megabytes', 'cap-mib', 'cache-mib', 'upload-mb', 'allow-mb', 'seed'])
    t.true(stdout.includes(`--${option} `), option)
})

test('memory that the kernel can take back is not counted as own', (t) => {
  const lines = ['Rss: 900 kB', 'Pss: 700 kB', 'Pss_Anon: 300 kB', 'Pss_File: 380 kB', 'Pss_Shmem: 20 kB']
  const text = [...lines, 'SwapPss: 5 kB', ''].join('\n')
  t.deepEqual(parseMemory(text), { resident: 900 * 1024, proportional: 700 * 1024, own: 325 * 1024 })
  t.throws(() => parseMemory(lines.join('\n')), { message: /SwapPss/ })
})

test('only the fallback engine may use more memory for more documents', (t) => {
  const load = { indexingBytes: 256e6, cacheBytes: 32e6 }
  const of = (engine: 'native' | 'fallback', documentBytes: number) =>
    allowance({ ...load, engine, documentBytes })
  t.is(of('native', 500e6), of('native', 1e6))
  t.true(of('fallback', 500e6) > of('fallback', 1e6))
})

test('uploads contain complete lines of distinct documents and are the same for a seed', (t) => {
  const made = [...uploads(300_000, 100_000, 1)]
  t.deepEqual(made, [...uploads(300_000, 100_000, 1)])
  const lines = made.flatMap((upload) => upload.toString().trimEnd().split('\n'))
  t.is(new Set(lines.map((line) => (JSON.parse(line) as { id: number }).id)).size, lines.length)
  t.true(made.length > 1)
  t.true(made.reduce((sum, { length }) => sum + length, 0) >= 300_000)
})
