/**
 * Reads, checks and writes the file `VERSION` of a data directory.
 *
 *     VERSION = major "." minor "." patch "\n" "crc32 " digits "\n"
 *
 * The digits are the CRC-32 of the version's text, 8 hexadecimal digits. Earlier builds wrote the first line only.
 */
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { LaunchError } from '../launch/index.js'
import { replaceFile, textOf } from './files.js'

/** The version that wrote a data directory, as its file `VERSION` names it. */
export interface WrittenVersion {
  /** The first line of the file; empty if the file is missing or empty. */
  readonly version: string
  /** `unknown`: the file has no checksum, because an earlier build or a person wrote it. */
  readonly checksum: 'right' | 'wrong' | 'unknown'
}

/** The version expected of a data directory. */
export interface VersionRequest {
  /** `major.minor.patch` of this build. */
  readonly version: string
  /** True if data of an older version may be opened, which makes it data of this version. */
  readonly upgrade: boolean
}

const fileOf = (directory: string): string => join(directory, 'VERSION')
const checksumLine = (version: string): string => `crc32 ${crc32(version).toString(16).padStart(8, '0')}`

/** Reads the file `VERSION` of `directory`. @throws LaunchError if it exists but cannot be read */
export async function readVersion(directory: string): Promise<WrittenVersion> {
  const [version = '', line] = ((await textOf(fileOf(directory))) ?? '').trim().split('\n')
  if (line === undefined) return { version, checksum: 'unknown' }
  return { version, checksum: line === checksumLine(version) ? 'right' : 'wrong' }
}

/** Writes the file `VERSION` of `directory` unless it already has this content. */
export const writeVersion = (directory: string, version: string): Promise<void> =>
  replaceFile(fileOf(directory), `${version}\n${checksumLine(version)}\n`)

/**
 * Checks that this build may open data that `written` describes.
 * @param subject the data, for the message
 * @returns true if an older version wrote the data
 * @throws LaunchError if this build must not open the data
 */
export function requireVersion(
  written: WrittenVersion,
  { version, upgrade }: VersionRequest,
  subject: string,
): boolean {
  const found = written.version
  if (written.checksum === 'wrong')
    throw new LaunchError(
      `${subject} has a damaged VERSION file (\`${found}\` does not match its checksum); run siftd repair, which writes it again`,
      1,
      { code: 'directory_damaged' },
    )
  const order = compareVersions(found, version)
  if (order === null) {
    const why =
      found === '' ? 'has no VERSION file, or an empty one' : `has the unreadable version \`${found}\``
    throw new LaunchError(
      `${subject} ${why}; it is not a data directory of siftd, choose another --db-path`,
      1,
      { code: 'directory_version' },
    )
  }
  if (order === 0 || (order < 0 && upgrade)) return order < 0
  const remedy =
    order > 0
      ? `start siftd ${found}, or start from a dump taken with it`
      : 'start with --upgrade-db, which takes a snapshot first, or start from a dump'
  throw new LaunchError(`${subject} was written by version ${found} and this is ${version}; ${remedy}`, 1, {
    code: 'directory_version',
  })
}

/** Below 0 if `left` is older, above 0 if it is newer; null if `left` is not three numbers. */
function compareVersions(left: string, right: string): number | null {
  if (!/^\d+\.\d+\.\d+$/.test(left)) return null
  const [older, newer] = [left, right].map((version) => version.split('.').map(Number))
  const at = older!.findIndex((part, position) => part !== newer![position])
  return at === -1 ? 0 : older![at]! - newer![at]!
}
