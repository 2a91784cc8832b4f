/** Images and containers of a trial, in a store of its own. */
import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const OUTPUT_BYTES_MAX = 2 ** 28

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly errors: string
}

export interface PodmanSetup {
  /** The folder of the store. */
  readonly home: string
  /** A program such as `runc`; null: the one that podman chooses. */
  readonly runtime: string | null
}

export class Podman {
  readonly #home: string
  readonly #options: readonly string[]

  constructor({ home, runtime }: PodmanSetup) {
    this.#home = home
    this.#options = [
      ...['--root', join(home, 'store'), '--runroot', join(home, 'run')],
      // A machine that systemd did not start has nothing to ask for groups.
      ...(existsSync('/run/systemd/system') ? [] : ['--cgroup-manager', 'cgroupfs']),
      ...(runtime === null ? [] : ['--runtime', runtime]),
    ]
  }

  /** Runs a command, whatever its outcome. @param input for its standard input */
  tried(args: readonly string[], input: string | Buffer = ''): Ended {
    const { status, stdout, stderr, error } = spawnSync('podman', [...this.#options, ...args], {
      input,
      encoding: 'utf8',
      maxBuffer: OUTPUT_BYTES_MAX,
    })
    if (error !== undefined) throw error
    return { code: status, out: stdout.trim(), errors: stderr.trim() }
  }

  /** Runs a command that must succeed. @returns its output */
  run(args: readonly string[], input: string | Buffer = ''): string {
    const { code, out, errors } = this.tried(args, input)
    if (code !== 0) throw new Error(`podman ${args.join(' ')} ended with ${code}:\n${out}\n${errors}`)
    return out
  }

  /** Builds an image. Formats other than that of docker have no health check. */
  async build(
    tag: string,
    containerfile: string,
    folder: string,
    args: readonly string[] = [],
  ): Promise<void> {
    const common = ['--format', 'docker', '--isolation', 'chroot', '--network', 'host', '--tag', tag]
    // The registry that a build asks may be in this process.
    const all = [...this.#options, 'build', ...common, ...args, '--file', containerfile, folder]
    await promisify(execFile)('podman', all, { maxBuffer: OUTPUT_BYTES_MAX })
  }

  /** Lets go of the store, which podman leaves mounted upon itself. */
  release(): void {
    for (const folder of ['overlay', 'overlay-containers'])
      spawnSync('umount', [join(this.#home, 'store', folder)], { stdio: 'ignore' })
  }

  /** What both outputs of a container hold. */
  logs(name: string): string {
    const { out, errors } = this.tried(['logs', name])
    return `${out}\n${errors}`
  }

  /** A part of what podman knows, by a Go template. */
  inspected(name: string, template: string): string {
    return this.run(['inspect', '--format', `{{${template}}}`, name])
  }
}

/** Limits that are low enough for every machine: podman asks for higher ones, which not all grant. */
export const modestLimits = ['--ulimit', 'nofile=8192:8192', '--ulimit', 'nproc=4096:4096'] as const
