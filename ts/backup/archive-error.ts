/** A dump that cannot be imported. The message is shown to the user who passed it. */
export class DumpError extends Error {
  override readonly name = 'DumpError'
}
