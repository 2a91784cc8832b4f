/** A model cannot be loaded or run. The message is for the user who named it. */
export class ModelError extends Error {
  override readonly name: string = 'ModelError'
}

/** A model did not answer in time. */
export class LateModelError extends ModelError {
  override readonly name = 'LateModelError'

  constructor(
    model: string,
    /** False: the model was still being loaded. */
    readonly isLoaded: boolean,
  ) {
    super(`the model \`${model}\` ${isLoaded ? 'did not answer' : 'was not loaded'} in time`)
  }
}

/** A model as named in the settings of an embedder or of a reranker. */
export interface ModelName {
  /** A repository of the hub, such as `BAAI/bge-base-en-v1.5`, or the absolute path of a folder. */
  readonly model: string
  /** A commit, branch or tag of the repository; null: its main branch. */
  readonly revision: string | null
}
