//! Looking back: past prompts, the audit table, and figures. Reads only.

pub use atlasbridge_model::Search;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::audit_log::record;
use crate::prompts::{PromptRecord, Reply, load};
use crate::record::AuditRecord;
use crate::rows::{self, parsed, unreadable};
use crate::sessions::{SessionRecord, sessions};
use crate::store::{BackendError, Store, StoreError, attempting};

/// A prompt of the past or the present, with all that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastPrompt {
    pub prompt: PromptRecord,
    pub session: SessionRecord,
    pub reply: Option<Reply>,
}

/// Counted over the whole audit log, which forgets nothing: these never go down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub prompts_total: u64,
    pub replies_total: u64,
    pub rejected_total: u64,
}

impl Store {
    /// Newest first. Prompts of the same moment are never torn apart, so a page may be a little longer than asked for,
    /// and the time of its last prompt is where the next one begins.
    pub async fn search_prompts(&self, search: &Search) -> Result<Vec<PastPrompt>, StoreError> {
        self.read_prompts(search).await.map_err(attempting("looking up past prompts"))
    }

    /// Newest first.
    pub async fn search_audit(&self, search: &Search) -> Result<Vec<AuditRecord>, StoreError> {
        const TEXT: &str = "(event || ' ' || COALESCE(value, '') || ' ' || COALESCE(source, '') || ' ' ||
            COALESCE(decided_by, '') || ' ' || COALESCE(session_id, '') || ' ' || COALESCE(prompt_id, ''))";
        let sql = format!(
            "SELECT * FROM audit_events WHERE {} AND ($2 IS NULL OR seq < $2) AND {} ORDER BY seq DESC LIMIT $6",
            of_session("session_id", search),
            found_in(TEXT)
        );
        let rows = self.search_rows(sql, search).await;
        rows.and_then(|rows| rows.iter().map(record).collect())
            .map_err(attempting("looking up the audit log"))
    }

    pub async fn figures(&self) -> Result<Counts, StoreError> {
        self.count_events().await.map_err(attempting("looking up the figures"))
    }

    async fn read_prompts(&self, search: &Search) -> Result<Vec<PastPrompt>, BackendError> {
        const TEXT: &str =
            "(q.excerpt || ' ' || q.detail || ' ' || q.kind || ' ' || q.status || ' ' || q.id || ' '
            || s.tool || ' ' || s.cwd || ' ' || COALESCE(s.label, ''))";
        let matching = format!(
            "FROM prompts q JOIN sessions s ON s.id = q.session_id
             WHERE {} AND ($2 IS NULL OR q.created_at < $2) AND {}",
            of_session("q.session_id", search),
            found_in(TEXT)
        );
        let sql = format!(
            "SELECT q.id {matching} AND q.created_at >= COALESCE(
                 (SELECT q.created_at {matching} ORDER BY q.created_at DESC LIMIT 1 OFFSET $6 - 1),
                 -9223372036854775808)
             ORDER BY q.created_at DESC, q.rowid DESC"
        );
        if search.most == 0 {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for row in self.search_rows(sql, search).await? {
            let id = parsed(&row, "id", "prompt id")?;
            let mut conn = self.reader.acquire().await?;
            // Forgotten since: then it is not part of the past any more.
            let Some(prompt) = load(&mut conn, id).await? else {
                continue;
            };
            let session = sqlx::query("SELECT * FROM sessions WHERE id = $1")
                .bind(prompt.session.to_string())
                .fetch_all(&mut *conn)
                .await;
            let session = sessions("the session of a prompt", session).map_err(|error| error.source)?.pop();
            let reply = sqlx::query("SELECT * FROM replies WHERE prompt_id = $1")
                .bind(prompt.id.to_string())
                .fetch_optional(&mut *conn)
                .await?;
            let Some(session) = session else {
                continue;
            };
            found.push(PastPrompt { reply: reply.as_ref().map(rows::reply).transpose()?, prompt, session });
        }
        Ok(found)
    }

    /// `$1` session, `$2` before, `$3` to `$5` patterns, `$6` most.
    async fn search_rows(&self, sql: String, search: &Search) -> Result<Vec<SqliteRow>, BackendError> {
        let text = search.text.as_deref().filter(|text| !text.is_empty());
        Ok(sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(search.session.map(|session| session.to_string()))
            .bind(search.before)
            .bind(text.map(pattern))
            .bind(text.map(|text| pattern(&text.to_lowercase())))
            .bind(text.map(|text| pattern(&text.to_uppercase())))
            .bind(search.most)
            .fetch_all(&self.reader)
            .await?)
    }

    async fn count_events(&self) -> Result<Counts, BackendError> {
        let rows = sqlx::query(
            "SELECT event, COUNT(*) AS events FROM audit_events
             WHERE event IN ('PROMPT_DETECTED', 'REPLY_RECEIVED', 'REPLY_REJECTED') GROUP BY event",
        )
        .fetch_all(&self.reader)
        .await?;
        let mut counts = Counts::default();
        for row in &rows {
            let count = row.try_get::<i64, _>("events")? as u64;
            match row.try_get("event")? {
                "PROMPT_DETECTED" => counts.prompts_total = count,
                "REPLY_RECEIVED" => counts.replies_total = count,
                "REPLY_REJECTED" => counts.rejected_total = count,
                _ => return Err(unreadable("count of events")),
            }
        }
        Ok(counts)
    }
}

/// Written so that an index can be used where one session is meant.
fn of_session(column: &str, search: &Search) -> String {
    match search.session {
        Some(_) => format!("{column} = $1"),
        None => "$1 IS NULL".to_owned(),
    }
}

/// SQLite's LIKE knows the cases of ASCII alone; the other two patterns are for the rest of the letters.
fn found_in(text: &str) -> String {
    format!(
        "($3 IS NULL OR {text} LIKE $3 ESCAPE '\\' OR {text} LIKE $4 ESCAPE '\\' OR {text} LIKE $5 ESCAPE '\\')"
    )
}

/// What people type is text, never a pattern.
fn pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for char in text.chars() {
        if matches!(char, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    pattern.push('%');
    pattern
}
