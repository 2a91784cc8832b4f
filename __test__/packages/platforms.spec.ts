/** Where binaries exist: package.json names their targets once, and everything else follows. */
import { execFile } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import test from 'ava'
import { addonPlatforms } from '../../ts/engine/index.js'
import { tempDir } from '../backup/archives.js'
import { otherThanWindows } from '../support/requirements.js'
import { testNeeding } from '../support/test-needing.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const execute = promisify(execFile)
const script = (name: string): string => join(root, 'scripts', name)

test('the release builds exactly the platforms for which the server looks for a binary', async (t) => {
  const { stdout } = await execute(process.execPath, [script('platforms.mjs')])
  const { include } = JSON.parse(stdout.replace('matrix=', '')) as {
    readonly include: readonly { readonly platform: string; readonly os?: string }[]
  }
  t.deepEqual(
    include.map(({ platform }) => platform),
    [...addonPlatforms()],
  )
  t.true(include.every(({ os }) => os !== undefined))
})

/** What `readelf` tells of binaries, and what the check says of them. */
const binaries = [
  ['x.linux-x64-gnu.node', 'X86-64 [libc.so.6] (NEEDED) GLIBC_2.17 GLIBC_2.31', null],
  ['x.linux-x64-gnu.node', 'X86-64 [libc.so.6] (NEEDED) GLIBC_2.34', 'it needs glibc 2.34'],
  ['x.linux-arm64-gnu.node', 'X86-64 [libc.so.6] (NEEDED) GLIBC_2.17', 'it is not for AArch64'],
  ['x.linux-x64-musl.node', 'X86-64 (NEEDED) [libc.musl-x86_64.so.1]', null],
  ['x.linux-x64-musl.node', 'X86-64 (NEEDED) [libc.so.6]', 'a binary for musl needs glibc'],
  ['x.darwin-arm64.node', '', null],
] as const

const unlessWindows = testNeeding([otherThanWindows('no script of the shell stands in for readelf')], test)
for (const [name, told, fault] of binaries) {
  unlessWindows(`a binary ${name} with ${told || 'nothing'} is ${fault ?? 'accepted'}`, async (t) => {
    const folder = await tempDir(t)
    await writeFile(join(folder, 'readelf'), `#!/bin/sh\necho '${told}'\n`)
    await chmod(join(folder, 'readelf'), 0o755)
    const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` }
    const checked = execute(process.execPath, [script('check-binary.mjs'), name], { env })
    if (fault === null) await t.notThrowsAsync(checked)
    else {
      const { stderr } = (await t.throwsAsync(checked)) as Error & { readonly stderr: string }
      t.true(stderr.includes(fault), stderr)
    }
  })
}
