-- What a prompt takes besides its rows: words of rows.rs with blanks between them.
ALTER TABLE prompts ADD COLUMN takes TEXT NOT NULL DEFAULT '';

-- Two more kinds of replies, which only a tool's own hook carries. A CHECK cannot be altered, so the table is made anew.
CREATE TABLE replies_with_hooks (
    id         TEXT    NOT NULL PRIMARY KEY,
    prompt_id  TEXT    NOT NULL UNIQUE REFERENCES prompts (id), -- at most one reply per prompt
    session_id TEXT    NOT NULL REFERENCES sessions (id),
    kind       TEXT    NOT NULL CHECK (kind IN ('choice', 'several', 'refused', 'enter', 'text', 'secret')),
    choice_row INTEGER,
    value      TEXT, -- never that of a secret; of several rows JSON, see rows.rs
    source     TEXT    NOT NULL,
    decided_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    CHECK (kind IN ('choice', 'several', 'refused', 'text') OR value IS NULL)
) STRICT;

INSERT INTO replies_with_hooks (id, prompt_id, session_id, kind, choice_row, value, source, decided_by, created_at)
SELECT id, prompt_id, session_id, kind, choice_row, value, source, decided_by, created_at FROM replies;

DROP TABLE replies;
ALTER TABLE replies_with_hooks RENAME TO replies;

CREATE INDEX replies_by_session ON replies (session_id, created_at);
