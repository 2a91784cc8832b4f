/** Runs podman with a separate store for the images and containers of a trial. */
import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const OUTPUT_BYTES_MAX = 2 ** 28

export interface CommandResult {
  readonly code: number | null
  readonly out: string
  readonly errors: string
}

export interface PodmanSetup {
  /** The folder of the store. */
  readonly home: string
  /** A program such as `runc`; null for podman's default. */
  readonly runtime: string | null
}

export class Podman {
  readonly #home: string
  readonly #options: readonly string[]

  constructor({ home, runtime }: PodmanSetup) {
    this.#home = home
    this.#options = [
      ...['--root', join(home, 'store'), '--runroot', join(home, 'run')],
      // Without systemd podman must create control groups itself.
      ...(existsSync('/run/systemd/system') ? [] : ['--cgroup-manager', 'cgroupfs']),
      ...(runtime === null ? [] : ['--runtime', runtime]),
    ]
  }

  /** Runs a command that may fail. @param input its standard input */
  tryRun(args: readonly string[], input: string | Buffer = ''): CommandResult {
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
    const { code, out, errors } = this.tryRun(args, input)
    if (code !== 0) throw new Error(`podman ${args.join(' ')} exited with ${code}:\n${out}\n${errors}`)
    return out
  }

  /** Builds an image in docker format, because others cannot store a health check. */
  async build(
    tag: string,
    containerfile: string,
    folder: string,
    args: readonly string[] = [],
  ): Promise<void> {
    const common = ['--format', 'docker', '--isolation', 'chroot', '--network', 'host', '--tag', tag]
    // Asynchronous, because the build may use a registry in this process.
    const all = [...this.#options, 'build', ...common, ...args, '--file', containerfile, folder]
    await promisify(execFile)('podman', all, { maxBuffer: OUTPUT_BYTES_MAX })
  }

  /** Unmounts the store, which podman leaves mounted. */
  release(): void {
    for (const folder of ['overlay', 'overlay-containers'])
      spawnSync('umount', [join(this.#home, 'store', folder)], { stdio: 'ignore' })
  }

  /** Returns stdout and stderr of a container. */
  logs(name: string): string {
    const { out, errors } = this.tryRun(['logs', name])
    return `${out}\n${errors}`
  }

  /** Returns a property of a container or image, selected by a Go template. */
  inspected(name: string, template: string): string {
    return this.run(['inspect', '--format', `{{${template}}}`, name])
  }
}

/** Resource limits that every machine allows. Podman's defaults exceed the limits of some. */
export const lowLimits = ['--ulimit', 'nofile=8192:8192', '--ulimit', 'nproc=4096:4096'] as const
