/** Here is `metadata.json`: by which version was the dump written, and can this version read it? */
import { ArchiveError } from './archive-error.js'
import { type Fields, fieldsOf, textOf, unexpected } from './fields.js'

/** The layout of archives that this version writes and reads. */
export const DUMP_VERSION = 6

/** What wrote a dump. */
export interface DumpOrigin {
  /** The layout, such as `V6`. */
  readonly dumpVersion: string
  /** `major.minor.patch` of the service. */
  readonly dbVersion: string
}

/**
 * What wrote the dump, if this version can read it. The layout decides. Beyond that, the version of another service
 * tells nothing, since it counts otherwise, and only a newer version of this service is refused.
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

/** The beginning of a version; null if the text is none. Source: semver.org. */
function partsOf(version: string): Parts | null {
  const parts = /^(\d{1,9})\.(\d{1,9})\.\d{1,9}(?:[-+][0-9A-Za-z.+-]{1,100})?$/.exec(version)
  return parts === null ? null : [Number(parts[1]), Number(parts[2])]
}

/** Versions below 1 are of this service: the layout V6 came with version 1 of the reference. */
const isOurs = ([major]: Parts): boolean => major === 0

/** Whether a minor version lies between. Patches of one minor version read each other's dumps. */
function isNewer(writer: Parts, own: Parts | null): boolean {
  if (own === null || own[0] !== writer[0]) return false
  return writer[1] > own[1]
}
