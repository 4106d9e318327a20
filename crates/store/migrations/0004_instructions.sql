-- Instructions are kept until it is known what became of them: one that waits for its tool, those on their way to it, and
-- the last that could not be sent, for whoever looks. A key cannot be altered, so the table is made anew.
CREATE TABLE queued_texts_anew (
    reply_id   TEXT    NOT NULL PRIMARY KEY, -- the reply that it becomes
    session_id TEXT    NOT NULL REFERENCES sessions (id),
    text       TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    decided_by TEXT    NOT NULL,
    target     TEXT, -- the chat that hears what became of it
    reply_to   TEXT, -- its message there
    state      TEXT    NOT NULL CHECK (state IN ('waiting', 'sent', 'unsent')),
    why        TEXT, -- it was not sent
    created_at INTEGER NOT NULL,
    CHECK ((state = 'unsent') = (why IS NOT NULL))
) STRICT;

INSERT INTO queued_texts_anew (reply_id, session_id, text, source, decided_by, state, created_at)
SELECT lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-8' ||
             substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))),
       session_id, text, source, decided_by, 'waiting', created_at
FROM queued_texts;

DROP TABLE queued_texts;
ALTER TABLE queued_texts_anew RENAME TO queued_texts;

CREATE UNIQUE INDEX queued_texts_one_waits ON queued_texts (session_id) WHERE state = 'waiting';
CREATE INDEX queued_texts_by_session ON queued_texts (session_id);
CREATE INDEX prompts_by_kind ON prompts (session_id, kind, sighting);
