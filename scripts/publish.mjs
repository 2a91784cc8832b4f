// Publishes the tarballs of a folder:  node scripts/publish.mjs FOLDER [--provenance]
//
// Publishes the binaries first, and the server's package only when the registry serves each of them, because it depends
// on them. Skips published packages, so that an interrupted run can be repeated.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A registry may serve a new package only after a while. */
const POLLS_MAX = 30
const POLL_MS = 2_000

const [folder, ...options] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: publish.mjs FOLDER [--provenance]')

const packages = readdirSync(folder)
  .filter((name) => name.endsWith('.tgz'))
  .map((name) => {
    const [, packed, version] = /^(siftd(?:-.+?)?)-(\d+\.\d+\.\d+.*)\.tgz$/.exec(name) ?? []
    if (packed === undefined) throw new Error(`${name} is not a tarball of this project`)
    // The path must begin with a dot, because npm reads `tarballs/x.tgz` as a repository name.
    return { name: packed.replace(/^siftd-/, '@siftd/'), version, path: `./${name}` }
  })
const binaries = packages.filter(({ name }) => name !== 'siftd')
const server = packages.filter(({ name }) => name === 'siftd')
if (server.length !== 1)
  throw new Error(`${folder} contains ${server.length} tarballs of the server, not one`)

const npm = (...args) =>
  spawnSync('npm', args, { cwd: resolve(folder), encoding: 'utf8', shell: process.platform === 'win32' })
const isPublished = ({ name, version }) =>
  npm('view', `${name}@${version}`, 'version').stdout.trim() === version

function publish(one) {
  if (isPublished(one)) return console.log(`${one.name}@${one.version} is already published`)
  const { status, stderr } = npm('publish', one.path, '--access', 'public', ...options)
  if (status !== 0) throw new Error(`${join(folder, one.path)} was not published: ${stderr}`)
  console.log(`published ${one.name}@${one.version}`)
}

async function untilPublished(one) {
  for (let polls = 0; !isPublished(one); polls++) {
    if (polls === POLLS_MAX) throw new Error(`the registry does not serve ${one.name}@${one.version}`)
    await sleep(POLL_MS)
  }
}

for (const one of binaries) publish(one)
for (const one of binaries) await untilPublished(one)
for (const one of server) publish(one)
for (const one of server) await untilPublished(one)
