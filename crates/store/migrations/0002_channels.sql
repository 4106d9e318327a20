-- What is to be shown where, and what came from there. Not a queue of edits: each row says which state of things is
-- wanted and which one was last shown, so a hundred changes during an outage are one message afterwards.

CREATE TABLE posts (
    id         INTEGER NOT NULL PRIMARY KEY,
    channel    TEXT    NOT NULL,
    target     TEXT    NOT NULL,
    prompt_id  TEXT    NOT NULL REFERENCES prompts (id),
    session_id TEXT    NOT NULL REFERENCES sessions (id),
    nonce      TEXT    NOT NULL, -- the right to answer that this message carries
    copy       INTEGER NOT NULL DEFAULT 0, -- above 0: sent again after a crash that lost the first one's address
    address    TEXT, -- NULL: not known to be sent
    level      INTEGER NOT NULL DEFAULT 0,
    wanted     INTEGER NOT NULL DEFAULT 1, -- grows with every move of the prompt, in the transaction of the move
    shown      INTEGER NOT NULL DEFAULT 0,
    closed     INTEGER, -- the first value of `wanted` without buttons
    not_before INTEGER NOT NULL,
    dead       TEXT, -- why nothing more is done for it
    UNIQUE (channel, target, prompt_id, nonce, copy)
) STRICT;

CREATE INDEX posts_to_do ON posts (channel, not_before) WHERE dead IS NULL AND (address IS NULL OR shown < wanted);
CREATE INDEX posts_by_prompt ON posts (prompt_id);
CREATE INDEX posts_by_session ON posts (session_id);
CREATE INDEX posts_by_address ON posts (channel, address);

CREATE TABLE notices (
    id         INTEGER NOT NULL PRIMARY KEY,
    channel    TEXT    NOT NULL,
    target     TEXT    NOT NULL,
    session_id TEXT    REFERENCES sessions (id),
    body       TEXT    NOT NULL,
    reply_to   TEXT,
    created_at INTEGER NOT NULL,
    not_before INTEGER NOT NULL,
    sent_at    INTEGER,
    dead       TEXT
) STRICT;

CREATE INDEX notices_to_do ON notices (channel, not_before) WHERE sent_at IS NULL AND dead IS NULL;
CREATE INDEX notices_by_session ON notices (session_id);

-- Updates that were acted on. A number that comes again changes nothing.
CREATE TABLE inbox (
    channel    TEXT    NOT NULL,
    update_no  INTEGER NOT NULL,
    handled_at INTEGER NOT NULL,
    PRIMARY KEY (channel, update_no)
) STRICT, WITHOUT ROWID;

-- Questions of ours that wait for a tap: stop this session? Taken in the transaction that acts on the answer.
CREATE TABLE asks (
    token      TEXT    NOT NULL PRIMARY KEY,
    channel    TEXT    NOT NULL,
    target     TEXT    NOT NULL,
    what       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE chat_state (
    channel TEXT NOT NULL,
    target  TEXT NOT NULL,
    key     TEXT NOT NULL,
    value   TEXT NOT NULL,
    PRIMARY KEY (channel, target, key)
) STRICT, WITHOUT ROWID;

-- The next instruction for a tool that does not take one yet.
CREATE TABLE queued_texts (
    session_id TEXT    NOT NULL PRIMARY KEY REFERENCES sessions (id),
    text       TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    decided_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

ALTER TABLE sessions ADD COLUMN paused_at INTEGER; -- its channels answered too often; nothing from there is accepted
ALTER TABLE sessions ADD COLUMN resumed_at INTEGER; -- answers are counted since then

-- Secrets are kept as their SHA-256 only.
CREATE TABLE web_links (
    hash       TEXT    NOT NULL PRIMARY KEY,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT;

CREATE TABLE web_logins (
    hash       TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    device     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;

CREATE INDEX replies_by_session ON replies (session_id, created_at);
CREATE INDEX prompts_by_time ON prompts (created_at);
CREATE INDEX audit_by_event ON audit_events (event);
CREATE INDEX audit_by_session ON audit_events (session_id, seq);
