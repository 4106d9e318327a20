//! Sessions: one `atlasbridge run` each.

use atlasbridge_model::answer::Source;
use atlasbridge_model::audit::{AuditEvent, EventName};
use atlasbridge_model::{Now, SessionId, Timestamp};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::notices;
use crate::rows::{parsed, unreadable};
use crate::store::{BackendError, Draft, Store, StoreError, attempting};

/// What is known of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    pub id: SessionId,
    pub tool: String,
    pub command: Vec<String>,
    pub cwd: String,
    pub label: Option<String>,
    pub host_pid: i32,
    /// Clock ticks since boot, field 22 of `/proc/PID/stat`: with the pid it names one process.
    pub host_started: u64,
    pub leader_pid: Option<i32>,
    pub tool_pid: Option<i32>,
    pub boot_id: String,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub exit_code: Option<i32>,
    pub status: SessionStatus,
    /// Its channels answered too often: nothing from there is accepted until somebody resumes it.
    pub paused_at: Option<Timestamp>,
}

/// Somebody lets the channels of a session answer again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    pub session: SessionId,
    pub source: Source,
    pub decided_by: String,
}

/// How a session stands, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStatus {
    Active,
    Completed,
    Crashed,
    Terminated,
}

impl SessionStatus {
    pub const ALL: [SessionStatus; 4] =
        [SessionStatus::Active, SessionStatus::Completed, SessionStatus::Crashed, SessionStatus::Terminated];

    pub fn as_str(self) -> &'static str {
        match self {
            SessionStatus::Active => "active",
            SessionStatus::Completed => "completed",
            SessionStatus::Crashed => "crashed",
            SessionStatus::Terminated => "terminated",
        }
    }
}

impl Store {
    /// Records a session. A host that reconnects says the same again: only pids that were missing are learnt then,
    /// and `false` comes back.
    pub async fn begin_session(&self, session: &SessionRecord, now: Now) -> Result<bool, StoreError> {
        let record = session.clone();
        self.write(now, move |draft| Box::pin(begin(draft, record)))
            .await
            .map_err(attempting(format!("recording session {}", session.id)))
    }

    /// The tool's process id, once it runs.
    pub async fn set_tool_pid(&self, session: SessionId, pid: i32, now: Now) -> Result<(), StoreError> {
        self.write(now, move |draft| {
            Box::pin(async move {
                sqlx::query("UPDATE sessions SET tool_pid = $1 WHERE id = $2")
                    .bind(pid)
                    .bind(session.to_string())
                    .execute(&mut draft.conn)
                    .await?;
                Ok(())
            })
        })
        .await
        .map_err(attempting(format!("recording session {session}")))
    }

    /// Records the end. `false`: it had ended before, or there is no such session.
    pub async fn end_session(
        &self,
        session: SessionId,
        status: SessionStatus,
        exit_code: Option<i32>,
        now: Now,
    ) -> Result<bool, StoreError> {
        self.write(now, move |draft| Box::pin(end(draft, session, status, exit_code)))
            .await
            .map_err(attempting(format!("recording session {session}")))
    }

    pub async fn session(&self, id: SessionId) -> Result<Option<SessionRecord>, StoreError> {
        let rows = sqlx::query("SELECT * FROM sessions WHERE id = $1").bind(id.to_string());
        sessions("the session", rows.fetch_all(&self.reader).await).map(|mut found| found.pop())
    }

    /// Newest first.
    pub async fn sessions(&self, limit: u32) -> Result<Vec<SessionRecord>, StoreError> {
        let rows = sqlx::query("SELECT * FROM sessions ORDER BY started_at DESC, id LIMIT $1").bind(limit);
        sessions("the sessions", rows.fetch_all(&self.reader).await)
    }

    /// Oldest first.
    pub async fn active_sessions(&self) -> Result<Vec<SessionRecord>, StoreError> {
        let rows = sqlx::query("SELECT * FROM sessions WHERE status = 'active' ORDER BY started_at, id");
        sessions("the active sessions", rows.fetch_all(&self.reader).await)
    }

    /// Forgets sessions that ended before this, with their prompts, replies and messages. The audit log forgets nothing: what
    /// was decided stays on record. Returns how many.
    pub async fn forget_ended_before(&self, before: Timestamp, now: Now) -> Result<u64, StoreError> {
        self.write(now, move |draft| Box::pin(forget(draft, before)))
            .await
            .map_err(attempting("forgetting old sessions"))
    }

    /// How many prompts a session has had.
    pub async fn prompt_count(&self, session: SessionId) -> Result<u64, StoreError> {
        let counted: Result<i64, _> =
            sqlx::query_scalar("SELECT COUNT(*) FROM prompts WHERE session_id = $1")
                .bind(session.to_string())
                .fetch_one(&self.reader)
                .await;
        counted.map(|count| count as u64).map_err(attempting("looking up the number of prompts"))
    }
}

async fn begin(draft: &mut Draft, session: SessionRecord) -> Result<bool, BackendError> {
    let command = serde_json::to_string(&session.command).map_err(|_| unreadable("command"))?;
    let inserted = sqlx::query(
        "INSERT INTO sessions (id, tool, command, cwd, label, host_pid, host_started, leader_pid, tool_pid, boot_id,
                               started_at, ended_at, exit_code, status)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, NULL, NULL, 'active')
         ON CONFLICT (id) DO NOTHING",
    )
    .bind(session.id.to_string())
    .bind(&session.tool)
    .bind(command)
    .bind(session.cwd)
    .bind(session.label)
    .bind(session.host_pid)
    .bind(session.host_started as i64)
    .bind(session.leader_pid)
    .bind(session.tool_pid)
    .bind(session.boot_id)
    .bind(session.started_at.0)
    .execute(&mut draft.conn)
    .await?;
    if inserted.rows_affected() == 0 {
        learn_pids(draft, session.id, session.leader_pid, session.tool_pid).await?;
        return Ok(false);
    }
    draft
        .record(AuditEvent {
            session: Some(session.id),
            value: Some(session.tool),
            ..AuditEvent::new(EventName::SessionStart)
        })
        .await?;
    Ok(true)
}

async fn learn_pids(
    draft: &mut Draft,
    session: SessionId,
    leader: Option<i32>,
    tool: Option<i32>,
) -> Result<(), BackendError> {
    sqlx::query(
        "UPDATE sessions SET leader_pid = COALESCE(leader_pid, $1), tool_pid = COALESCE(tool_pid, $2) WHERE id = $3",
    )
    .bind(leader)
    .bind(tool)
    .bind(session.to_string())
    .execute(&mut draft.conn)
    .await?;
    Ok(())
}

async fn end(
    draft: &mut Draft,
    session: SessionId,
    status: SessionStatus,
    exit_code: Option<i32>,
) -> Result<bool, BackendError> {
    let ended = sqlx::query(
        "UPDATE sessions SET status = $1, exit_code = $2, ended_at = $3 WHERE id = $4 AND status = 'active'",
    )
    .bind(status.as_str())
    .bind(exit_code)
    .bind(draft.now.wall.0)
    .bind(session.to_string())
    .execute(&mut draft.conn)
    .await?;
    if ended.rows_affected() == 0 {
        return Ok(false);
    }
    let value = match exit_code {
        Some(code) => format!("{}, exit code {code}", status.as_str()),
        None => status.as_str().to_owned(),
    };
    draft
        .record(AuditEvent {
            session: Some(session),
            value: Some(value),
            ..AuditEvent::new(EventName::SessionEnd)
        })
        .await?;
    Ok(true)
}

pub(crate) async fn resume_paused(draft: &mut Draft, resume: Resume) -> Result<bool, BackendError> {
    let resumed = sqlx::query(
        "UPDATE sessions SET paused_at = NULL, resumed_at = $1 WHERE id = $2 AND paused_at IS NOT NULL",
    )
    .bind(draft.now.wall.0)
    .bind(resume.session.to_string())
    .execute(&mut draft.conn)
    .await?;
    if resumed.rows_affected() == 0 {
        return Ok(false);
    }
    draft
        .record(AuditEvent {
            session: Some(resume.session),
            value: Some("routing resumed".to_owned()),
            source: Some(resume.source.to_string()),
            decided_by: Some(resume.decided_by),
            ..AuditEvent::new(EventName::PromptRouted)
        })
        .await?;
    Ok(true)
}

/// Children first: the keys between the tables stay whole at every step.
async fn forget(draft: &mut Draft, before: Timestamp) -> Result<u64, BackendError> {
    const OLD: &str = "(SELECT id FROM sessions WHERE status <> 'active' AND ended_at < $1)";
    for table in ["replies", "posts", "notices", "queued_texts", "prompts"] {
        let old = format!("DELETE FROM {table} WHERE session_id IN {OLD}");
        sqlx::query(sqlx::AssertSqlSafe(old)).bind(before.0).execute(&mut draft.conn).await?;
    }
    notices::forget_old(draft).await?;
    let forgotten = sqlx::query("DELETE FROM sessions WHERE status <> 'active' AND ended_at < $1")
        .bind(before.0)
        .execute(&mut draft.conn)
        .await?;
    Ok(forgotten.rows_affected())
}

pub(crate) fn sessions(
    what: &'static str,
    rows: Result<Vec<SqliteRow>, sqlx::Error>,
) -> Result<Vec<SessionRecord>, StoreError> {
    rows.map_err(BackendError::from)
        .and_then(|rows| rows.iter().map(session).collect())
        .map_err(attempting(format!("looking up {what}")))
}

fn session(row: &SqliteRow) -> Result<SessionRecord, BackendError> {
    let status: String = row.try_get("status")?;
    Ok(SessionRecord {
        id: parsed(row, "id", "session id")?,
        tool: row.try_get("tool")?,
        command: serde_json::from_str(row.try_get("command")?).map_err(|_| unreadable("command"))?,
        cwd: row.try_get("cwd")?,
        label: row.try_get("label")?,
        host_pid: row.try_get("host_pid")?,
        host_started: row.try_get::<i64, _>("host_started")? as u64,
        leader_pid: row.try_get("leader_pid")?,
        tool_pid: row.try_get("tool_pid")?,
        boot_id: row.try_get("boot_id")?,
        started_at: Timestamp(row.try_get("started_at")?),
        ended_at: row.try_get::<Option<i64>, _>("ended_at")?.map(Timestamp),
        exit_code: row.try_get("exit_code")?,
        status: SessionStatus::ALL
            .into_iter()
            .find(|known| known.as_str() == status)
            .ok_or(unreadable("session status"))?,
        paused_at: row.try_get::<Option<i64>, _>("paused_at")?.map(Timestamp),
    })
}
