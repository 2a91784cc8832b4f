/** package.json lists the targets of the binaries. Every other list must match it. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chmod, cp, readdir, symlink, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { parseTriple } from '@napi-rs/cli'
import test from 'ava'
import { platformOf } from '../../ts/engine/addon.js'
import { addonPlatforms } from '../../ts/engine/index.js'
import { tempDir } from '../backup/archives.js'
import { otherThanWindows } from '../support/requirements.js'
import { testNeeding } from '../support/test-needing.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const execute = promisify(execFile)
const script = (name: string): string => join(root, 'scripts', name)

/** Functions of the scripts. */
const setup = (await import(pathToFileURL(script('setup.mjs')).href)) as {
  needsShell(command: string, system: string): boolean
  loadsEngine(args: readonly string[], env: NodeJS.ProcessEnv): boolean
}

test('the release builds exactly the platforms that the server can load a binary for', async (t) => {
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

test('platform names match the file names of `napi build`, also without a binary', (t) => {
  const { napi } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly napi: { readonly targets: readonly string[] }
  }
  for (const target of [...napi.targets, 'aarch64-pc-windows-msvc'])
    t.is(platformOf(target), parseTriple(target).platformArchABI)
})

/** Returns platform names, with or without C library, in documents, scripts, sources and workflows. */
async function namedPlatforms(): Promise<readonly string[]> {
  const folders = ['docs', 'scripts', 'ts', 'deploy', '.github']
  const below = await Promise.all(folders.map((folder) => readdir(join(root, folder), { recursive: true })))
  const files = below.flatMap((names, at) => names.map((name) => join(folders[at] ?? '', name)))
  return [...files, 'README.md', 'Dockerfile'].flatMap((path) => {
    if (!/\.(md|mjs|ts|ya?ml|service)$|^Dockerfile$/.test(path)) return []
    const text = readFileSync(join(root, path), 'utf8')
    return [...text.matchAll(/\b(?:linux|darwin|win32)-[a-z]*\d+(?:-(?:gnu|musl|msvc))?\b/g)].map(
      ([name]) => `${path}: ${name}`,
    )
  })
}

test('no page, script or workflow names a platform without a build', async (t) => {
  const named = await namedPlatforms()
  t.true(named.length > 15, 'platforms were found')
  const known = [...addonPlatforms(), 'win32-arm64 has no binary, and pages say so']
  t.deepEqual(
    named.filter((line) => !known.some((platform) => platform.startsWith(line.split(': ')[1] ?? ''))),
    [],
  )
})

/** File name, output of `readelf`, and expected complaint of the check. */
const binaries = [
  ['x.linux-x64-gnu.node', 'X86-64 [libc.so.6] (NEEDED) GLIBC_2.17 GLIBC_2.31', null],
  ['x.linux-x64-gnu.node', 'X86-64 [libc.so.6] (NEEDED) GLIBC_2.34', 'it needs glibc 2.34'],
  ['x.linux-arm64-gnu.node', 'X86-64 [libc.so.6] (NEEDED) GLIBC_2.17', 'it is not for AArch64'],
  ['x.linux-x64-musl.node', 'X86-64 (NEEDED) [libc.musl-x86_64.so.1]', null],
  ['x.linux-x64-musl.node', 'X86-64 (NEEDED) [libc.so.6]', 'a binary for musl needs glibc'],
  ['x.darwin-arm64.node', '', null],
] as const

const unlessWindows = testNeeding([otherThanWindows('a shell script cannot replace readelf')], test)
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

test('only npm is started by a shell, which would split paths at blanks, and only on Windows', (t) => {
  t.true(setup.needsShell('npm', 'win32'))
  t.false(setup.needsShell('npm', 'linux'))
  t.false(setup.needsShell(String.raw`C:\Program Files\nodejs\node.exe`, 'win32'))
})

for (const [args, expected] of [
  [[], true],
  [['--db-path', 'data.ms'], true],
  [['verify'], true],
  [['search', 'films', '--db-path=data.ms'], true],
  [['search', 'films'], false],
  [['-v'], false],
  [['--print-config'], false],
  [['--engine', 'fallback'], false],
] as const)
  test(`npm start -- ${args.join(' ')} ${expected ? 'builds' : 'does not build'} the engine`, (t) => {
    t.is(setup.loadsEngine(args, {}), expected)
  })

test('the release builds the word dictionaries, which are not in the repository, before it packs them', (t) => {
  const workflow = readFileSync(join(root, '.github/workflows/release.yml'), 'utf8')
  t.regex(workflow, /^ *node scripts\/build-words\.mjs\n *node scripts\/pack\.mjs .*--all$/m)
})

testNeeding([otherThanWindows('links need rights')], test)(
  'packages are not installed through a link, which would empty the folder of another checkout',
  async (t) => {
    const [clone, other] = [await tempDir(t), await tempDir(t)]
    await cp(join(root, 'scripts'), join(clone, 'scripts'), { recursive: true })
    await writeFile(join(clone, 'package-lock.json'), '{}')
    await writeFile(join(other, 'marker'), '')
    await symlink(other, join(clone, 'node_modules'))
    const code = "import('./scripts/setup.mjs').then(async (m) => console.log(await m.installDependencies()))"
    const { stdout, stderr } = await execute(process.execPath, ['-e', code], { cwd: clone })
    t.deepEqual(await readdir(other), ['marker'])
    t.is(stdout, 'false\n')
    t.regex(stderr, /^node_modules is a link to a folder with other packages, .*: remove the link$/m)
  },
)
