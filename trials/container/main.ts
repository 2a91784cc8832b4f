/**
 * npm run trials -- container [--bases local|pulled] [--only clone|npm|unit] [--runtime NAME] [--home DIR]
 *
 * Exits with 1 if an image, a container or the systemd unit does not behave as docs/install.md says.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { baseImages, makeBaseImages } from './base-images.js'
import { Podman } from './podman.js'
import { openRegistry } from './registry.js'
import { tryImage } from './trial.js'
import { tryUnit } from './unit-trial.js'

const help = `npm run trials -- container [options]

Builds the images of the Dockerfile with podman, starts them as arbitrary users with a read-only root, indexes, kills,
restarts and stops them, and runs the systemd unit in a container whose first process is systemd. Needs Linux, root,
podman and debootstrap.

  --bases local|pulled  base images: Debian from debootstrap with the Node.js of this machine, without Rust; or the
                        images that the Dockerfile names, from their registries          (default local)
  --only NAME           clone, npm or unit; may be repeated                              (default: all three)
  --runtime NAME        container runtime, such as runc                                  (default: podman's own)
  --home DIR            keeps base images and layers for the next run                    (default: a new one, removed)

Example
  npm run trials -- container --runtime runc --only clone`

const { values } = parseArgs({
  options: {
    bases: { type: 'string', default: 'local' },
    only: { type: 'string', multiple: true, default: ['clone', 'npm', 'unit'] },
    runtime: { type: 'string' },
    home: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
const { bases, only } = values
if (bases !== 'local' && bases !== 'pulled') throw new Error(`--bases ${bases}: expected local or pulled`)
for (const name of only)
  if (!['clone', 'npm', 'unit'].includes(name)) throw new Error(`--only ${name}: expected clone, npm or unit`)
if (process.platform !== 'linux' || process.getuid?.() !== 0)
  throw new Error('this trial needs Linux and root')

const root = fileURLToPath(new URL('../../../', import.meta.url))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string
}
const home = resolve(values.home ?? mkdtempSync(join(tmpdir(), 'siftd-container-')))
mkdirSync(home, { recursive: true })
const files = mkdtempSync(join(home, 'trial-'))
const podman = new Podman({ home, runtime: values.runtime ?? null })
const say = (what: string): void => console.log(`✔ ${what}`)
const began = performance.now()

/** Removes all containers and their volumes. Keeps image layers. */
function removeContainers(): void {
  podman.run(['rm', '--all', '--force', '--time', '0'])
  podman.run(['volume', 'rm', '--all', '--force'])
}

function buildArgs(): readonly string[] {
  if (bases === 'pulled') return []
  const { build, runtime } = baseImages
  const args = { NODE_IMAGE: build, RUST_IMAGE: build, RUNTIME_IMAGE: runtime }
  return Object.entries(args).flatMap(([name, image]) => ['--build-arg', `${name}=${image}`])
}

async function tryClone(): Promise<void> {
  const image = 'localhost/siftd-trial/clone'
  await podman.build(image, join(root, 'Dockerfile'), root, buildArgs())
  say('built the image from this clone')
  // The local base image has no Rust.
  const engine = bases === 'local' ? 'fallback' : 'native'
  await tryImage({ podman, image, engine, home: mkdtempSync(join(files, 'clone-')), say })
  removeContainers()
}

/** Tests the variants that install from a registry: a local one serves the packages of this clone. */
async function tryPackages(): Promise<void> {
  const packages = join(files, 'packages')
  execFileSync(process.execPath, [join(root, 'scripts', 'pack.mjs'), '--out', packages], { stdio: 'ignore' })
  const upstream = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
  const registry = await openRegistry(packages, upstream)
  try {
    const engine = registry.names.some((name) => name.startsWith('@siftd/engine-')) ? 'native' : 'fallback'
    const npmrc = join(files, 'npmrc')
    writeFileSync(npmrc, `registry=${registry.url}\ncafile=/etc/ssl/certs/ca-certificates.crt\n`)
    const secret = ['--secret', `id=npmrc,src=${npmrc}`, '--no-cache']
    if (only.includes('npm')) await tryNpm(engine, secret)
    if (only.includes('unit')) {
      await tryUnit({ podman, base: await unitBase(), engine, version, npmrc: secret, home: files, say })
      removeContainers()
    }
  } finally {
    registry.close()
  }
}

async function tryNpm(engine: 'native' | 'fallback', secret: readonly string[]): Promise<void> {
  const image = 'localhost/siftd-trial/npm'
  // Only the Dockerfile: this variant needs no clone.
  const alone = join(files, 'alone')
  mkdirSync(alone)
  cpSync(join(root, 'Dockerfile'), join(alone, 'Dockerfile'))
  const args = [...buildArgs(), ...secret, '--target', 'npm', '--build-arg', `VERSION=${version}`]
  await podman.build(image, join(alone, 'Dockerfile'), alone, args)
  say('built the image from the packages, with only the Dockerfile')
  await tryImage({ podman, image, engine, home: mkdtempSync(join(files, 'npm-')), say })
  removeContainers()
}

/** An image with Node.js and systemd. */
async function unitBase(): Promise<string> {
  if (bases === 'local') return baseImages.build
  const node = /^ARG NODE_IMAGE=(.*)$/m.exec(readFileSync(join(root, 'Dockerfile'), 'utf8'))?.[1]
  const containerfile = join(files, 'Systemd')
  writeFileSync(
    containerfile,
    `FROM ${node}\nRUN apt-get update && apt-get install -y --no-install-recommends systemd systemd-sysv dbus\n`,
  )
  await podman.build('localhost/siftd-trial/systemd', containerfile, files)
  return 'localhost/siftd-trial/systemd'
}

try {
  if (bases === 'local') {
    await makeBaseImages(podman, home)
    say('built the base images')
  }
  if (only.includes('clone')) await tryClone()
  if (only.includes('npm') || only.includes('unit')) await tryPackages()
  console.log(`passed after ${Math.round((performance.now() - began) / 1000)} s`)
} finally {
  removeContainers()
  if (values.home === undefined) {
    // Not `system reset`, which would also remove networks of others.
    podman.run(['rmi', '--all', '--force'])
    podman.release()
    rmSync(home, { recursive: true, force: true })
  } else rmSync(files, { recursive: true, force: true })
}
