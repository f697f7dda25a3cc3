-- Turns of agents' sessions that wait to be read for what is worth remembering. A row holds nothing that is a memory
-- already: the texts go once they were read, and a fact with the transaction in which it is remembered.
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
CREATE INDEX exchanges_pending ON exchanges(number) WHERE state = 'pending';
