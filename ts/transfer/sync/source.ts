/** The seam between the sync and a database. Packages such as `@siftd/sync-postgres` implement `Source`. */

/**
 * Position in the changes of a database: after everything that was committed before it. The text is opaque; a source
 * compares positions.
 */
export type Position = string

/** Values of the key columns of a row, as text, in the order of the mapping's key. */
export type Key = readonly string[]

/** Part of a document: a column by name, or an object that a source understands, such as `{ sql: "lower(name)" }`. */
export type FieldSource = string | Readonly<Record<string, unknown>>

/** A table whose changes touch documents of another table. */
export interface RelatedTable {
  readonly table: string
  /** Columns that hold the key of the documents; with `query`, columns that the query gets. */
  readonly key: readonly string[]
  /** Returns keys of documents; gets the values of `key`. null: the columns are the key. */
  readonly query: string | null
}

/** Describes how rows become documents of one index. */
export interface Mapping {
  readonly uid: string
  readonly table: string
  /** null: the primary key of the table. */
  readonly key: readonly string[] | null
  /** Field with the document id. null: the field of the key column, or `_key` for a key of several columns. */
  readonly primaryKey: string | null
  /** Condition on rows; null: all rows. */
  readonly where: string | null
  /** Field name → source. null: every column. */
  readonly fields: Readonly<Record<string, FieldSource>> | null
  /** Query that returns documents by key, for documents of several tables; null: `fields` of one row. */
  readonly query: string | null
  readonly related: readonly RelatedTable[]
}

/** A document as the database returns it. */
export interface SourceDocument {
  readonly key: Key
  /** A JSON object without the field of the document id. */
  readonly json: string
}

/** Consecutive rows of a table, by key. */
export interface SourcePage {
  readonly documents: readonly SourceDocument[]
  /** Key of the last row of the page. null: there are no more rows. */
  readonly last: Key | null
}

/** Facts about a mapping that the database decides. */
export interface MappingFacts {
  /** Field with the document id. */
  readonly primaryKey: string
  readonly keyColumns: number
  /** Rows of the table, as the database estimates; 0: unknown. */
  readonly estimatedRows: number
  /** True if the key is one integer, so that document ids are numbers. */
  readonly hasNumberId: boolean
  /** Text that differs if documents of the same rows differ: fields, their types, the query. */
  readonly fingerprint: string
}

/** Changes of the documents of one index. */
export interface IndexChanges {
  /** True if all rows were removed before `keys` changed. */
  readonly isTruncated: boolean
  /** Why all documents must be copied again, such as a changed column; null: they need not. */
  readonly recopy: string | null
  /** Keys of rows that were inserted, updated or deleted. */
  readonly keys: readonly Key[]
}

/** Changes of several committed transactions, or of a part of a large one. */
export interface ChangeBatch {
  /** By index. */
  readonly changes: ReadonlyMap<string, IndexChanges>
  /** Position after these changes; null within a transaction. */
  readonly position: Position | null
  /** Row changes in the batch, before changes of the same row were merged. */
  readonly rows: number
  /** Commit time of the first transaction, in milliseconds since 1970; null without changes. */
  readonly committedMs: number | null
}

/** Something that a database lacks for the sync. */
export interface Finding {
  /** True if the sync cannot work. */
  readonly isFatal: boolean
  readonly problem: string
  /** The statement or the setting that solves it. */
  readonly remedy: string
}

/** State of the slot of a sync: the database keeps all changes after it. */
export interface SlotState {
  /** Position up to which changes were confirmed. */
  readonly confirmed: Position
  /** True if the slot was created by this call, so that changes before it are unknown. */
  readonly isNew: boolean
}

/** Figures of the slot. */
export interface SlotFacts {
  /** Bytes of log that the database keeps because of the slot. */
  readonly retainedBytes: number
  /** Bytes between the last confirmed and the newest change. */
  readonly lagBytes: number
  /** Newest position of the database. */
  readonly newest: Position
  /** True if a sync reads it. */
  readonly isActive: boolean
  /** False if the database has removed changes that the slot needs. */
  readonly isUsable: boolean
}

/** Result of preparing a mapping: facts, or why its documents cannot be read. */
export type Prepared =
  | { readonly ok: true; readonly facts: MappingFacts }
  | { readonly ok: false; readonly reason: string }

/**
 * A database. Changes tell which documents changed, not their content: `read` returns documents as they are now. So
 * changes can be repeated in any order, and documents that were read earlier never replace later ones.
 *
 * Methods throw a SourceError if the database refuses or cannot be reached.
 */
export interface Source {
  /** Identifies the database, so that a progress of another one is not used. */
  identity(): Promise<string>
  /** Lists what is missing for a sync. */
  check(): Promise<readonly Finding[]>
  /** Reads the tables of a mapping. Must be called before its documents are read, and again after its tables changed. */
  prepare(uid: string): Promise<Prepared>
  /** Creates the slot if it is missing, and subscribes it to the tables of all mappings. */
  openSlot(): Promise<SlotState>
  /** Resolves when each change that `changes` may omit is visible to `page`. To be called after `openSlot`. */
  settled(signal: AbortSignal): Promise<void>
  /** Returns the next rows of a table and their documents. @param after key of the row before the page; null: the first page */
  page(uid: string, after: Key | null, rows: number): Promise<SourcePage>
  /** Returns the current documents of these keys. A missing document does not exist or is excluded. */
  read(uid: string, keys: readonly Key[]): Promise<readonly SourceDocument[]>
  /**
   * Returns batches of changes in commit order. Changes that arrive while a batch is in use are collected in the next.
   * Ends when the signal aborts. Throws if the connection breaks.
   */
  changes(after: Position, signal: AbortSignal): AsyncIterable<ChangeBatch>
  /** Tells the database that changes before `position` are not needed any more. */
  confirm(position: Position): Promise<void>
  slotFacts(): Promise<SlotFacts | null>
  /**
   * Removes the slot and everything else that `openSlot` created. @param isForced true to end the connection of a sync that
   * reads the slot; otherwise that is an error
   */
  dropSlot(options: { readonly isForced: boolean }): Promise<void>
  /** Below 0 if `a` is before `b`, 0 if they are the same. */
  compare(a: Position, b: Position): number
  close(): Promise<void>
}

/** A database refuses or cannot be reached. The message is one line and contains no password. */
export interface SourceError extends Error {
  readonly name: 'SourceError'
  /** True if the same call may succeed later. */
  readonly isTransient: boolean
}

export const isSourceError = (error: unknown): error is SourceError =>
  error instanceof Error && error.name === 'SourceError'

/** What a package for a database exports. */
export interface SourcePackage {
  /** @param settings section `source` of the configuration @throws SourceError for a mistake in it */
  openSource(settings: SourceSettings, mappings: readonly Mapping[], log: (line: string) => void): Source
  /** Returns a configuration file for a database, as text. @param url of the database */
  propose(settings: SourceSettings): Promise<string>
}

/** Section `source` of a configuration, which the package checks. */
export type SourceSettings = Readonly<Record<string, unknown>>
