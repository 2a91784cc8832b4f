// Publishes the tarballs of a folder:  node scripts/publish.mjs FOLDER [--provenance]
//
// Binaries come first, and the server's package only when the registry answers for each of them: it must never name what
// does not exist. What is published already is left out, so that a run that broke off can be repeated.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A registry may take a while to answer for what it has just taken. */
const LOOKS_MAX = 30
const LOOK_MS = 2_000

const [folder, ...options] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: publish.mjs FOLDER [--provenance]')

const packages = readdirSync(folder)
  .filter((name) => name.endsWith('.tgz'))
  .map((name) => {
    const [, packed, version] = /^(siftd(?:-.+?)?)-(\d+\.\d+\.\d+.*)\.tgz$/.exec(name) ?? []
    if (packed === undefined) throw new Error(`${name} is no tarball of this project`)
    // A path that begins with a dot: npm takes `tarballs/x.tgz` for the name of a repository.
    return { name: packed.replace(/^siftd-/, '@siftd/'), version, path: `./${name}` }
  })
const binaries = packages.filter(({ name }) => name !== 'siftd')
const server = packages.filter(({ name }) => name === 'siftd')
if (server.length !== 1) throw new Error(`${folder} holds ${server.length} tarballs of the server, not one`)

const npm = (...args) =>
  spawnSync('npm', args, { cwd: resolve(folder), encoding: 'utf8', shell: process.platform === 'win32' })
const isThere = ({ name, version }) => npm('view', `${name}@${version}`, 'version').stdout.trim() === version

function publish(one) {
  if (isThere(one)) return console.log(`${one.name}@${one.version} is published already`)
  const { status, stderr } = npm('publish', one.path, '--access', 'public', ...options)
  if (status !== 0) throw new Error(`${join(folder, one.path)} was not published: ${stderr}`)
  console.log(`published ${one.name}@${one.version}`)
}

async function untilThere(one) {
  for (let looks = 0; !isThere(one); looks++) {
    if (looks === LOOKS_MAX) throw new Error(`the registry does not answer for ${one.name}@${one.version}`)
    await sleep(LOOK_MS)
  }
}

for (const one of binaries) publish(one)
for (const one of binaries) await untilThere(one)
for (const one of server) publish(one)
for (const one of server) await untilThere(one)
