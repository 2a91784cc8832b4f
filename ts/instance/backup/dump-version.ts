/** Checks in `metadata.json` that this version can read a dump. */
import { ArchiveError } from './archive-error.js'
import { type Fields, fieldsOf, textOf, unexpected } from './fields.js'

/** The archive layout that this version writes and reads. */
export const DUMP_VERSION = 6

/** The writer of a dump. */
export interface DumpOrigin {
  /** The layout, such as `V6`. */
  readonly dumpVersion: string
  /** `major.minor.patch` of the service. */
  readonly dbVersion: string
}

/**
 * Returns the writer of the dump, if this version can read it. The layout decides. In addition, a newer version of this
 * service is refused. The versions of other services are not comparable.
 * @param version of this build
 * @throws ArchiveError
 */
export function readableOrigin(metadata: unknown, version: string): DumpOrigin {
  const fields = fieldsOf(metadata, 'metadata.json')
  const dumpVersion = layoutOf(fields)
  const at = 'metadata.json: dbVersion'
  const dbVersion = textOf(fields.dbVersion, at)
  const writer = partsOf(dbVersion)
  if (writer === null) throw unexpected(dbVersion, at, 'a version such as `"1.53.0"`')
  if (isOurs(writer) && isNewer(writer, partsOf(version)))
    throw new ArchiveError(
      `it was made by the version ${dbVersion} of this service, which is newer than this one, ${version}: start that version or a newer one`,
    )
  return { dumpVersion, dbVersion }
}

function layoutOf({ dumpVersion }: Fields): string {
  const at = 'metadata.json: dumpVersion'
  const found = textOf(dumpVersion, at)
  const number = /^V(\d{1,9})$/.exec(found)?.[1]
  if (number === undefined) throw unexpected(found, at, `a layout such as \`"V${DUMP_VERSION}"\``)
  if (Number(number) > DUMP_VERSION)
    throw new ArchiveError(
      `it has the layout ${found}, and this version reads V${DUMP_VERSION}: import it with a newer version`,
    )
  if (Number(number) < DUMP_VERSION)
    throw new ArchiveError(
      `it has the layout ${found}, and this version reads V${DUMP_VERSION}: import it with a service that reads ${found} and writes V${DUMP_VERSION}, and dump it there again`,
    )
  return found
}

type Parts = readonly [major: number, minor: number]

/** Parses the beginning of a version; null if it is not a version. Source: semver.org. */
function partsOf(version: string): Parts | null {
  const parts = /^(\d{1,9})\.(\d{1,9})\.\d{1,9}(?:[-+][0-9A-Za-z.+-]{1,100})?$/.exec(version)
  return parts === null ? null : [Number(parts[1]), Number(parts[2])]
}

/** Versions below 1 belong to this service: the reference introduced the layout V6 with its version 1. */
const isOurs = ([major]: Parts): boolean => major === 0

/** Returns true if the minor version is newer. Patches of one minor version read each other's dumps. */
function isNewer(writer: Parts, own: Parts | null): boolean {
  if (own === null || own[0] !== writer[0]) return false
  return writer[1] > own[1]
}
