/** Version of the tables below, kept in the file; another one is refused rather than guessed at. */
export const SCHEMA_VERSION = 3

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

const named = (task: string) => `INSERT OR IGNORE INTO swap_names
    SELECT name.value, ${task}.uid FROM json_each(${task}.details, '$.swaps') AS pair,
      json_each(pair.value, '$.indexes') AS name`

const swapTables = `
CREATE TABLE swap_names (name TEXT NOT NULL, uid INTEGER NOT NULL, PRIMARY KEY (name, uid)) STRICT, WITHOUT ROWID;
CREATE INDEX swap_names_uid ON swap_names (uid);
CREATE TRIGGER swap_added AFTER INSERT ON tasks WHEN NEW.type = 'indexSwap' BEGIN
  ${named('NEW')};
END;
CREATE TRIGGER swap_renamed AFTER UPDATE OF details ON tasks WHEN NEW.type = 'indexSwap' BEGIN
  DELETE FROM swap_names WHERE uid = NEW.uid;
  ${named('NEW')};
END;
CREATE TRIGGER swap_removed AFTER DELETE ON tasks WHEN OLD.type = 'indexSwap' BEGIN
  DELETE FROM swap_names WHERE uid = OLD.uid;
END;
`

/** What turns a store of an older version into one of the next. */
export const MIGRATIONS: Readonly<Record<number, string>> = {
  1: `${webhookTables}
    INSERT INTO webhooks SELECT hook.key, hook.value, (SELECT ifnull(max(uid), -1) FROM batches)
      FROM instance, json_each(instance.body) AS hook WHERE instance.name = 'webhooks';
    DELETE FROM instance WHERE name = 'webhooks';`,
  2: `${swapTables}
    INSERT OR IGNORE INTO swap_names SELECT name.value, tasks.uid FROM tasks,
      json_each(tasks.details, '$.swaps') AS pair, json_each(pair.value, '$.indexes') AS name
      WHERE tasks.type = 'indexSwap';`,
}

/**
 * Dates are microseconds since 1970. `tasks` holds what listings need; `contents` what is needed to run
 * a task, and only until it has ended. `new_index_uid` is the second name of a finished rename, under
 * which it is listed as well. `counts` and `totals` are kept by triggers, so that no listing has to count
 * rows; an index name there is '' for tasks without one.
 *
 * `webhooks.delivered` is the last batch a webhook was told of;
 * `body` is null for the one of the command line. `undelivered` holds deleted tasks, see `WebhookTable`.
 * `swap_names` tells which swaps speak of an index.
 *
 * `enqueued_at` never falls with growing `uid`, which turns its bounds into bounds of `uid`.
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
CREATE INDEX tasks_status ON tasks (status);
CREATE INDEX tasks_type ON tasks (type);
CREATE INDEX tasks_index ON tasks (index_uid);
CREATE INDEX tasks_new_index ON tasks (new_index_uid) WHERE new_index_uid IS NOT NULL;
CREATE INDEX tasks_batch ON tasks (batch_uid) WHERE batch_uid IS NOT NULL;
CREATE INDEX tasks_canceled ON tasks (canceled_by) WHERE canceled_by IS NOT NULL;
CREATE INDEX tasks_enqueued ON tasks (enqueued_at);
CREATE INDEX tasks_started ON tasks (started_at) WHERE started_at IS NOT NULL;
CREATE INDEX tasks_finished ON tasks (finished_at) WHERE finished_at IS NOT NULL;
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
  stats TEXT NOT NULL
) STRICT;

CREATE TABLE catalogue (
  uid TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  primary_key TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (uid TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE instance (name TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;

${webhookTables}
CREATE TABLE counts (
  index_uid TEXT NOT NULL,
  new_index_uid TEXT NOT NULL,
  type TEXT NOT NULL,
  status TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (index_uid, new_index_uid, type, status)
) STRICT, WITHOUT ROWID;
CREATE TABLE totals (name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO totals VALUES ('batches', 0);

${swapTables}
CREATE TRIGGER tasks_added AFTER INSERT ON tasks BEGIN
  INSERT INTO counts VALUES (ifnull(NEW.index_uid, ''), ifnull(NEW.new_index_uid, ''), NEW.type, NEW.status, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER tasks_removed AFTER DELETE ON tasks BEGIN
  UPDATE counts SET n = n - 1 WHERE index_uid = ifnull(OLD.index_uid, '')
    AND new_index_uid = ifnull(OLD.new_index_uid, '') AND type = OLD.type AND status = OLD.status;
END;
CREATE TRIGGER tasks_moved AFTER UPDATE OF index_uid, new_index_uid, status ON tasks BEGIN
  UPDATE counts SET n = n - 1 WHERE index_uid = ifnull(OLD.index_uid, '')
    AND new_index_uid = ifnull(OLD.new_index_uid, '') AND type = OLD.type AND status = OLD.status;
  INSERT INTO counts VALUES (ifnull(NEW.index_uid, ''), ifnull(NEW.new_index_uid, ''), NEW.type, NEW.status, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER batches_added AFTER INSERT ON batches BEGIN
  UPDATE totals SET n = n + 1 WHERE name = 'batches';
END;
CREATE TRIGGER batches_removed AFTER DELETE ON batches BEGIN
  UPDATE totals SET n = n - 1 WHERE name = 'batches';
END;
`
