// Made by `napi build` of what the crate exports to JavaScript; CONTRIBUTING says how it is renewed.

/** What a script under way is stopped by. */
export declare class StopFlag {
  /** A flag that is not set. */
  constructor()
  /** Has the script end at its next look. */
  set(): void
}

/** `page`: `Page` of the crate `script` as UTF-8 JSON. */
export declare function editPage(page: Uint8Array, stop: StopFlag): Promise<Reply>

/** What became of a page, or why nothing did. */
export interface Reply {
  /** Documents that changed, as NDJSON. */
  changed?: Buffer
  /** Ids of documents to delete. */
  deleted: Array<string>
  /** Documents the script was run over, from the first of the page. */
  documents: number
  /** Of the API's error table, `internal` included. */
  code?: string
  /** Shown as is, unless the code is `internal`. */
  message?: string
}
