/** Workspaces of an instance. */
export const WORKSPACES_MAX = 1_000
/** Bytes of a prompt. */
export const PROMPT_BYTES_MAX = 65_536
/** Bytes of any other text of a workspace. */
export const FIELD_BYTES_MAX = 4_096

/** Requests to the provider for one answer. */
export const ROUNDS_MAX = 20
/** Searches that the model can ask for in one of them. */
export const CALLS_PER_ROUND_MAX = 16
/** Characters of the arguments of a search. */
export const CALL_CHARS_MAX = 65_536

/** Hits of a search if the settings of the index set no limit, and at most. */
export const HITS_DEFAULT = 20
export const HITS_MAX = 100
/** Bytes of an answer of the engine. A longer answer is asked for again with fewer hits. */
export const HITS_BYTES_MAX = 4_000_000
/** Characters that the model reads of one search, and of all searches for one answer. */
export const RESULT_CHARS_MAX = 65_536
export const RESULTS_CHARS_MAX = 1_000_000
/** Characters of the documents that the client gets of one search. */
export const SOURCES_CHARS_MAX = 500_000

/** Indexes that the model can search. */
export const INDEXES_MAX = 100
/** Indexes whose filterable attributes and values the model reads. */
export const DESCRIBED_INDEXES_MAX = 20
/** Characters of the description of one index, and of all. */
export const INDEX_CHARS_MAX = 4_000
export const INDEXES_CHARS_MAX = 32_000

/** Characters of one event of a provider, and of the text of one of its answers. */
export const EVENT_CHARS_MAX = 1_000_000
export const ANSWER_CHARS_MAX = 1_000_000
/** Bytes that are read of an error, or of an answer that is not streamed. */
export const WHOLE_ANSWER_BYTES_MAX = 1_000_000
/** Characters of the message of an error that are passed on. */
export const MESSAGE_CHARS_MAX = 2_000
/** Characters that are quoted of an error without a message. */
export const QUOTED_CHARS_MAX = 200

/** Times in milliseconds. */
export interface ChatTimes {
  /** For the provider to connect and to begin an answer. */
  readonly beginMs: number
  /** Between two chunks of an answer of the provider. */
  readonly idleMs: number
  /** For the complete answer to the client. */
  readonly totalMs: number
  /** Between two events to the client. A comment fills longer pauses. */
  readonly heartbeatMs: number
}

export const chatTimes: ChatTimes = {
  beginMs: 30_000,
  idleMs: 60_000,
  totalMs: 600_000,
  heartbeatMs: 15_000,
}
