/** An archive cannot be started from; the message is for whoever gave it. */
export class DumpError extends Error {
  override readonly name = 'DumpError'
}
