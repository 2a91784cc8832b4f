import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { isCi, type Requirement } from './requirements.js'

/** Runs a command as root: as it is, or by a `sudo` that asks for no password. @returns why it failed, null if not */
export function failureAsRoot(command: string, args: readonly string[]): string | null {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
  if (status === 0 || spawnSync('sudo', ['-n', command, ...args]).status === 0) return null
  return error?.message ?? stderr.trim()
}

/** Mounts an empty file system at `path`. @returns why it could not, null if it is there */
const mount = (path: string, mebibytes: number): string | null =>
  failureAsRoot('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path])

/** Takes a file system away, files of which may still be open. @returns why it could not, null if it is gone */
const unmount = (path: string): string | null => failureAsRoot('umount', ['-l', path])

function whyNoDisks(): string | null {
  if (process.platform !== 'linux') return `disks are mounted on Linux only, this is ${process.platform}`
  const path = mkdtempSync(join(tmpdir(), 'siftd-disk-'))
  const reason = mount(path, 1) ?? unmount(path)
  rmdirSync(path)
  return reason && `no disk can be mounted: ${reason}`
}

/** Permission to mount file systems. */
export const mountableDisks: Requirement = {
  missing: whyNoDisks(),
  isDemanded: isCi && process.platform === 'linux',
}

/** An empty file system of so many MiB, removed when the test ends. Tests that ask for one need `mountableDisks`. */
export async function smallDisk(t: ExecutionContext, mebibytes: number): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'siftd-disk-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  const reason = mount(path, mebibytes)
  if (reason !== null) throw new Error(reason)
  t.teardown(() => void unmount(path))
  return path
}
