/** A dump or snapshot that cannot be imported. The message is shown to the user. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError'
}
