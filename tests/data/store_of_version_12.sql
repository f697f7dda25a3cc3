BEGIN TRANSACTION;
CREATE TABLE core_summaries(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  entity_id TEXT NOT NULL REFERENCES entities(id),
  version INTEGER NOT NULL,
  text TEXT NOT NULL,
  node_ids TEXT NOT NULL DEFAULT '[]',
  scores TEXT,
  generator TEXT NOT NULL,
  created_at TEXT NOT NULL,
  UNIQUE(entity_id, version)
) STRICT;
CREATE TABLE cues(
  memory INTEGER NOT NULL REFERENCES insights(number),
  ord INTEGER NOT NULL,
  text TEXT NOT NULL,
  source TEXT NOT NULL DEFAULT 'given' CHECK(source = 'given' OR source = 'learned' OR source = 'generated'),
  PRIMARY KEY(memory, ord)
) STRICT, WITHOUT ROWID;
CREATE TABLE edge_rows(
  source INTEGER NOT NULL REFERENCES insights(number),
  target INTEGER NOT NULL REFERENCES insights(number),
  kind INTEGER NOT NULL CHECK(kind BETWEEN 0 AND 3),
  weight REAL NOT NULL CHECK(weight >= 0 AND weight <= 1),
  metadata TEXT NOT NULL DEFAULT '{}',
  created_at TEXT NOT NULL,
  boost_days REAL NOT NULL DEFAULT 0,
  last_boosted_at TEXT,
  created_by TEXT NOT NULL DEFAULT 'auto'
    CHECK(created_by = 'auto' OR created_by = 'host' OR created_by = 'user' OR created_by = 'import'
      OR created_by = 'worker'),
  PRIMARY KEY(source, target, kind),
  CHECK(source <> target)
) STRICT, WITHOUT ROWID;
INSERT INTO "edge_rows" VALUES(1,2,0,1.0,'{"sub_type":"backbone","direction":"precedes"}','2026-02-02T04:40:00.000000Z',0.0,NULL,'auto');
INSERT INTO "edge_rows" VALUES(1,5,0,0.2,'{"sub_type":"proximity","hours":4.0}','2026-02-02T07:40:00.000000Z',0.0,NULL,'auto');
INSERT INTO "edge_rows" VALUES(1,5,3,1.0,'{"entities":["Acme"]}','2026-02-02T07:40:00.000000Z',0.0,NULL,'auto');
INSERT INTO "edge_rows" VALUES(1,6,0,0.25,'{"sub_type":"proximity","hours":3.0}','2026-02-02T13:40:00.000000Z',0.0,NULL,'auto');
INSERT INTO "edge_rows" VALUES(2,1,0,1.0,'{"sub_type":"backbone","direction":"succeeds"}','2026-02-02T04:40:00.000000Z',0.0,NULL,'auto');
INSERT INTO "edge_rows" VALUES(2,5,0,0.25,'{"sub_type":"proximity","hours":3.0}','2026-02-02T07:40:00.000000Z',0.0,NULL,'auto');
INSERT INTO "edge_rows" VALUES(2,5,2,0.7,'{}','2026-02-02T08:40:00.000000Z',0.0,NULL,'user');
INSERT INTO "edge_rows" VALUES(2,6,0,3.33333333333333314829e-01,'{"sub_type":"proximity","hours":2.0}','2026-02-02T13:40:00.000000Z',0.0,NULL,'auto');
INSERT INTO "edge_rows" VALUES(5,1,0,0.2,'{"sub_type":"proximity","hours":4.0}','2026-02-02T07:40:00.000000Z',0.0,NULL,'auto');
INSERT INTO "edge_rows" VALUES(5,1,3,1.0,'{"entities":["Acme"]}','2026-02-02T07:40:00.000000Z',0.0,NULL,'auto');
INSERT INTO "edge_rows" VALUES(5,2,0,0.25,'{"sub_type":"proximity","hours":3.0}','2026-02-02T07:40:00.000000Z',0.0,NULL,'auto');
INSERT INTO "edge_rows" VALUES(5,6,0,1.0,'{"sub_type":"backbone","direction":"succeeds"}','2026-02-02T13:40:00.000000Z',0.0,NULL,'auto');
INSERT INTO "edge_rows" VALUES(6,1,0,0.25,'{"sub_type":"proximity","hours":3.0}','2026-02-02T13:40:00.000000Z',0.0,NULL,'auto');
INSERT INTO "edge_rows" VALUES(6,2,0,3.33333333333333314829e-01,'{"sub_type":"proximity","hours":2.0}','2026-02-02T13:40:00.000000Z',0.0,NULL,'auto');
INSERT INTO "edge_rows" VALUES(6,5,0,1.0,'{"sub_type":"backbone","direction":"precedes"}','2026-02-02T13:40:00.000000Z',0.0,NULL,'auto');
CREATE TABLE "entities"(
  id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  canonical_name TEXT NOT NULL,
  entity_type TEXT NOT NULL,
  attributes TEXT,
  embedding BLOB,
  created_at TEXT NOT NULL,
  core_summary TEXT,
  core_summary_updated TEXT,
  sense TEXT NOT NULL DEFAULT '',
  UNIQUE(canonical_name, sense)
) STRICT;
INSERT INTO "entities" VALUES('a07ce676b7999dee5c556523af5f9dca','Ana','ana','person',NULL,NULL,'2026-02-02T03:40:00.000000Z',NULL,NULL,'');
INSERT INTO "entities" VALUES('bded55e7ce1c08f27738f8c77ec971e3','Acme','acme','organization',NULL,NULL,'2026-02-02T03:40:00.000000Z',NULL,NULL,'');
INSERT INTO "entities" VALUES('e83a7629dd23f78072fdc61da1096808','Redis','redis','tool',NULL,NULL,'2026-02-02T04:40:00.000000Z',NULL,NULL,'');
INSERT INTO "entities" VALUES('3d5305ebe8ddb48aace2cb70793c8929','Vim','vim','tool',NULL,NULL,'2026-02-02T05:40:00.000000Z',NULL,NULL,'');
INSERT INTO "entities" VALUES('05cf8e6a8c713212772cac9e6f1ea948','Bob','bob','person',NULL,NULL,'2026-02-02T05:40:00.000000Z',NULL,NULL,'');
INSERT INTO "entities" VALUES('e2f9fc3898c7ae3e09d0a709fa3d04de','Berlin','berlin','location',NULL,NULL,'2026-02-02T06:40:00.000000Z',NULL,NULL,'');
INSERT INTO "entities" VALUES('b9d568a5786022e2fa09d9d4e5115fb2','Oslo','oslo','location',NULL,NULL,'2026-02-02T07:40:00.000000Z',NULL,NULL,'');
INSERT INTO "entities" VALUES('47baa832e235ff1159e9274f5b8e1ba6','Munich','munich','location',NULL,NULL,'2026-02-02T11:40:00.000000Z',NULL,NULL,'');
CREATE TABLE entity_aliases(
  alias TEXT PRIMARY KEY NOT NULL,
  entity_id TEXT NOT NULL REFERENCES entities(id)
) STRICT, WITHOUT ROWID;
CREATE TABLE exchanges(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  dedupe_key TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK(kind = 'exchange' OR kind = 'summary'),
  state TEXT NOT NULL DEFAULT 'pending' CHECK(state = 'pending' OR state = 'done' OR state = 'failed'),
  tries INTEGER NOT NULL DEFAULT 0 CHECK(tries >= 0),
  not_before TEXT,
  written INTEGER NOT NULL DEFAULT 0 CHECK(written >= 0),
  queued_at TEXT NOT NULL,
  said_at TEXT NOT NULL,
  host TEXT NOT NULL,
  conversation_id TEXT,
  project TEXT,
  error TEXT,
  facts TEXT,
  prompt TEXT NOT NULL,
  reply TEXT NOT NULL,
  purged TEXT NOT NULL DEFAULT '',
  CHECK(facts IS NULL OR (prompt = '' AND reply = '')),
  CHECK(state <> 'done' OR (prompt = '' AND reply = '' AND facts IS NULL AND purged = ''))
) STRICT;
CREATE TABLE hypothetical_queries(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  insight_id TEXT NOT NULL REFERENCES insights(id),
  ord INTEGER NOT NULL,
  query TEXT NOT NULL,
  embedding BLOB,
  UNIQUE(insight_id, ord)
) STRICT;
CREATE TABLE "insights"(
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  content TEXT NOT NULL,
  category TEXT NOT NULL DEFAULT 'general',
  importance INTEGER NOT NULL DEFAULT 3 CHECK(importance BETWEEN 1 AND 5),
  tags TEXT NOT NULL DEFAULT '[]',
  entities TEXT NOT NULL DEFAULT '[]',
  source TEXT NOT NULL DEFAULT 'user',
  embedding BLOB,
  access_count INTEGER NOT NULL DEFAULT 0 CHECK(access_count >= 0),
  last_accessed_at TEXT,
  effective_importance REAL NOT NULL DEFAULT 0.5,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  deleted_at TEXT,
  -- identity and provenance
  content_hash TEXT,
  channel TEXT,
  conversation_id TEXT,
  source_context TEXT,
  metadata TEXT,
  origin_model TEXT,
  prompt_version TEXT,
  confidence REAL,
  -- scope and typing
  user_id TEXT,
  session_id TEXT,
  agent_id TEXT,
  intent TEXT,
  importance10 INTEGER,
  memory_type TEXT NOT NULL DEFAULT 'memory'
    CHECK(memory_type = 'memory' OR memory_type = 'procedural' OR memory_type = 'summary'),
  trigger TEXT,
  trigger_type TEXT,
  domain_state TEXT,
  -- retrieval
  keywords TEXT,
  evolved_keywords TEXT,
  embedding_model TEXT,
  embedding_dim INTEGER,
  trigger_embedding BLOB,
  -- temporal validity
  event_start TEXT,
  event_end TEXT,
  valid_from TEXT,
  invalid_at TEXT,
  expires_at TEXT,
  -- reinforcement
  boost_days REAL NOT NULL DEFAULT 0,
  last_boosted_at TEXT,
  paired_with TEXT,
  corroboration_count INTEGER NOT NULL DEFAULT 0,
  last_corroborated_at TEXT,
  pinned INTEGER NOT NULL DEFAULT 0 CHECK(pinned IN (0, 1)),
  -- state
  status TEXT NOT NULL DEFAULT 'active'
    CHECK(status = 'active' OR status = 'superseded' OR status = 'merged'
      OR status = 'forgotten' OR status = 'pruned' OR status = 'expired'),
  superseded_by TEXT,
  consolidated_at TEXT,
  trust TEXT NOT NULL DEFAULT 'user' CHECK(trust = 'user' OR trust = 'agent' OR trust = 'tool' OR trust = 'web'),
  quarantined INTEGER NOT NULL DEFAULT 0 CHECK(quarantined IN (0, 1)), project TEXT, useful INTEGER NOT NULL DEFAULT 0 CHECK(useful >= 0), misled INTEGER NOT NULL DEFAULT 0 CHECK(misled >= 0),
  CHECK((status = 'active') = (deleted_at IS NULL))
) STRICT;
INSERT INTO "insights" VALUES(1,'00000001-0000-4000-8000-000000000000','Ana works at Acme','general',3,'[]','["Ana","Acme"]','user',X'91B34DBE705512BF50E2FCBCED6596BE1DB199BE370E41BEF763EA3EF9DEEA3E',0,NULL,0.692626,'2026-02-02T03:40:00.000000Z','2026-02-02T03:40:00.000000Z',NULL,'10edf9603a045a78dcf0fddd7b9e87c9','manual',NULL,NULL,'{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'memory',NULL,NULL,NULL,'["ana","works","acme"]',NULL,'toy',8,NULL,NULL,NULL,'2026-02-02T03:40:00.000000Z',NULL,NULL,0.0,NULL,NULL,0,NULL,0,'active',NULL,NULL,'user',0,NULL,0,0);
INSERT INTO "insights" VALUES(2,'00000002-0000-4000-8000-000000000000','The cache of Redis expires after 20 minutes','general',5,'[]','["Redis"]','user',X'6B0608BFB5ED2BBF378786BD5F21943D88C390BEB6D8AFBBED7CD6BE3397243D',0,NULL,1.386587,'2026-02-02T04:40:00.000000Z','2026-02-02T04:40:00.000000Z',NULL,'ca799603686595992485cc09e213107e','manual',NULL,NULL,'{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'memory',NULL,NULL,NULL,'["cache","redis","expires","after","10","minutes"]',NULL,'toy',8,NULL,NULL,NULL,'2026-02-02T04:40:00.000000Z',NULL,NULL,0.0,NULL,NULL,0,NULL,0,'active',NULL,NULL,'user',0,NULL,0,0);
INSERT INTO "insights" VALUES(3,'00000003-0000-4000-8000-000000000000','Bob uses Vim','general',3,'[]','["Vim","Bob"]','user',X'189B933D5EB98C3D5B9F78BE564D103BCEB510BF6EAFC4BE54DFB2BE49B415BF',0,NULL,0.748557,'2026-02-02T05:40:00.000000Z','2026-02-02T10:40:00.000000Z','2026-02-02T10:40:00.000000Z','74f833d4857366d41fb0a717742d2d83','manual',NULL,NULL,'{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'memory',NULL,NULL,NULL,'["bob","uses","vim"]',NULL,'toy',8,NULL,NULL,NULL,'2026-02-02T05:40:00.000000Z',NULL,NULL,0.0,NULL,NULL,0,NULL,0,'forgotten',NULL,NULL,'user',0,NULL,0,0);
INSERT INTO "insights" VALUES(4,'00000004-0000-4000-8000-000000000000','Bob lives in Berlin','general',3,'[]','["Bob","Berlin"]','user',X'4EB0A4BED95B003FB3CC79BE5F3FE53E0436B1BEF20EFBBE2700123ED5938A3D',0,NULL,0.744963,'2026-02-02T06:40:00.000000Z','2026-02-02T14:40:00.000000Z','2026-02-02T14:40:00.000000Z','af1f0fa655498c47e86d87d2a7e1c536','manual',NULL,NULL,'{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'memory',NULL,NULL,NULL,'["bob","lives","berlin"]',NULL,'toy',8,NULL,NULL,NULL,'2026-02-02T06:40:00.000000Z',NULL,NULL,0.0,NULL,NULL,0,NULL,0,'superseded','00000009-0000-4000-8000-000000000000',NULL,'user',0,NULL,0,0);
INSERT INTO "insights" VALUES(5,'00000005-0000-4000-8000-000000000000','The office of Acme is in Oslo','general',3,'[]','["Oslo","Acme"]','user',X'466A7E3E614D65BE02A742BE4DA2AEBE788E603D3E9E16BF4C621D3FBC39BD3D',0,NULL,0.75,'2026-02-02T07:40:00.000000Z','2026-02-02T07:40:00.000000Z',NULL,'22cef71ce347a6326a1482342a056f68','manual',NULL,NULL,'{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'memory',NULL,NULL,NULL,'["office","acme","oslo"]',NULL,'toy',8,NULL,NULL,NULL,'2026-02-02T07:40:00.000000Z',NULL,NULL,0.0,NULL,NULL,0,NULL,0,'active',NULL,NULL,'user',0,NULL,0,0);
INSERT INTO "insights" VALUES(6,'00000009-0000-4000-8000-000000000000','Bob lives in Munich','general',3,'[]','["Bob","Munich"]','user',X'403A94BD4512533E951D1CBFE484B23D8DEF9FBE51D714BF8B1A6D3E420094BE',0,NULL,0.648125,'2026-02-02T11:40:00.000000Z','2026-02-02T11:40:00.000000Z',NULL,'6544eda97033cbb3ad00e13326574caf','manual',NULL,NULL,'{}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'memory',NULL,NULL,NULL,'["bob","lives","munich"]',NULL,'toy',8,NULL,NULL,NULL,'2026-02-02T11:40:00.000000Z',NULL,NULL,0.0,NULL,NULL,0,NULL,0,'active',NULL,NULL,'user',0,NULL,0,0);
CREATE TABLE jobs(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  payload TEXT NOT NULL DEFAULT '{}',
  run_after TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  claimed_at TEXT,
  done_at TEXT,
  error TEXT
) STRICT;
CREATE TABLE memory_entities(
  memory_id TEXT NOT NULL REFERENCES insights(id),
  entity_id TEXT NOT NULL REFERENCES entities(id),
  mention_text TEXT,
  PRIMARY KEY(memory_id, entity_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "memory_entities" VALUES('00000001-0000-4000-8000-000000000000','a07ce676b7999dee5c556523af5f9dca','Ana');
INSERT INTO "memory_entities" VALUES('00000001-0000-4000-8000-000000000000','bded55e7ce1c08f27738f8c77ec971e3','Acme');
INSERT INTO "memory_entities" VALUES('00000002-0000-4000-8000-000000000000','e83a7629dd23f78072fdc61da1096808','Redis');
INSERT INTO "memory_entities" VALUES('00000003-0000-4000-8000-000000000000','05cf8e6a8c713212772cac9e6f1ea948','Bob');
INSERT INTO "memory_entities" VALUES('00000003-0000-4000-8000-000000000000','3d5305ebe8ddb48aace2cb70793c8929','Vim');
INSERT INTO "memory_entities" VALUES('00000004-0000-4000-8000-000000000000','05cf8e6a8c713212772cac9e6f1ea948','Bob');
INSERT INTO "memory_entities" VALUES('00000004-0000-4000-8000-000000000000','e2f9fc3898c7ae3e09d0a709fa3d04de','Berlin');
INSERT INTO "memory_entities" VALUES('00000005-0000-4000-8000-000000000000','b9d568a5786022e2fa09d9d4e5115fb2','Oslo');
INSERT INTO "memory_entities" VALUES('00000005-0000-4000-8000-000000000000','bded55e7ce1c08f27738f8c77ec971e3','Acme');
INSERT INTO "memory_entities" VALUES('00000009-0000-4000-8000-000000000000','05cf8e6a8c713212772cac9e6f1ea948','Bob');
INSERT INTO "memory_entities" VALUES('00000009-0000-4000-8000-000000000000','47baa832e235ff1159e9274f5b8e1ba6','Munich');
CREATE TABLE memory_operations(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  operation_type TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  before_state TEXT,
  after_state TEXT,
  triggered_by TEXT NOT NULL DEFAULT 'user',
  op_id TEXT NOT NULL,
  created_at TEXT NOT NULL
, undoes TEXT) STRICT;
INSERT INTO "memory_operations" VALUES(1,'CREATE','00000001-0000-4000-8000-000000000000',NULL,'{"insight":{"id":"00000001-0000-4000-8000-000000000000","content":"Ana works at Acme","created_at":"2026-02-02T03:40:00.000000Z","updated_at":"2026-02-02T03:40:00.000000Z","entities":["Ana","Acme"],"scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.5,"valid_from":"2026-02-02T03:40:00.000000Z","keywords":"ana works acme"}}','user','operation-0001','2026-02-02T03:40:00.000000Z',NULL);
INSERT INTO "memory_operations" VALUES(2,'CREATE','00000002-0000-4000-8000-000000000000',NULL,'{"insight":{"id":"00000002-0000-4000-8000-000000000000","content":"The cache of Redis expires after 10 minutes","created_at":"2026-02-02T04:40:00.000000Z","updated_at":"2026-02-02T04:40:00.000000Z","entities":["Redis"],"scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.55,"valid_from":"2026-02-02T04:40:00.000000Z","keywords":"cache redis expires after 10 minutes"}}','user','operation-0002','2026-02-02T04:40:00.000000Z',NULL);
INSERT INTO "memory_operations" VALUES(3,'CREATE','00000003-0000-4000-8000-000000000000',NULL,'{"insight":{"id":"00000003-0000-4000-8000-000000000000","content":"Bob uses Vim","created_at":"2026-02-02T05:40:00.000000Z","updated_at":"2026-02-02T05:40:00.000000Z","entities":["Vim","Bob"],"scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.6,"valid_from":"2026-02-02T05:40:00.000000Z","keywords":"bob uses vim"}}','user','operation-0003','2026-02-02T05:40:00.000000Z',NULL);
INSERT INTO "memory_operations" VALUES(4,'CREATE','00000004-0000-4000-8000-000000000000',NULL,'{"insight":{"id":"00000004-0000-4000-8000-000000000000","content":"Bob lives in Berlin","created_at":"2026-02-02T06:40:00.000000Z","updated_at":"2026-02-02T06:40:00.000000Z","entities":["Bob","Berlin"],"scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.7,"valid_from":"2026-02-02T06:40:00.000000Z","keywords":"bob lives berlin"}}','user','operation-0004','2026-02-02T06:40:00.000000Z',NULL);
INSERT INTO "memory_operations" VALUES(5,'CREATE','00000005-0000-4000-8000-000000000000',NULL,'{"insight":{"id":"00000005-0000-4000-8000-000000000000","content":"The office of Acme is in Oslo","created_at":"2026-02-02T07:40:00.000000Z","updated_at":"2026-02-02T07:40:00.000000Z","entities":["Oslo","Acme"],"scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.75,"valid_from":"2026-02-02T07:40:00.000000Z","keywords":"office acme oslo"}}','user','operation-0005','2026-02-02T07:40:00.000000Z',NULL);
INSERT INTO "memory_operations" VALUES(6,'UPDATE','00000002-0000-4000-8000-000000000000','{"insight":{"id":"00000002-0000-4000-8000-000000000000","content":"The cache of Redis expires after 10 minutes","created_at":"2026-02-02T04:40:00.000000Z","updated_at":"2026-02-02T04:40:00.000000Z","category":"general","entities":["Redis"],"source":"user","channel":"manual","scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.697981,"valid_from":"2026-02-02T04:40:00.000000Z","status":"active","keywords":"cache redis expires after 10 minutes","boost_days":0.0,"metadata":"{}"}}','{"insight":{"id":"00000002-0000-4000-8000-000000000000","content":"The cache of Redis expires after 10 minutes","created_at":"2026-02-02T04:40:00.000000Z","updated_at":"2026-02-02T04:40:00.000000Z","category":"general","entities":["Redis"],"source":"user","channel":"manual","scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.697981,"valid_from":"2026-02-02T04:40:00.000000Z","status":"active","keywords":"cache redis expires after 10 minutes","boost_days":0.0,"metadata":"{}"},"edges":[{"source_id":"00000002-0000-4000-8000-000000000000","target_id":"00000005-0000-4000-8000-000000000000","edge_type":"causal","weight":0.7,"created_by":"user"}]}','user','operation-0006','2026-02-02T08:40:00.000000Z',NULL);
INSERT INTO "memory_operations" VALUES(7,'UPDATE','00000002-0000-4000-8000-000000000000','{"insight":{"id":"00000002-0000-4000-8000-000000000000","content":"The cache of Redis expires after 10 minutes","created_at":"2026-02-02T04:40:00.000000Z","updated_at":"2026-02-02T04:40:00.000000Z","category":"general","entities":["Redis"],"source":"user","channel":"manual","scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.747117,"valid_from":"2026-02-02T04:40:00.000000Z","status":"active","keywords":"cache redis expires after 10 minutes","boost_days":0.0,"metadata":"{}"}}','{"insight":{"id":"00000002-0000-4000-8000-000000000000","content":"The cache of Redis expires after 20 minutes","created_at":"2026-02-02T04:40:00.000000Z","updated_at":"2026-02-02T04:40:00.000000Z","category":"general","importance":5,"entities":["Redis"],"source":"user","channel":"manual","scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.747117,"valid_from":"2026-02-02T04:40:00.000000Z","status":"active","keywords":"cache redis expires after 10 minutes","boost_days":0.0,"metadata":"{}"}}','user','operation-0007','2026-02-02T09:40:00.000000Z',NULL);
INSERT INTO "memory_operations" VALUES(8,'DELETE','00000003-0000-4000-8000-000000000000','{"insight":{"id":"00000003-0000-4000-8000-000000000000","content":"Bob uses Vim","created_at":"2026-02-02T05:40:00.000000Z","updated_at":"2026-02-02T05:40:00.000000Z","category":"general","entities":["Vim","Bob"],"source":"user","channel":"manual","scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.748557,"valid_from":"2026-02-02T05:40:00.000000Z","status":"active","keywords":"bob uses vim","boost_days":0.0,"metadata":"{}"},"edges":[{"source_id":"00000003-0000-4000-8000-000000000000","target_id":"00000001-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.3333333333333333,"metadata":"{\"sub_type\":\"proximity\",\"hours\":2.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000003-0000-4000-8000-000000000000","target_id":"00000002-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"succeeds\"}","created_by":"auto","boost_days":0.0},{"source_id":"00000003-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"precedes\"}","created_by":"auto","boost_days":0.0},{"source_id":"00000003-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"entity","weight":1.0,"metadata":"{\"entities\":[\"Bob\"]}","created_by":"auto","boost_days":0.0},{"source_id":"00000003-0000-4000-8000-000000000000","target_id":"00000005-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.3333333333333333,"metadata":"{\"sub_type\":\"proximity\",\"hours\":2.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000001-0000-4000-8000-000000000000","target_id":"00000003-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.3333333333333333,"metadata":"{\"sub_type\":\"proximity\",\"hours\":2.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000002-0000-4000-8000-000000000000","target_id":"00000003-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"precedes\"}","created_by":"auto","boost_days":0.0},{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000003-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"succeeds\"}","created_by":"auto","boost_days":0.0},{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000003-0000-4000-8000-000000000000","edge_type":"entity","weight":1.0,"metadata":"{\"entities\":[\"Bob\"]}","created_by":"auto","boost_days":0.0},{"source_id":"00000005-0000-4000-8000-000000000000","target_id":"00000003-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.3333333333333333,"metadata":"{\"sub_type\":\"proximity\",\"hours\":2.0}","created_by":"auto","boost_days":0.0}]}','{"insight":{"id":"00000003-0000-4000-8000-000000000000","content":"Bob uses Vim","created_at":"2026-02-02T05:40:00.000000Z","updated_at":"2026-02-02T10:40:00.000000Z","category":"general","entities":["Vim","Bob"],"source":"user","channel":"manual","scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.748557,"valid_from":"2026-02-02T05:40:00.000000Z","status":"forgotten","keywords":"bob uses vim","boost_days":0.0,"metadata":"{}"}}','user','operation-0008','2026-02-02T10:40:00.000000Z',NULL);
INSERT INTO "memory_operations" VALUES(9,'CREATE','00000009-0000-4000-8000-000000000000',NULL,'{"insight":{"id":"00000009-0000-4000-8000-000000000000","content":"Bob lives in Munich","created_at":"2026-02-02T11:40:00.000000Z","updated_at":"2026-02-02T11:40:00.000000Z","entities":["Bob","Munich"],"scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.75,"valid_from":"2026-02-02T11:40:00.000000Z","keywords":"bob lives munich"}}','user','operation-0009','2026-02-02T11:40:00.000000Z',NULL);
INSERT INTO "memory_operations" VALUES(10,'SUPERSEDE','00000004-0000-4000-8000-000000000000','{"insight":{"id":"00000004-0000-4000-8000-000000000000","content":"Bob lives in Berlin","created_at":"2026-02-02T06:40:00.000000Z","updated_at":"2026-02-02T06:40:00.000000Z","category":"general","entities":["Bob","Berlin"],"source":"user","channel":"manual","scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.746399,"valid_from":"2026-02-02T06:40:00.000000Z","status":"active","keywords":"bob lives berlin","boost_days":0.0,"metadata":"{}"},"edges":[{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000001-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.25,"metadata":"{\"sub_type\":\"proximity\",\"hours\":3.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000002-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.3333333333333333,"metadata":"{\"sub_type\":\"proximity\",\"hours\":2.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000005-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"precedes\"}","created_by":"auto","boost_days":0.0},{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.16666666666666666,"metadata":"{\"sub_type\":\"proximity\",\"hours\":5.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"entity","weight":1.0,"metadata":"{\"entities\":[\"Bob\"]}","created_by":"auto","boost_days":0.0},{"source_id":"00000001-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.25,"metadata":"{\"sub_type\":\"proximity\",\"hours\":3.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000002-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.3333333333333333,"metadata":"{\"sub_type\":\"proximity\",\"hours\":2.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000005-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"succeeds\"}","created_by":"auto","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.16666666666666666,"metadata":"{\"sub_type\":\"proximity\",\"hours\":5.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"entity","weight":1.0,"metadata":"{\"entities\":[\"Bob\"]}","created_by":"auto","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000001-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.1111111111111111,"metadata":"{\"sub_type\":\"proximity\",\"hours\":8.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000002-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.125,"metadata":"{\"sub_type\":\"proximity\",\"hours\":7.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000005-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"succeeds\"}","created_by":"auto","boost_days":0.0},{"source_id":"00000001-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.1111111111111111,"metadata":"{\"sub_type\":\"proximity\",\"hours\":8.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000002-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.125,"metadata":"{\"sub_type\":\"proximity\",\"hours\":7.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000005-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"precedes\"}","created_by":"auto","boost_days":0.0}]}','{"insight":{"id":"00000004-0000-4000-8000-000000000000","content":"Bob lives in Berlin","created_at":"2026-02-02T06:40:00.000000Z","updated_at":"2026-02-02T12:40:00.000000Z","category":"general","entities":["Bob","Berlin"],"source":"user","channel":"manual","scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.746399,"valid_from":"2026-02-02T06:40:00.000000Z","status":"superseded","superseded_by":"00000009-0000-4000-8000-000000000000","keywords":"bob lives berlin","boost_days":0.0,"metadata":"{}"},"edges":[{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000001-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.25,"metadata":"{\"sub_type\":\"proximity\",\"hours\":3.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000002-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.3333333333333333,"metadata":"{\"sub_type\":\"proximity\",\"hours\":2.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000005-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"precedes\"}","created_by":"auto","boost_days":0.0},{"source_id":"00000001-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.25,"metadata":"{\"sub_type\":\"proximity\",\"hours\":3.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000002-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.3333333333333333,"metadata":"{\"sub_type\":\"proximity\",\"hours\":2.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000005-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"succeeds\"}","created_by":"auto","boost_days":0.0}]}','user','operation-0010','2026-02-02T12:40:00.000000Z',NULL);
INSERT INTO "memory_operations" VALUES(11,'RESTORE','00000004-0000-4000-8000-000000000000','{"insight":{"id":"00000004-0000-4000-8000-000000000000","content":"Bob lives in Berlin","created_at":"2026-02-02T06:40:00.000000Z","updated_at":"2026-02-02T12:40:00.000000Z","category":"general","entities":["Bob","Berlin"],"source":"user","channel":"manual","scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.746399,"valid_from":"2026-02-02T06:40:00.000000Z","status":"superseded","superseded_by":"00000009-0000-4000-8000-000000000000","keywords":"bob lives berlin","boost_days":0.0,"metadata":"{}"}}','{"insight":{"id":"00000004-0000-4000-8000-000000000000","content":"Bob lives in Berlin","created_at":"2026-02-02T06:40:00.000000Z","updated_at":"2026-02-02T13:40:00.000000Z","category":"general","entities":["Bob","Berlin"],"source":"user","channel":"manual","scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.746399,"valid_from":"2026-02-02T06:40:00.000000Z","keywords":"bob lives berlin","boost_days":0.0,"metadata":"{}"},"edges":[{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000001-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.25,"metadata":"{\"sub_type\":\"proximity\",\"hours\":3.0}","boost_days":0.0},{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000002-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.3333333333333333,"metadata":"{\"sub_type\":\"proximity\",\"hours\":2.0}","boost_days":0.0},{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000005-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"precedes\"}","boost_days":0.0},{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.16666666666666666,"metadata":"{\"sub_type\":\"proximity\",\"hours\":5.0}","boost_days":0.0},{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"entity","weight":1.0,"metadata":"{\"entities\":[\"Bob\"]}","boost_days":0.0},{"source_id":"00000001-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.25,"metadata":"{\"sub_type\":\"proximity\",\"hours\":3.0}","boost_days":0.0},{"source_id":"00000002-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.3333333333333333,"metadata":"{\"sub_type\":\"proximity\",\"hours\":2.0}","boost_days":0.0},{"source_id":"00000005-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"succeeds\"}","boost_days":0.0}]}','user','operation-0011','2026-02-02T13:40:00.000000Z','operation-0010');
INSERT INTO "memory_operations" VALUES(12,'UPDATE','00000009-0000-4000-8000-000000000000','{"insight":{"id":"00000009-0000-4000-8000-000000000000","content":"Bob lives in Munich","created_at":"2026-02-02T11:40:00.000000Z","updated_at":"2026-02-02T11:40:00.000000Z","category":"general","entities":["Bob","Munich"],"source":"user","channel":"manual","scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.649375,"valid_from":"2026-02-02T11:40:00.000000Z","status":"active","keywords":"bob lives munich","boost_days":0.0,"metadata":"{}"},"edges":[{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000001-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.25,"metadata":"{\"sub_type\":\"proximity\",\"hours\":3.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000002-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.3333333333333333,"metadata":"{\"sub_type\":\"proximity\",\"hours\":2.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000005-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"precedes\"}","created_by":"auto","boost_days":0.0},{"source_id":"00000001-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.25,"metadata":"{\"sub_type\":\"proximity\",\"hours\":3.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000002-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.3333333333333333,"metadata":"{\"sub_type\":\"proximity\",\"hours\":2.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000005-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"succeeds\"}","created_by":"auto","boost_days":0.0}]}','{"insight":{"id":"00000009-0000-4000-8000-000000000000","content":"Bob lives in Munich","created_at":"2026-02-02T11:40:00.000000Z","updated_at":"2026-02-02T11:40:00.000000Z","category":"general","entities":["Bob","Munich"],"source":"user","channel":"manual","scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.649375,"valid_from":"2026-02-02T11:40:00.000000Z","status":"active","keywords":"bob lives munich","boost_days":0.0,"metadata":"{}"},"edges":[{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000001-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.1111111111111111,"metadata":"{\"sub_type\":\"proximity\",\"hours\":8.0}","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000002-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.125,"metadata":"{\"sub_type\":\"proximity\",\"hours\":7.0}","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000005-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"succeeds\"}","boost_days":0.0},{"source_id":"00000001-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.1111111111111111,"metadata":"{\"sub_type\":\"proximity\",\"hours\":8.0}","boost_days":0.0},{"source_id":"00000002-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.125,"metadata":"{\"sub_type\":\"proximity\",\"hours\":7.0}","boost_days":0.0},{"source_id":"00000005-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"precedes\"}","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.16666666666666666,"metadata":"{\"sub_type\":\"proximity\",\"hours\":5.0}","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"entity","weight":1.0,"metadata":"{\"entities\":[\"Bob\"]}","boost_days":0.0}]}','user','operation-0011','2026-02-02T13:40:00.000000Z','operation-0010');
INSERT INTO "memory_operations" VALUES(13,'SUPERSEDE','00000004-0000-4000-8000-000000000000','{"insight":{"id":"00000004-0000-4000-8000-000000000000","content":"Bob lives in Berlin","created_at":"2026-02-02T06:40:00.000000Z","updated_at":"2026-02-02T13:40:00.000000Z","category":"general","entities":["Bob","Berlin"],"source":"user","channel":"manual","scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.744963,"valid_from":"2026-02-02T06:40:00.000000Z","status":"active","keywords":"bob lives berlin","boost_days":0.0,"metadata":"{}"},"edges":[{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000001-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.25,"metadata":"{\"sub_type\":\"proximity\",\"hours\":3.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000002-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.3333333333333333,"metadata":"{\"sub_type\":\"proximity\",\"hours\":2.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000005-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"precedes\"}","created_by":"auto","boost_days":0.0},{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.16666666666666666,"metadata":"{\"sub_type\":\"proximity\",\"hours\":5.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000004-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"entity","weight":1.0,"metadata":"{\"entities\":[\"Bob\"]}","created_by":"auto","boost_days":0.0},{"source_id":"00000001-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.25,"metadata":"{\"sub_type\":\"proximity\",\"hours\":3.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000002-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.3333333333333333,"metadata":"{\"sub_type\":\"proximity\",\"hours\":2.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000005-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"succeeds\"}","created_by":"auto","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.16666666666666666,"metadata":"{\"sub_type\":\"proximity\",\"hours\":5.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000004-0000-4000-8000-000000000000","edge_type":"entity","weight":1.0,"metadata":"{\"entities\":[\"Bob\"]}","created_by":"auto","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000001-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.1111111111111111,"metadata":"{\"sub_type\":\"proximity\",\"hours\":8.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000002-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.125,"metadata":"{\"sub_type\":\"proximity\",\"hours\":7.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000005-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"succeeds\"}","created_by":"auto","boost_days":0.0},{"source_id":"00000001-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.1111111111111111,"metadata":"{\"sub_type\":\"proximity\",\"hours\":8.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000002-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.125,"metadata":"{\"sub_type\":\"proximity\",\"hours\":7.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000005-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"precedes\"}","created_by":"auto","boost_days":0.0}]}','{"insight":{"id":"00000004-0000-4000-8000-000000000000","content":"Bob lives in Berlin","created_at":"2026-02-02T06:40:00.000000Z","updated_at":"2026-02-02T14:40:00.000000Z","category":"general","entities":["Bob","Berlin"],"source":"user","channel":"manual","scope":{"user_id":null,"session_id":null,"agent_id":null,"project":null},"effective_importance":0.744963,"valid_from":"2026-02-02T06:40:00.000000Z","status":"superseded","superseded_by":"00000009-0000-4000-8000-000000000000","keywords":"bob lives berlin","boost_days":0.0,"metadata":"{}"},"edges":[{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000001-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.25,"metadata":"{\"sub_type\":\"proximity\",\"hours\":3.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000002-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.3333333333333333,"metadata":"{\"sub_type\":\"proximity\",\"hours\":2.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000009-0000-4000-8000-000000000000","target_id":"00000005-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"precedes\"}","created_by":"auto","boost_days":0.0},{"source_id":"00000001-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.25,"metadata":"{\"sub_type\":\"proximity\",\"hours\":3.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000002-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":0.3333333333333333,"metadata":"{\"sub_type\":\"proximity\",\"hours\":2.0}","created_by":"auto","boost_days":0.0},{"source_id":"00000005-0000-4000-8000-000000000000","target_id":"00000009-0000-4000-8000-000000000000","edge_type":"temporal","weight":1.0,"metadata":"{\"sub_type\":\"backbone\",\"direction\":\"succeeds\"}","created_by":"auto","boost_days":0.0}]}','user','operation-0012','2026-02-02T14:40:00.000000Z',NULL);
CREATE TABLE messages(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation_id TEXT NOT NULL,
  user_id TEXT,
  session_id TEXT,
  agent_id TEXT,
  role TEXT NOT NULL,
  name TEXT,
  content TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE TABLE meta(
  key TEXT PRIMARY KEY NOT NULL,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "meta" VALUES('embedder','{"name":"toy","dimension":8,"fingerprint":"toy-1","unrelated":null,"paraphrase":null}');
CREATE TABLE metrics(
  name TEXT NOT NULL,
  bucket TEXT NOT NULL,
  value REAL NOT NULL,
  PRIMARY KEY(name, bucket)
) STRICT, WITHOUT ROWID;
CREATE TABLE node_metrics(
  insight_id TEXT PRIMARY KEY NOT NULL REFERENCES insights(id),
  pagerank REAL,
  degree INTEGER,
  community INTEGER,
  computed_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE "operations"(
  op_id TEXT PRIMARY KEY NOT NULL,
  method TEXT NOT NULL,
  request_digest TEXT NOT NULL,
  outcome TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE TABLE oplog(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  operation TEXT NOT NULL,
  insight_id TEXT,
  detail TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
) STRICT;
INSERT INTO "oplog" VALUES(1,'remember','00000001-0000-4000-8000-000000000000','general importance=3 channel=manual','2026-02-02T03:40:00.000000Z');
INSERT INTO "oplog" VALUES(2,'remember','00000002-0000-4000-8000-000000000000','general importance=3 channel=manual','2026-02-02T04:40:00.000000Z');
INSERT INTO "oplog" VALUES(3,'remember','00000003-0000-4000-8000-000000000000','general importance=3 channel=manual','2026-02-02T05:40:00.000000Z');
INSERT INTO "oplog" VALUES(4,'remember','00000004-0000-4000-8000-000000000000','general importance=3 channel=manual','2026-02-02T06:40:00.000000Z');
INSERT INTO "oplog" VALUES(5,'remember','00000005-0000-4000-8000-000000000000','general importance=3 channel=manual','2026-02-02T07:40:00.000000Z');
INSERT INTO "oplog" VALUES(6,'link','00000002-0000-4000-8000-000000000000','','2026-02-02T08:40:00.000000Z');
INSERT INTO "oplog" VALUES(7,'link','00000002-0000-4000-8000-000000000000','','2026-02-02T09:40:00.000000Z');
INSERT INTO "oplog" VALUES(8,'forget','00000003-0000-4000-8000-000000000000','','2026-02-02T10:40:00.000000Z');
INSERT INTO "oplog" VALUES(9,'remember','00000009-0000-4000-8000-000000000000','general importance=3 channel=manual','2026-02-02T11:40:00.000000Z');
INSERT INTO "oplog" VALUES(10,'link','00000004-0000-4000-8000-000000000000','','2026-02-02T12:40:00.000000Z');
INSERT INTO "oplog" VALUES(11,'undo','00000004-0000-4000-8000-000000000000','undone=operation-0010','2026-02-02T13:40:00.000000Z');
INSERT INTO "oplog" VALUES(12,'link','00000004-0000-4000-8000-000000000000','','2026-02-02T14:40:00.000000Z');
CREATE TABLE pending_reviews(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK(kind IN ('conflict', 'link', 'merge', 'summary')),
  payload TEXT NOT NULL,
  created_at TEXT NOT NULL,
  resolved_at TEXT,
  resolution TEXT
) STRICT;
CREATE TABLE recalls(
  id INTEGER PRIMARY KEY,
  insight_id TEXT,
  detail TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
) STRICT;
CREATE TABLE relationships(
  id TEXT PRIMARY KEY NOT NULL,
  source_id TEXT NOT NULL REFERENCES entities(id),
  target_id TEXT NOT NULL REFERENCES entities(id),
  type TEXT NOT NULL,
  strength REAL NOT NULL CHECK(strength >= 0 AND strength <= 1),
  memory_id TEXT REFERENCES insights(id),
  created_at TEXT NOT NULL,
  valid_from TEXT,
  invalid_at TEXT
) STRICT;
CREATE TABLE rolling_summaries(
  conversation_id TEXT PRIMARY KEY NOT NULL,
  summary TEXT NOT NULL,
  upto_message_id INTEGER NOT NULL,
  updated_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE showings(
  id INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  host TEXT NOT NULL,
  agent TEXT NOT NULL DEFAULT '',
  moment TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  insight_id TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
) STRICT;
CREATE TABLE staged_vectors(
  insight_id TEXT PRIMARY KEY NOT NULL REFERENCES insights(id) ON DELETE CASCADE,
  content_hash TEXT NOT NULL,
  embedding BLOB
) STRICT, WITHOUT ROWID;
CREATE TABLE trigger_counts(
  memory INTEGER NOT NULL REFERENCES insights(number),
  pattern TEXT NOT NULL,
  matched INTEGER NOT NULL DEFAULT 0,
  shown INTEGER NOT NULL DEFAULT 0,
  followed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(memory, pattern)
) STRICT, WITHOUT ROWID;
CREATE TABLE triggers(
  memory INTEGER NOT NULL REFERENCES insights(number),
  ord INTEGER NOT NULL,
  pattern TEXT NOT NULL,
  enforce TEXT NOT NULL DEFAULT 'tell' CHECK(enforce = 'tell' OR enforce = 'ask' OR enforce = 'deny'),
  state TEXT NOT NULL DEFAULT 'on' CHECK(state = 'on' OR state = 'off' OR state = 'proposed'),
  PRIMARY KEY(memory, ord)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_operations_by_memory ON memory_operations(memory_id);
CREATE INDEX memory_operations_by_op ON memory_operations(op_id);
CREATE INDEX memory_entities_by_entity ON memory_entities(entity_id);
CREATE INDEX messages_by_conversation ON messages(conversation_id, id);
CREATE INDEX memory_operations_by_undone ON memory_operations(undoes) WHERE undoes IS NOT NULL;
CREATE INDEX edge_rows_by_target ON edge_rows(target) WHERE kind = 2;
CREATE INDEX insights_by_successor ON insights(superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX insights_by_partner ON insights(paired_with) WHERE paired_with IS NOT NULL;
CREATE INDEX insights_by_retirement ON insights(deleted_at, id) WHERE deleted_at IS NOT NULL;
CREATE VIEW edges(
  source_id, target_id, edge_type, weight, metadata, created_at, boost_days, last_boosted_at, created_by
) AS
SELECT s.id, t.id, CASE r.kind WHEN 0 THEN 'temporal' WHEN 1 THEN 'semantic' WHEN 2 THEN 'causal' ELSE 'entity' END,
  r.weight, r.metadata, r.created_at, r.boost_days, r.last_boosted_at, r.created_by
FROM edge_rows AS r JOIN insights AS s ON s.number = r.source JOIN insights AS t ON t.number = r.target;
CREATE INDEX exchanges_pending ON exchanges(number) WHERE state = 'pending';
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('memory_operations',13);
INSERT INTO "sqlite_sequence" VALUES('oplog',12);
COMMIT;
PRAGMA user_version = 12;
PRAGMA application_id = 1835951469;
