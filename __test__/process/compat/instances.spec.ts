/** Opens the directory, snapshot and dump of an instance of every released version, and compares the answers. */
import { readdirSync, readFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { tempDir } from '../../backup/archives.js'
import { asked, EXCHANGES, type Exchange, parts, startInstance, steady } from '../../compat/instance.js'
import { nativeEngine } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'

// Compiled tests are in dist/, the instances next to the sources.
const home = join(import.meta.dirname, '../../../../__test__/compat')
const instances = readdirSync(home).filter((name) => name.startsWith('instance-'))

test('there is an instance of each engine', (t) => {
  for (const engine of ['native', 'fallback'])
    t.true(instances.some((name) => name.startsWith(`instance-${engine}-`)))
})

/** How to start from a part of an instance, and with which engines. */
const ways = [
  { part: parts.data, args: () => ['--upgrade-db', '--upgrade-without-snapshot'], engines: 'its own' },
  {
    part: parts.snapshot,
    args: (path: string) => ['--import-snapshot', path, '--upgrade-db'],
    engines: 'its own',
  },
  { part: parts.dump, args: (path: string) => ['--import-dump', path], engines: 'both' },
] as const

for (const name of instances) {
  const own = name.includes('-native-') ? 'native' : 'fallback'
  const exchanges = JSON.parse(readFileSync(join(home, name, EXCHANGES), 'utf8')) as readonly Exchange[]
  for (const { part, args, engines } of ways) {
    for (const engine of engines === 'both' ? (['native', 'fallback'] as const) : [own]) {
      const run = engine === 'native' ? testNeeding([nativeEngine], test.serial) : test.serial
      run(
        `${name}: ${part} opens with the ${engine} engine and gives the recorded answers`,
        async (t: ExecutionContext) => {
          const data = join(await tempDir(t), 'data.ms')
          if (part === parts.data) await cp(join(home, name, part), data, { recursive: true })
          const given = ['--engine', engine, ...args(join(home, name, part))]
          const server = await startInstance(t, data, given)
          for (const { method, path, body, answer } of exchanges) {
            const found = steady(await asked(server, [method, path, body]))
            t.like(found, answer as Record<string, unknown>, `${method} ${path} ${JSON.stringify(body)}`)
          }
          t.is(await server.stop(), 0)
        },
      )
    }
  }
}
