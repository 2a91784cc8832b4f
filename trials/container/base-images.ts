/**
 * Replacements for the Dockerfile's base images where no image registry can be reached: Debian from `debootstrap`, with
 * the Node.js, npm and certificates of this machine.
 */
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Podman } from './podman.js'

/** Debian release of the Dockerfile's base images. */
const RELEASE = 'bookworm'
/** Packages whose libraries the distroless Node.js image contains. */
const RUNTIME_PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6']
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

export const baseImages = {
  /** Debian with a shell, Node.js, npm and systemd. Replaces `NODE_IMAGE` and `RUST_IMAGE`. */
  build: 'localhost/siftd-trial/build',
  /** Libraries and Node.js without a shell. Replaces `RUNTIME_IMAGE`. */
  runtime: 'localhost/siftd-trial/runtime',
} as const

/** Builds both images. @param home folder for their files, reused by later calls */
export async function makeBaseImages(podman: Podman, home: string): Promise<void> {
  const debian = join(home, 'debian')
  if (!existsSync(join(debian, 'etc', 'os-release'))) {
    const include = 'ca-certificates,libstdc++6,systemd,systemd-sysv,dbus'
    execFileSync('debootstrap', ['--variant=minbase', `--include=${include}`, RELEASE, debian], {
      stdio: 'ignore',
    })
  }
  addNode(join(debian, 'usr', 'local'))
  const runtime = join(home, 'runtime')
  copyLibraries(debian, runtime)
  mkdirSync(join(runtime, 'nodejs', 'bin'), { recursive: true })
  cpSync(realpathSync(process.execPath), join(runtime, 'nodejs', 'bin', 'node'))
  for (const folder of ['proc', 'sys', 'dev', 'tmp']) mkdirSync(join(runtime, folder), { recursive: true })
  const containerfile = join(home, 'Base')
  writeFileSync(containerfile, 'FROM scratch\nCOPY . /\n')
  await podman.build(baseImages.build, containerfile, debian)
  await podman.build(baseImages.runtime, containerfile, runtime)
}

function addNode(prefix: string): void {
  const npm = npmFolder()
  mkdirSync(join(prefix, 'etc'), { recursive: true })
  cpSync(realpathSync(process.execPath), join(prefix, 'bin', 'node'))
  const folder = join(prefix, 'lib', 'node_modules', 'npm')
  rmSync(folder, { recursive: true, force: true })
  cpSync(npm, folder, { recursive: true, verbatimSymlinks: true })
  const link = join(prefix, 'bin', 'npm')
  if (!existsSync(link)) symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', link)
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
  writeFileSync(join(prefix, 'etc', 'npmrc'), `registry=${registry}\ncafile=${CERTIFICATES}\n`)
  // A proxy on this machine may use its own certificate authority.
  if (existsSync(CERTIFICATES)) cpSync(realpathSync(CERTIFICATES), join(prefix, '..', '..', CERTIFICATES))
}

/** Folder of the globally installed npm. */
function npmFolder(): string {
  const root = execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim()
  return realpathSync(join(root, 'npm'))
}

/** Copies the libraries of `RUNTIME_PACKAGES`. */
function copyLibraries(from: string, to: string): void {
  const lists = join(from, 'var', 'lib', 'dpkg', 'info')
  for (const name of RUNTIME_PACKAGES) {
    const list = readdirSync(lists).find((file) => file.startsWith(`${name}:`) && file.endsWith('.list'))
    if (list === undefined) throw new Error(`debootstrap did not install ${name}`)
    const paths = readFileSync(join(lists, list), 'utf8').split('\n')
    for (const path of paths.filter((path) => /^(?:\/usr)?\/lib(?:64)?\/.*\.so/.test(path))) {
      mkdirSync(dirname(join(to, path)), { recursive: true })
      cpSync(realpathSync(join(from, path)), join(to, path))
    }
  }
}
