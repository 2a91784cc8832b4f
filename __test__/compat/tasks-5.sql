-- A task store of version 5, as that version wrote it: boats and lakes traded places, a deletion of documents waits.
PRAGMA foreign_keys = OFF;
BEGIN;
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
CREATE TABLE disposable (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE failed_commits (
  index_id TEXT NOT NULL,
  batch_uid INTEGER NOT NULL,
  PRIMARY KEY (index_id, batch_uid)
) STRICT, WITHOUT ROWID;
CREATE TABLE instance (name TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE keys (uid TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE sets (
  kind TEXT NOT NULL,
  value ANY NOT NULL,
  chunk INTEGER NOT NULL,
  n INTEGER NOT NULL,
  members BLOB NOT NULL,
  UNIQUE (kind, value, chunk)
) STRICT;
CREATE TABLE swap_names (name TEXT NOT NULL, uid INTEGER NOT NULL, PRIMARY KEY (name, uid)) STRICT, WITHOUT ROWID;
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
CREATE TABLE webhooks (uuid TEXT PRIMARY KEY, body TEXT, delivered INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy, details, stats, oldest_uid, newest_uid, era) VALUES (0, 1795503104078376, 1795503104451470, 1795503103643155, 1795503103643155, 'task 0 of type `indexCreation` never shares a batch', '{}', '{"totalNbTasks":1,"status":{"succeeded":1},"types":{"indexCreation":1},"indexUids":{"boats":1},"progressTrace":{"processing tasks > preparing":"119.98ms","processing tasks > committing":"145.07ms","processing tasks":"373.09ms"},"internalDatabaseSizes":{"index":"1.5 KiB (+1.5 KiB)"}}', 0, 0, 0);
INSERT INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy, details, stats, oldest_uid, newest_uid, era) VALUES (1, 1795503104717670, 1795503104759029, 1795503103798585, 1795503103798585, 'task 1 of type `indexCreation` never shares a batch', '{}', '{"totalNbTasks":1,"status":{"succeeded":1},"types":{"indexCreation":1},"indexUids":{"lakes":1},"progressTrace":{"processing tasks > preparing":"1.01ms","processing tasks > committing":"19.65ms","processing tasks":"41.36ms"},"internalDatabaseSizes":{"index":"1.5 KiB (+1.5 KiB)"}}', 1, 1, 0);
INSERT INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy, details, stats, oldest_uid, newest_uid, era) VALUES (2, 1795503104843358, 1795503104844192, 1795503103888745, 1795503103888745, 'task 2 of type `indexSwap` never shares a batch', '{"swaps":[{"indexes":["boats","lakes"],"rename":false}]}', '{"totalNbTasks":1,"status":{"succeeded":1},"types":{"indexSwap":1},"indexUids":{},"progressTrace":{"processing tasks":"0.83ms"}}', 2, 2, 0);
INSERT INTO catalogue (uid, id, primary_key, created_at, updated_at, last_batch) VALUES ('boats', 'a2410c6b-2dc2-428d-807a-591b16d73561', NULL, 1795503104759029, 1795503104759029, 1);
INSERT INTO catalogue (uid, id, primary_key, created_at, updated_at, last_batch) VALUES ('lakes', '633a4dcb-5f90-495b-8fe2-bcb4a7533c88', NULL, 1795503104451470, 1795503104451470, 0);
INSERT INTO contents (uid, body, kind, payload, payload_bytes, primary_key, may_create, touches) VALUES (3, '{"kind":"clear"}', 'clear', NULL, 0, NULL, 0, NULL);
INSERT INTO instance (name, body) VALUES ('experimentalFeatures', '{"containsFilter":true}');
INSERT INTO instance (name, body) VALUES ('taskStoreIdentity', '"4b3005e3-dfff-41b2-8f1c-fc0f62aacb5e"');
INSERT INTO keys (uid, body) VALUES ('6a1b7a60-6a3c-4c5e-9d5f-6c1e0a2b3c4d', '{"uid":"6a1b7a60-6a3c-4c5e-9d5f-6c1e0a2b3c4d","name":"search of boats","description":null,"actions":["search"],"indexes":["boats"],"expiresAt":null,"createdAt":"2026-11-24T06:00:00Z","updatedAt":"2026-11-24T06:00:00Z"}');
INSERT INTO sets (kind, value, chunk, n, members) VALUES ('type', 'indexCreation', 0, 2, x'00000100');
INSERT INTO sets (kind, value, chunk, n, members) VALUES ('index', 'boats', 0, 2, x'01000300');
INSERT INTO sets (kind, value, chunk, n, members) VALUES ('index', 'lakes', 0, 1, x'0000');
INSERT INTO sets (kind, value, chunk, n, members) VALUES ('type', 'indexSwap', 0, 1, x'0200');
INSERT INTO sets (kind, value, chunk, n, members) VALUES ('batch', '', 0, 3, x'000001000200');
INSERT INTO sets (kind, value, chunk, n, members) VALUES ('oldest', 0, 0, 3, x'000001000200');
INSERT INTO sets (kind, value, chunk, n, members) VALUES ('newest', 0, 0, 3, x'000001000200');
INSERT INTO sets (kind, value, chunk, n, members) VALUES ('batchType', 'indexCreation', 0, 2, x'00000100');
INSERT INTO sets (kind, value, chunk, n, members) VALUES ('batchIndex', 'boats', 0, 1, x'0100');
INSERT INTO sets (kind, value, chunk, n, members) VALUES ('era', 0, 0, 3, x'000001000200');
INSERT INTO sets (kind, value, chunk, n, members) VALUES ('batchStatus', 'succeeded', 0, 3, x'000001000200');
INSERT INTO sets (kind, value, chunk, n, members) VALUES ('status', 'succeeded', 0, 3, x'000001000200');
INSERT INTO sets (kind, value, chunk, n, members) VALUES ('batchIndex', 'lakes', 0, 1, x'0000');
INSERT INTO sets (kind, value, chunk, n, members) VALUES ('batchType', 'indexSwap', 0, 1, x'0200');
INSERT INTO sets (kind, value, chunk, n, members) VALUES ('status', 'enqueued', 0, 1, x'0300');
INSERT INTO sets (kind, value, chunk, n, members) VALUES ('type', 'documentDeletion', 0, 1, x'0300');
INSERT INTO swap_names (name, uid) VALUES ('boats', 2);
INSERT INTO swap_names (name, uid) VALUES ('lakes', 2);
INSERT INTO tasks (uid, batch_uid, index_uid, new_index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error, custom_metadata) VALUES (0, 0, 'lakes', NULL, 'succeeded', 'indexCreation', NULL, 1795503103643155, 1795503104078376, 1795503104451470, '{"primaryKey":null}', NULL, NULL);
INSERT INTO tasks (uid, batch_uid, index_uid, new_index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error, custom_metadata) VALUES (1, 1, 'boats', NULL, 'succeeded', 'indexCreation', NULL, 1795503103798585, 1795503104717670, 1795503104759029, '{"primaryKey":null}', NULL, NULL);
INSERT INTO tasks (uid, batch_uid, index_uid, new_index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error, custom_metadata) VALUES (2, 2, NULL, NULL, 'succeeded', 'indexSwap', NULL, 1795503103888745, 1795503104843358, 1795503104844192, '{"swaps":[{"indexes":["boats","lakes"],"rename":false}]}', NULL, NULL);
INSERT INTO tasks (uid, batch_uid, index_uid, new_index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error, custom_metadata) VALUES (3, NULL, 'boats', NULL, 'enqueued', 'documentDeletion', NULL, 1795503108503765, NULL, NULL, '{"deletedDocuments":null}', NULL, NULL);
INSERT INTO webhooks (uuid, body, delivered) VALUES ('00000000-0000-0000-0000-000000000000', NULL, -1);
INSERT INTO webhooks (uuid, body, delivered) VALUES ('0d4f3d5a-7a1e-4c0e-8b4e-4f5f2c1f9a10', '{"url":"https://hooks.invalid/siftd","headers":{"x-trial":"yes"}}', -1);
CREATE INDEX contents_touches ON contents (uid) WHERE touches IS NOT NULL;
CREATE INDEX swap_names_uid ON swap_names (uid);
CREATE INDEX tasks_batch ON tasks (batch_uid) WHERE batch_uid IS NOT NULL;
CREATE INDEX tasks_canceled ON tasks (canceled_by) WHERE canceled_by IS NOT NULL;
CREATE INDEX tasks_waiting ON tasks (index_uid, uid) WHERE status = 'enqueued';
CREATE INDEX tasks_waiting_order ON tasks (uid) WHERE status = 'enqueued';
CREATE INDEX tasks_waiting_type ON tasks (type, uid) WHERE status = 'enqueued';
CREATE INDEX undelivered_batch ON undelivered (batch_uid);
CREATE TRIGGER swap_added AFTER INSERT ON tasks WHEN NEW.type = 'indexSwap' BEGIN
  INSERT OR IGNORE INTO swap_names
    SELECT name.value, NEW.uid FROM json_each(NEW.details, '$.swaps') AS pair,
      json_each(pair.value, '$.indexes') AS name;
END;
CREATE TRIGGER swap_removed AFTER DELETE ON tasks WHEN OLD.type = 'indexSwap' BEGIN
  DELETE FROM swap_names WHERE uid = OLD.uid;
END;
CREATE TRIGGER swap_renamed AFTER UPDATE OF details ON tasks WHEN NEW.type = 'indexSwap' BEGIN
  DELETE FROM swap_names WHERE uid = NEW.uid;
  INSERT OR IGNORE INTO swap_names
    SELECT name.value, NEW.uid FROM json_each(NEW.details, '$.swaps') AS pair,
      json_each(pair.value, '$.indexes') AS name;
END;
PRAGMA application_id = 13;
PRAGMA user_version = 5;
COMMIT;
