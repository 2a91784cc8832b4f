/**
 * Version of the format of the log: of log records, fences and checkpoints, of the rows in them, and of the index files
 * that they reference. A server writes only this one, and reads this and the one before. Increment it whenever servers of
 * the version before cannot use one of these, and add a fixture to `__test__/compat/`.
 */
export const LOG_FORMAT = 1

/** A newer version of the program has written a part of the log. It is intact: a server of that version can read it. */
export class NewerFormatError extends Error {
  override readonly name = 'NewerFormatError'

  /** @param part of the log @param reason why this build cannot read it */
  constructor(part: string, reason: string) {
    super(`${part} was written by a newer version (${reason}): upgrade this server`)
  }
}
