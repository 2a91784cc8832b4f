// Made by `napi build` of what the crate exports to JavaScript; CONTRIBUTING says how it is renewed.

/** A loaded model. */
export declare class Model {
  /** Components of each vector. */
  get dimensions(): number
  /** The vectors of `texts`, a JSON array of strings: 32-bit floats in the machine's order, text after text. */
  embed(texts: Uint8Array, isSearch: boolean, stop: StopFlag): Promise<Buffer>
}

/** The threads that all models share. */
export declare class Runtime {
  /** Starts `threads` threads for documents and one for searches. */
  constructor(threads: number)
  /** Reads the model in `folder`. `pooling`: `useModel`, `forceCls` or `forceMean`. */
  load(folder: string, pooling: string): Promise<Model>
}

/** What a call under way is stopped by. */
export declare class StopFlag {
  /** A flag that is not set. */
  constructor()
  /** Has the call end at its next look. */
  set(): void
}
