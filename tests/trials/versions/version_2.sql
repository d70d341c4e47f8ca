-- A trial log of version 2 (kept verdicts, no count of cached tokens).
PRAGMA application_id = 1246000236;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE failure (
    key TEXT NOT NULL, attempt INTEGER NOT NULL, kind TEXT NOT NULL, status INTEGER, message TEXT NOT NULL,
    at TEXT NOT NULL
);
INSERT INTO "failure" VALUES('e083cf236964c0c2931e61ddb47f1173',1,'rate_limit',429,'429: slow down','2026-11-30T12:00:00Z');
INSERT INTO "failure" VALUES('068a6d75ef58a3cb26f59e97226c2a14',1,'rate_limit',429,'429: slow down','2026-11-30T12:00:00Z');
INSERT INTO "failure" VALUES('b25852062edb96294f5f8c63ddaa4123',1,'rate_limit',429,'429: slow down','2026-11-30T12:00:00Z');
INSERT INTO "failure" VALUES('012c5abc9bd57091eb214d3039cb9e2a',1,'rate_limit',429,'429: slow down','2026-11-30T12:00:00Z');
CREATE TABLE meta (field TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('fingerprint','fp-1');
INSERT INTO "meta" VALUES('instrument','{"adapter":"fake","bank":"english","bank_hash":"bbbbbbbbbbbbbbbb","decoding":"{}","design":"quick","judge":"fake","judge_id":"jjjjjjjjjjjjjjjj","model":"fake-judge","prompt":"default","prompt_hash":"pppppppppppppppp","repeats":"","rubric_hash":"rrrrrrrrrrrrrrrr","seed":"0","simulated":"yes"}');
INSERT INTO "meta" VALUES('model','fake-judge');
CREATE TABLE reading (
    key TEXT PRIMARY KEY, stimulus TEXT NOT NULL REFERENCES stimulus (id), "order" TEXT NOT NULL,
    repeat INTEGER NOT NULL, prompt_characters INTEGER NOT NULL, attempts INTEGER NOT NULL, at TEXT NOT NULL,
    text TEXT NOT NULL, finish_reason TEXT NOT NULL, refusal TEXT NOT NULL, reasoning TEXT NOT NULL,
    prompt_tokens INTEGER, completion_tokens INTEGER, latency_s REAL NOT NULL, model TEXT NOT NULL,
    fingerprint TEXT NOT NULL, logprobs TEXT NOT NULL, verdict TEXT NOT NULL DEFAULT ''
);
INSERT INTO "reading" VALUES('e083cf236964c0c2931e61ddb47f1173','bb1c95046a2f07bd','ab',0,33,2,'2026-11-30T12:00:00Z','{"verdict": "A"}','stop','','',60,12,0.0,'fake-judge','fp-1','[["A", -0.5]]','');
INSERT INTO "reading" VALUES('068a6d75ef58a3cb26f59e97226c2a14','bb1c95046a2f07bd','ba',0,33,2,'2026-11-30T12:00:00Z',X'68616C6620EDA080202271756F7465642220277465787427','stop','','',60,12,0.0,'fake-judge','fp-1','[["A", -0.5]]','');
INSERT INTO "reading" VALUES('b25852062edb96294f5f8c63ddaa4123','b2a6c0aeca3f2397','ab',0,33,2,'2026-11-30T12:00:00Z','first secondthird','stop','','',60,12,0.0,'fake-judge','fp-1','[["A", -0.5]]','');
INSERT INTO "reading" VALUES('012c5abc9bd57091eb214d3039cb9e2a','b2a6c0aeca3f2397','ba',0,33,2,'2026-11-30T12:00:00Z','','stop','','',60,12,0.0,'fake-judge','fp-1','[["A", -0.5]]','');
CREATE TABLE stimulus (
    id TEXT PRIMARY KEY, probe TEXT NOT NULL, arm TEXT NOT NULL, task TEXT NOT NULL, level_a INTEGER, level_b INTEGER,
    filler_b INTEGER NOT NULL, dose INTEGER, length_a INTEGER NOT NULL, length_b INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "stimulus" VALUES('b2a6c0aeca3f2397','ladder','prefix','task-1',2,1,0,NULL,3,2);
INSERT INTO "stimulus" VALUES('bb1c95046a2f07bd','ladder','prefix','task-0',2,1,0,NULL,3,2);
COMMIT;
