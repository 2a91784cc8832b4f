import { SEAL_COLUMNS } from './sealed-rows.js'

/** Version of the tables below, stored as `user_version`. Versions without a migration are refused. */
export const SCHEMA_VERSION = 7

/** Last version without some of the sets of uids that this program reads. */
export const LAST_WITH_OTHER_SETS = 6
/** First version with a mark next to the store. */
export const FIRST_WITH_MARK = 5
/** Last version without checksums of pages, keys, values and webhooks. */
export const LAST_WITHOUT_SEALS = 5

const webhookTables = `
CREATE TABLE webhooks (uuid TEXT PRIMARY KEY, body TEXT, delivered INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE undelivered (
  uid INTEGER PRIMARY KEY,
  batch_uid INTEGER NOT NULL,
  index_uid TEXT,
  status TEXT NOT NULL,
  type TEXT NOT NULL,
  canceled_by INTEGER,
  enqueued_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  details TEXT,
  error TEXT,
  custom_metadata TEXT
) STRICT;
CREATE INDEX undelivered_batch ON undelivered (batch_uid);
`

const addSwapNames = `INSERT OR IGNORE INTO swap_names
    SELECT name.value, NEW.uid FROM json_each(NEW.details, '$.swaps') AS pair,
      json_each(pair.value, '$.indexes') AS name`

const swapTables = `
CREATE TABLE swap_names (name TEXT NOT NULL, uid INTEGER NOT NULL, PRIMARY KEY (name, uid)) STRICT, WITHOUT ROWID;
CREATE INDEX swap_names_uid ON swap_names (uid);
`

/** Created again by each migration, so that only triggers of this version exist. */
export const TRIGGERS = `
CREATE TRIGGER swap_added AFTER INSERT ON tasks WHEN NEW.type = 'indexSwap' BEGIN
  ${addSwapNames};
END;
CREATE TRIGGER swap_renamed AFTER UPDATE OF details ON tasks WHEN NEW.type = 'indexSwap' BEGIN
  DELETE FROM swap_names WHERE uid = NEW.uid;
  ${addSwapNames};
END;
CREATE TRIGGER swap_removed AFTER DELETE ON tasks WHEN OLD.type = 'indexSwap' BEGIN
  DELETE FROM swap_names WHERE uid = OLD.uid;
END;
`

const setTables = `
CREATE TABLE sets (
  kind TEXT NOT NULL,
  value ANY NOT NULL,
  chunk INTEGER NOT NULL,
  n INTEGER NOT NULL,
  members BLOB NOT NULL,
  UNIQUE (kind, value, chunk)
) STRICT;
CREATE INDEX tasks_waiting_order ON tasks (uid) WHERE status = 'enqueued';
`

const disposableTable = `
CREATE TABLE disposable (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
`

const failedCommitTable = `
CREATE TABLE failed_commits (
  index_id TEXT NOT NULL,
  batch_uid INTEGER NOT NULL,
  PRIMARY KEY (index_id, batch_uid)
) STRICT, WITHOUT ROWID;
`

const endingColumns = `
ALTER TABLE batches ADD COLUMN ended INTEGER;
ALTER TABLE batches ADD COLUMN end_era INTEGER;
ALTER TABLE undelivered ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;
CREATE INDEX batches_running ON batches (uid) WHERE finished_at IS NULL;
CREATE INDEX batches_ended ON batches (ended) WHERE ended IS NOT NULL;
CREATE INDEX undelivered_ended ON undelivered (ended);
`

/**
 * Version of a store → SQL that migrates it to the next version, without triggers. `rebuildSets` and `sealRows` do
 * what SQL cannot.
 */
export const MIGRATIONS: Readonly<Record<number, string>> = {
  1: `${webhookTables}
    INSERT INTO webhooks SELECT hook.key, hook.value, (SELECT ifnull(max(uid), -1) FROM batches)
      FROM instance, json_each(instance.body) AS hook WHERE instance.name = 'webhooks';
    DELETE FROM instance WHERE name = 'webhooks';`,
  2: `${swapTables}
    INSERT OR IGNORE INTO swap_names SELECT name.value, tasks.uid FROM tasks,
      json_each(tasks.details, '$.swaps') AS pair, json_each(pair.value, '$.indexes') AS name
      WHERE tasks.type = 'indexSwap';`,
  3: `DROP TABLE counts; DROP TABLE totals;
    DROP INDEX tasks_status; DROP INDEX tasks_type; DROP INDEX tasks_index; DROP INDEX tasks_new_index;
    DROP INDEX tasks_enqueued; DROP INDEX tasks_started; DROP INDEX tasks_finished;
    ALTER TABLE batches ADD COLUMN oldest_uid INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE batches ADD COLUMN newest_uid INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE batches ADD COLUMN era INTEGER;
    UPDATE batches SET
      oldest_uid = (SELECT ifnull(min(uid), 0) FROM tasks WHERE batch_uid = batches.uid),
      newest_uid = (SELECT ifnull(max(uid), 0) FROM tasks WHERE batch_uid = batches.uid);
    UPDATE batches SET
      oldest_enqueued_at = ifnull((SELECT enqueued_at FROM tasks WHERE uid = oldest_uid), oldest_enqueued_at),
      newest_enqueued_at = ifnull((SELECT enqueued_at FROM tasks WHERE uid = newest_uid), newest_enqueued_at);
    ${setTables}`,
  4: `${disposableTable}${failedCommitTable} ALTER TABLE catalogue ADD COLUMN last_batch INTEGER;`,
  5: SEAL_COLUMNS,
  // Batches ran one after another, so they ended in the order of their uids.
  6: `${endingColumns}
    UPDATE batches SET ended = uid WHERE finished_at IS NOT NULL;
    UPDATE undelivered SET ended = batch_uid;`,
}

/**
 * Dates are microseconds since 1970. `tasks` holds the columns of listings. `contents` holds the data to run a task
 * until it has ended and, with kind `foreign`, data of imported tasks that only another service reads.
 * `new_index_uid` is the second name of a finished rename, which lists it as well. `sets` holds the uids of tasks and
 * batches by the properties that listings filter by; see `UidSets`.
 *
 * `batches.ended` numbers finished batches in the order of their ends, not of their uids.
 *
 * `webhooks.delivered` is the `ended` of the last batch that the webhook received. `body` is null for the webhook of
 * the command line. `undelivered` holds deleted tasks, see `WebhookTable`. `swap_names` holds the swaps by the names of
 * their indexes. `disposable` names index directories that a start may remove unless the catalogue names them: a
 * directory is added before it is created, and again by the batch that drops it. `failed_commits` names failed commits
 * that a failing disk may have stored; see `Engine.undo`.
 *
 * `catalogue.last_batch` is the batch of the newest recorded commit of an index; null in rows of earlier versions.
 *
 * A store that keeps changes for a bucket also has the table `outbox`, see `Outbox`.
 *
 * `checksum` of `keys`, `instance` and `webhooks` protects the row, see `sealed-rows.ts`. `application_id` in the
 * header counts durable transactions, see `mark.ts`.
 *
 * `enqueued_at` and `batches.started_at` never decrease as `uid` increases, nor `batches.finished_at` as `ended`
 * increases, so date bounds become bounds of `uid` and `ended`. `Membership` explains `era` and `end_era`. `oldest_uid`
 * and `newest_uid` of a batch are the tasks that its arrival dates come from, even if these tasks have been deleted.
 */
export const SCHEMA = `
CREATE TABLE tasks (
  uid INTEGER PRIMARY KEY,
  batch_uid INTEGER,
  index_uid TEXT,
  new_index_uid TEXT,
  status TEXT NOT NULL,
  type TEXT NOT NULL,
  canceled_by INTEGER,
  enqueued_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  details TEXT,
  error TEXT,
  custom_metadata TEXT
) STRICT;
CREATE INDEX tasks_batch ON tasks (batch_uid) WHERE batch_uid IS NOT NULL;
CREATE INDEX tasks_canceled ON tasks (canceled_by) WHERE canceled_by IS NOT NULL;
CREATE INDEX tasks_waiting ON tasks (index_uid, uid) WHERE status = 'enqueued';
CREATE INDEX tasks_waiting_type ON tasks (type, uid) WHERE status = 'enqueued';

CREATE TABLE contents (
  uid INTEGER PRIMARY KEY REFERENCES tasks (uid),
  body TEXT NOT NULL,
  kind TEXT NOT NULL,
  payload TEXT,
  payload_bytes INTEGER NOT NULL,
  primary_key TEXT,
  may_create INTEGER NOT NULL,
  touches TEXT
) STRICT;
CREATE INDEX contents_touches ON contents (uid) WHERE touches IS NOT NULL;

CREATE TABLE batches (
  uid INTEGER PRIMARY KEY,
  started_at INTEGER NOT NULL,
  finished_at INTEGER,
  oldest_enqueued_at INTEGER NOT NULL,
  newest_enqueued_at INTEGER NOT NULL,
  strategy TEXT NOT NULL,
  details TEXT NOT NULL,
  stats TEXT NOT NULL,
  oldest_uid INTEGER NOT NULL,
  newest_uid INTEGER NOT NULL,
  era INTEGER
) STRICT;

CREATE TABLE catalogue (
  uid TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  primary_key TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  last_batch INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (uid TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE instance (name TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;

${webhookTables}
${setTables}
${swapTables}
${TRIGGERS}
${disposableTable}
${failedCommitTable}
${SEAL_COLUMNS}
${endingColumns}`
