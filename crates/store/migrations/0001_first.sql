-- Times are integers: milliseconds since 1970 for people, milliseconds since boot for deadlines.
-- A text that sorts almost like a time is how a prompt that expired five hours ago gets answered.

CREATE TABLE sessions (
    id           TEXT    NOT NULL PRIMARY KEY,
    tool         TEXT    NOT NULL,
    command      TEXT    NOT NULL, -- JSON array of strings
    cwd          TEXT    NOT NULL,
    label        TEXT,
    host_pid     INTEGER NOT NULL,
    host_started INTEGER NOT NULL, -- clock ticks since boot: with the pid it names one process
    leader_pid   INTEGER,
    tool_pid     INTEGER,
    boot_id      TEXT    NOT NULL,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    exit_code    INTEGER,
    status       TEXT    NOT NULL CHECK (status IN ('active', 'completed', 'crashed', 'terminated'))
) STRICT;

CREATE INDEX sessions_by_start ON sessions (started_at);

CREATE TABLE prompts (
    id              TEXT    NOT NULL PRIMARY KEY,
    session_id      TEXT    NOT NULL REFERENCES sessions (id),
    sighting        INTEGER NOT NULL,
    idempotency_key TEXT    NOT NULL UNIQUE,
    kind            TEXT    NOT NULL,
    confidence      INTEGER NOT NULL,
    excerpt         TEXT    NOT NULL,
    detail          TEXT    NOT NULL,
    choices         TEXT, -- JSON, see rows.rs
    max_length      INTEGER NOT NULL,
    offers_default  INTEGER NOT NULL CHECK (offers_default IN (0, 1)),
    entry           TEXT    NOT NULL CHECK (entry IN ('line', 'keys')),
    fingerprint     TEXT    NOT NULL,
    nonce           TEXT    NOT NULL UNIQUE,
    nonce_used      INTEGER NOT NULL DEFAULT 0 CHECK (nonce_used IN (0, 1)),
    status          TEXT    NOT NULL CHECK (status IN ('created', 'routed', 'awaiting_reply', 'reply_received',
                                                       'expired', 'injected', 'resolved', 'canceled', 'failed')),
    reason          TEXT,
    reply_id        TEXT UNIQUE,
    source          TEXT,
    created_at      INTEGER NOT NULL,
    changed_at      INTEGER NOT NULL,
    expires_at      INTEGER, -- wall clock, for showing
    deadline        INTEGER, -- since boot, for deciding
    boot_id         TEXT    NOT NULL,
    UNIQUE (session_id, sighting)
) STRICT;

-- The queue of SPEC 3.4, in a form that no bug can talk its way around.
CREATE UNIQUE INDEX prompts_one_awaiting ON prompts (session_id) WHERE status = 'awaiting_reply';

CREATE INDEX prompts_open ON prompts (created_at) WHERE status NOT IN ('resolved', 'canceled', 'failed');

CREATE TABLE replies (
    id         TEXT    NOT NULL PRIMARY KEY,
    prompt_id  TEXT    NOT NULL UNIQUE REFERENCES prompts (id), -- at most one reply per prompt
    session_id TEXT    NOT NULL REFERENCES sessions (id),
    kind       TEXT    NOT NULL CHECK (kind IN ('choice', 'enter', 'text', 'secret')),
    choice_row INTEGER,
    value      TEXT, -- never that of a secret
    source     TEXT    NOT NULL,
    decided_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    CHECK (kind IN ('choice', 'text') OR value IS NULL)
) STRICT;

-- The records of the audit log as they were hashed, `ts` in its text form included: a lost line is written again
-- byte for byte.
CREATE TABLE audit_events (
    seq        INTEGER NOT NULL PRIMARY KEY,
    ts         TEXT    NOT NULL,
    event      TEXT    NOT NULL,
    session_id TEXT,
    prompt_id  TEXT,
    value      TEXT,
    source     TEXT,
    decided_by TEXT,
    prev_hash  TEXT    NOT NULL,
    hash       TEXT    NOT NULL
) STRICT;

-- How far something outside of the database has got: the audit file here, a bot's last update later.
CREATE TABLE channel_state (
    channel TEXT NOT NULL,
    key     TEXT NOT NULL,
    value   INTEGER NOT NULL,
    PRIMARY KEY (channel, key)
) STRICT;
