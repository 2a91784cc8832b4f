-- A task store of version 3, as that version wrote it: boats and trains traded places, ferries became ships.
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
  stats TEXT NOT NULL
) STRICT;
CREATE TABLE catalogue (
  uid TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  primary_key TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
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
CREATE TABLE counts (
  index_uid TEXT NOT NULL,
  new_index_uid TEXT NOT NULL,
  type TEXT NOT NULL,
  status TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (index_uid, new_index_uid, type, status)
) STRICT, WITHOUT ROWID;
CREATE TABLE instance (name TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE keys (uid TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
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
CREATE TABLE totals (name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;
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
INSERT INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy, details, stats) VALUES (0, 1795259271847583, 1795259271974458, 1795259271647229, 1795259271686247, 'stopped before task 4 of type `indexSwap`, which never shares a batch', '{"receivedDocuments":2,"indexedDocuments":1}', '{"totalNbTasks":2,"status":{"succeeded":1,"failed":1},"types":{"documentAdditionOrUpdate":2},"indexUids":{"boats":2},"progressTrace":{"processing tasks > preparing":"27.43ms","processing tasks > committing":"35.45ms","processing tasks":"126.88ms"}}');
INSERT INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy, details, stats) VALUES (1, 1795259272039451, 1795259272074213, 1795259271718373, 1795259271718373, 'stopped before task 4 of type `indexSwap`, which never shares a batch', '{"receivedDocuments":1,"indexedDocuments":1}', '{"totalNbTasks":1,"status":{"succeeded":1},"types":{"documentAdditionOrUpdate":1},"indexUids":{"trains":1},"progressTrace":{"processing tasks > preparing":"5.17ms","processing tasks > committing":"27.00ms","processing tasks":"34.76ms"}}');
INSERT INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy, details, stats) VALUES (2, 1795259272098935, 1795259272154342, 1795259271722577, 1795259271722577, 'task 3 of type `indexCreation` never shares a batch', '{}', '{"totalNbTasks":1,"status":{"succeeded":1},"types":{"indexCreation":1},"indexUids":{"ferries":1},"progressTrace":{"processing tasks > preparing":"19.30ms","processing tasks > committing":"19.73ms","processing tasks":"55.41ms"}}');
INSERT INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy, details, stats) VALUES (3, 1795259272182480, 1795259272187123, 1795259271766216, 1795259271766216, 'task 4 of type `indexSwap` never shares a batch', '{"swaps":[{"indexes":["boats","trains"],"rename":false}]}', '{"totalNbTasks":1,"status":{"succeeded":1},"types":{"indexSwap":1},"indexUids":{},"progressTrace":{"processing tasks":"4.64ms"}}');
INSERT INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy, details, stats) VALUES (4, 1795259272250531, 1795259272265651, 1795259271782435, 1795259271782435, 'task 5 of type `indexUpdate` never shares a batch', '{"oldIndexUid":"ferries","newIndexUid":"ships"}', '{"totalNbTasks":1,"status":{"succeeded":1},"types":{"indexUpdate":1},"indexUids":{"ferries":1},"progressTrace":{"processing tasks":"15.12ms"}}');
INSERT INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy, details, stats) VALUES (5, 1795259273993608, 1795259274042164, 1795259273881023, 1795259273944676, 'task 8 of type `taskCancelation` never shares a batch', '{"receivedDocuments":1,"indexedDocuments":0,"matchedTasks":1,"canceledTasks":1,"originalFilter":"?uids=6"}', '{"totalNbTasks":2,"status":{"canceled":1,"succeeded":1},"types":{"documentAdditionOrUpdate":1,"taskCancelation":1},"indexUids":{"boats":1},"progressTrace":{"processing tasks":"48.56ms"}}');
INSERT INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy, details, stats) VALUES (6, 1795259274094083, 1795259274130082, 1795259273960706, 1795259273960706, 'tasks of type `taskDeletion` share a batch only with each other', '{"matchedTasks":1,"deletedTasks":1,"originalFilter":"?uids=0"}', '{"totalNbTasks":1,"status":{"succeeded":1},"types":{"taskDeletion":1},"indexUids":{},"progressTrace":{"processing tasks":"36.00ms"}}');
INSERT INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy, details, stats) VALUES (7, 1795259274168537, 1795259274235747, 1795259273923368, 1795259273923368, 'took all enqueued tasks of the index `boats`', '{"receivedDocuments":1,"indexedDocuments":1}', '{"totalNbTasks":1,"status":{"succeeded":1},"types":{"documentAdditionOrUpdate":1},"indexUids":{"boats":1},"progressTrace":{"processing tasks > preparing":"36.00ms","processing tasks > committing":"21.64ms","processing tasks":"67.21ms"}}');
INSERT INTO catalogue (uid, id, primary_key, created_at, updated_at) VALUES ('boats', 'e98eb401-9796-4c20-99ae-7b5fe7cb86cf', 'id', 1795259272039451, 1795259274235747);
INSERT INTO catalogue (uid, id, primary_key, created_at, updated_at) VALUES ('ships', '0eab8ce5-1bc3-4e43-9671-dbaae79fa741', NULL, 1795259272154342, 1795259272265651);
INSERT INTO catalogue (uid, id, primary_key, created_at, updated_at) VALUES ('trains', 'b4124c4f-3c84-4c81-946c-45cd8c2d55e6', 'id', 1795259271847583, 1795259271974458);
INSERT INTO contents (uid, body, kind, payload, payload_bytes, primary_key, may_create, touches) VALUES (10, '{"kind":"documents","method":"replace","payload":{"format":"json","text":"[{\"id\":4}]"},"payloadBytes":9,"receivedDocuments":1,"primaryKey":null,"skipCreation":false,"mayCreateIndex":true}', 'documents', NULL, 9, NULL, 1, NULL);
INSERT INTO counts (index_uid, new_index_uid, type, status, n) VALUES ('', '', 'indexSwap', 'succeeded', 1);
INSERT INTO counts (index_uid, new_index_uid, type, status, n) VALUES ('', '', 'taskCancelation', 'succeeded', 1);
INSERT INTO counts (index_uid, new_index_uid, type, status, n) VALUES ('', '', 'taskDeletion', 'succeeded', 1);
INSERT INTO counts (index_uid, new_index_uid, type, status, n) VALUES ('boats', '', 'documentAdditionOrUpdate', 'canceled', 1);
INSERT INTO counts (index_uid, new_index_uid, type, status, n) VALUES ('boats', '', 'documentAdditionOrUpdate', 'enqueued', 1);
INSERT INTO counts (index_uid, new_index_uid, type, status, n) VALUES ('boats', '', 'documentAdditionOrUpdate', 'succeeded', 2);
INSERT INTO counts (index_uid, new_index_uid, type, status, n) VALUES ('ferries', 'ships', 'indexUpdate', 'succeeded', 1);
INSERT INTO counts (index_uid, new_index_uid, type, status, n) VALUES ('ships', '', 'indexCreation', 'succeeded', 1);
INSERT INTO counts (index_uid, new_index_uid, type, status, n) VALUES ('trains', '', 'documentAdditionOrUpdate', 'failed', 1);
INSERT INTO swap_names (name, uid) VALUES ('boats', 4);
INSERT INTO swap_names (name, uid) VALUES ('trains', 4);
INSERT INTO tasks (uid, batch_uid, index_uid, new_index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error, custom_metadata) VALUES (1, 0, 'trains', NULL, 'failed', 'documentAdditionOrUpdate', NULL, 1795259271686247, 1795259271847583, 1795259271974458, '{"receivedDocuments":1,"indexedDocuments":0}', '{"message":"a document lacks `id`","code":"missing_document_id","type":"invalid_request","link":"https://docs.meilisearch.com/errors#missing_document_id"}', NULL);
INSERT INTO tasks (uid, batch_uid, index_uid, new_index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error, custom_metadata) VALUES (2, 1, 'boats', NULL, 'succeeded', 'documentAdditionOrUpdate', NULL, 1795259271718373, 1795259272039451, 1795259272074213, '{"receivedDocuments":1,"indexedDocuments":1}', NULL, NULL);
INSERT INTO tasks (uid, batch_uid, index_uid, new_index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error, custom_metadata) VALUES (3, 2, 'ships', NULL, 'succeeded', 'indexCreation', NULL, 1795259271722577, 1795259272098935, 1795259272154342, '{"primaryKey":null}', NULL, NULL);
INSERT INTO tasks (uid, batch_uid, index_uid, new_index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error, custom_metadata) VALUES (4, 3, NULL, NULL, 'succeeded', 'indexSwap', NULL, 1795259271766216, 1795259272182480, 1795259272187123, '{"swaps":[{"indexes":["boats","trains"],"rename":false}]}', NULL, NULL);
INSERT INTO tasks (uid, batch_uid, index_uid, new_index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error, custom_metadata) VALUES (5, 4, 'ferries', 'ships', 'succeeded', 'indexUpdate', NULL, 1795259271782435, 1795259272250531, 1795259272265651, '{"primaryKey":null,"oldIndexUid":"ferries","newIndexUid":"ships"}', NULL, NULL);
INSERT INTO tasks (uid, batch_uid, index_uid, new_index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error, custom_metadata) VALUES (6, 5, 'boats', NULL, 'canceled', 'documentAdditionOrUpdate', 8, 1795259273881023, 1795259273993608, 1795259274042164, '{"receivedDocuments":1,"indexedDocuments":0}', NULL, NULL);
INSERT INTO tasks (uid, batch_uid, index_uid, new_index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error, custom_metadata) VALUES (7, 7, 'boats', NULL, 'succeeded', 'documentAdditionOrUpdate', NULL, 1795259273923368, 1795259274168537, 1795259274235747, '{"receivedDocuments":1,"indexedDocuments":1}', NULL, NULL);
INSERT INTO tasks (uid, batch_uid, index_uid, new_index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error, custom_metadata) VALUES (8, 5, NULL, NULL, 'succeeded', 'taskCancelation', NULL, 1795259273944676, 1795259273993608, 1795259274042164, '{"matchedTasks":1,"canceledTasks":1,"originalFilter":"?uids=6"}', NULL, NULL);
INSERT INTO tasks (uid, batch_uid, index_uid, new_index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error, custom_metadata) VALUES (9, 6, NULL, NULL, 'succeeded', 'taskDeletion', NULL, 1795259273960706, 1795259274094083, 1795259274130082, '{"matchedTasks":1,"deletedTasks":1,"originalFilter":"?uids=0"}', NULL, NULL);
INSERT INTO tasks (uid, batch_uid, index_uid, new_index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error, custom_metadata) VALUES (10, NULL, 'boats', NULL, 'enqueued', 'documentAdditionOrUpdate', NULL, 1795259275879362, NULL, NULL, '{"receivedDocuments":1,"indexedDocuments":null}', NULL, NULL);
INSERT INTO totals (name, n) VALUES ('batches', 8);
CREATE INDEX contents_touches ON contents (uid) WHERE touches IS NOT NULL;
CREATE INDEX swap_names_uid ON swap_names (uid);
CREATE INDEX tasks_batch ON tasks (batch_uid) WHERE batch_uid IS NOT NULL;
CREATE INDEX tasks_canceled ON tasks (canceled_by) WHERE canceled_by IS NOT NULL;
CREATE INDEX tasks_enqueued ON tasks (enqueued_at);
CREATE INDEX tasks_finished ON tasks (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX tasks_index ON tasks (index_uid);
CREATE INDEX tasks_new_index ON tasks (new_index_uid) WHERE new_index_uid IS NOT NULL;
CREATE INDEX tasks_started ON tasks (started_at) WHERE started_at IS NOT NULL;
CREATE INDEX tasks_status ON tasks (status);
CREATE INDEX tasks_type ON tasks (type);
CREATE INDEX tasks_waiting ON tasks (index_uid, uid) WHERE status = 'enqueued';
CREATE INDEX tasks_waiting_type ON tasks (type, uid) WHERE status = 'enqueued';
CREATE INDEX undelivered_batch ON undelivered (batch_uid);
CREATE TRIGGER batches_added AFTER INSERT ON batches BEGIN
  UPDATE totals SET n = n + 1 WHERE name = 'batches';
END;
CREATE TRIGGER batches_removed AFTER DELETE ON batches BEGIN
  UPDATE totals SET n = n - 1 WHERE name = 'batches';
END;
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
CREATE TRIGGER tasks_added AFTER INSERT ON tasks BEGIN
  INSERT INTO counts VALUES (ifnull(NEW.index_uid, ''), ifnull(NEW.new_index_uid, ''), NEW.type, NEW.status, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER tasks_moved AFTER UPDATE OF index_uid, new_index_uid, status ON tasks BEGIN
  UPDATE counts SET n = n - 1 WHERE index_uid = ifnull(OLD.index_uid, '')
    AND new_index_uid = ifnull(OLD.new_index_uid, '') AND type = OLD.type AND status = OLD.status;
  INSERT INTO counts VALUES (ifnull(NEW.index_uid, ''), ifnull(NEW.new_index_uid, ''), NEW.type, NEW.status, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER tasks_removed AFTER DELETE ON tasks BEGIN
  UPDATE counts SET n = n - 1 WHERE index_uid = ifnull(OLD.index_uid, '')
    AND new_index_uid = ifnull(OLD.new_index_uid, '') AND type = OLD.type AND status = OLD.status;
END;
PRAGMA user_version = 3;
COMMIT;
