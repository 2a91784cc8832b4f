import { readFile, statfs } from 'node:fs/promises'
import { cpus, release, totalmem, type } from 'node:os'

/** Figures of the machine. */
export async function systemFigures(directory: string, serverProvider: string | null) {
  return {
    distribution: await distribution(),
    kernel_version: release(),
    cores: cpus().length,
    /** In kilobytes. */
    ram_size: Math.floor(totalmem() / 1024),
    disk_size: await largestDiskBytes(directory),
    server_provider: serverProvider,
  }
}

/** Name and version of the Linux distribution; elsewhere the name of the system. */
async function distribution(): Promise<string> {
  const text = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const lines = text.split('\n').map((line) => line.split('=', 2))
  const value = (key: string): string =>
    lines
      .find(([name]) => name === key)?.[1]
      ?.replaceAll('"', '')
      .trim() ?? ''
  return `${value('NAME')} ${value('VERSION_ID')}`.trim() || type()
}

/** Capacity of the largest mounted disk, at least that of the directory; 0 if unknown. */
async function largestDiskBytes(directory: string): Promise<number> {
  const mounts = await readFile('/proc/self/mounts', 'utf8').catch(() => '')
  // Skips network file systems, as the system call blocks if they are unreachable.
  const points = mounts.split('\n').flatMap((line) => {
    const [device = '', point = ''] = line.split(' ')
    return device.startsWith('/dev/') ? [point] : []
  })
  const capacities = [directory, ...new Set(points)].map(async (path) => {
    const facts = await statfs(path).catch(() => null)
    return facts === null ? 0 : facts.blocks * facts.bsize
  })
  return Math.max(...(await Promise.all(capacities)))
}
