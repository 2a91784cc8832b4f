/** Why a model cannot be had or run here. The message is for the user who named it. */
export class ModelError extends Error {
  override readonly name = 'ModelError'
}

/** A model as settings of an embedder name it. */
export interface ModelName {
  /** A repository of the hub, such as `BAAI/bge-base-en-v1.5`, or the absolute path of a folder. */
  readonly model: string
  /** A commit, branch or tag of the repository; null: its main branch. */
  readonly revision: string | null
}
