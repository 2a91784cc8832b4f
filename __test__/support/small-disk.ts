import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { isCi, type Requirement } from './requirements.js'

/** Runs a command as root, directly or by `sudo` without a password. @returns why it failed, or null */
export function failureAsRoot(command: string, args: readonly string[]): string | null {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
  if (status === 0 || spawnSync('sudo', ['-n', command, ...args]).status === 0) return null
  return error?.message ?? stderr.trim()
}

/** Mounts an empty file system at `path`. @returns why it failed, or null */
const mount = (path: string, mebibytes: number): string | null =>
  failureAsRoot('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path])

/** Unmounts a file system, even if its files are open. @returns why it failed, or null */
const unmount = (path: string): string | null => failureAsRoot('umount', ['-l', path])

function missingDisks(): string | null {
  if (process.platform !== 'linux') return `mounting disks needs Linux, this is ${process.platform}`
  const path = mkdtempSync(join(tmpdir(), 'siftd-disk-'))
  const reason = mount(path, 1) ?? unmount(path)
  rmdirSync(path)
  return reason && `cannot mount a disk: ${reason}`
}

/** Permission to mount file systems. */
export const mountableDisks: Requirement = {
  missing: missingDisks(),
  isDemanded: isCi && process.platform === 'linux',
}

/** Mounts an empty file system of `mebibytes` MiB, removed when the test ends. Needs `mountableDisks`. */
export async function smallDisk(t: ExecutionContext, mebibytes: number): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'siftd-disk-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  const reason = mount(path, mebibytes)
  if (reason !== null) throw new Error(reason)
  t.teardown(() => void unmount(path))
  return path
}
