//! Looking back: past prompts, the audit table, and figures. Reads only.

pub use atlasbridge_model::Search;

use crate::prompts::{PromptRecord, Reply};
use crate::record::AuditRecord;
use crate::sessions::SessionRecord;
use crate::sql::{Record, record};
use crate::store::{Store, StoreError};

/// A prompt of the past or the present, with all that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastPrompt {
    pub prompt: PromptRecord,
    pub session: SessionRecord,
    pub reply: Option<Reply>,
}

record! {
    /// Counted over the whole audit log, which forgets nothing: these never go down.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct Counts {
        pub prompts_total: u64,
        pub replies_total: u64,
        pub rejected_total: u64,
    }
}

impl Store {
    /// Newest first. Prompts of the same moment are never torn apart, so a page may be a little longer than asked for,
    /// and the time of its last prompt is where the next one begins.
    pub async fn search_prompts(&self, search: &Search) -> Result<Vec<PastPrompt>, StoreError> {
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
            "SELECT q.* {matching} AND q.created_at >= COALESCE(
                 (SELECT q.created_at {matching} ORDER BY q.created_at DESC LIMIT 1 OFFSET $6 - 1),
                 -9223372036854775808)
             ORDER BY q.created_at DESC, q.rowid DESC"
        );
        if search.most == 0 {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for prompt in self.found::<PromptRecord>("past prompts", sql, search).await? {
            // Forgotten since: then it is not part of the past any more.
            if let Some(session) = self.session(prompt.session).await? {
                found.push(PastPrompt { reply: self.reply_of(prompt.id).await?, prompt, session });
            }
        }
        Ok(found)
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
        self.found("the audit log", sql, search).await
    }

    pub async fn figures(&self) -> Result<Counts, StoreError> {
        const SQL: &str = "SELECT COALESCE(SUM(event = 'PROMPT_DETECTED'), 0) AS prompts_total,
                 COALESCE(SUM(event = 'REPLY_RECEIVED'), 0) AS replies_total,
                 COALESCE(SUM(event = 'REPLY_REJECTED'), 0) AS rejected_total
             FROM audit_events WHERE event IN ('PROMPT_DETECTED', 'REPLY_RECEIVED', 'REPLY_REJECTED')";
        Ok(self.one("the figures", SQL, ()).await?.unwrap_or_default())
    }

    /// `$1` session, `$2` before, `$3` to `$5` patterns, `$6` most.
    async fn found<T: Record>(
        &self,
        what: &'static str,
        sql: String,
        search: &Search,
    ) -> Result<Vec<T>, StoreError> {
        let text = search.text.as_deref().filter(|text| !text.is_empty());
        let (lower, upper) = (text.map(str::to_lowercase), text.map(str::to_uppercase));
        let patterns = (text.map(pattern), lower.as_deref().map(pattern), upper.as_deref().map(pattern));
        let cells = (search.session, search.before, patterns, search.most);
        self.all(what, sqlx::AssertSqlSafe(sql), cells).await
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
    let text = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{text}%")
}
