/** The log of the store could not be copied into its file. Both are unchanged. */
export class CheckpointError extends Error {
  override readonly name = 'CheckpointError'
}
