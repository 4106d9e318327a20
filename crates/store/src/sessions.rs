//! Sessions: one `atlasbridge run` each.

use atlasbridge_model::answer::Source;
use atlasbridge_model::audit::EventName;
use atlasbridge_model::{Now, SessionId, SessionStatus, Timestamp};

use crate::notices;
use crate::sql::record;
use crate::store::{BackendError, Draft, Store, StoreError};

record! {
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
        /// Its channels answered too often: nothing from there is accepted until an operator resumes it.
        pub paused_at: Option<Timestamp>,
    }
}

/// An operator lets the channels of a session answer again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    pub session: SessionId,
    pub source: Source,
    pub decided_by: String,
}

impl Store {
    /// Records a session. A host that reconnects says the same again: only pids that were missing are learnt then,
    /// and `false` comes back.
    pub async fn begin_session(&self, session: &SessionRecord, now: Now) -> Result<bool, StoreError> {
        let record = session.clone();
        self.write(recording(session.id), now, move |draft| Box::pin(begin(draft, record))).await
    }

    /// The tool's process id, once it runs.
    pub async fn set_tool_pid(&self, session: SessionId, pid: i32, now: Now) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE sessions SET tool_pid = $1 WHERE id = $2";
        self.change(recording(session), now, SQL, (pid, session)).await.map(drop)
    }

    /// Records the end. `false`: it had ended before, or there is no such session.
    pub async fn end_session(
        &self,
        session: SessionId,
        status: SessionStatus,
        exit_code: Option<i32>,
        now: Now,
    ) -> Result<bool, StoreError> {
        self.write(recording(session), now, move |draft| Box::pin(end(draft, session, status, exit_code)))
            .await
    }

    pub async fn session(&self, id: SessionId) -> Result<Option<SessionRecord>, StoreError> {
        self.one("the session", BY_ID, id).await
    }

    /// Newest first.
    pub async fn sessions(&self, limit: u32) -> Result<Vec<SessionRecord>, StoreError> {
        const SQL: &str = "SELECT * FROM sessions ORDER BY started_at DESC, id LIMIT $1";
        self.all("the sessions", SQL, limit).await
    }

    /// Oldest first.
    pub async fn active_sessions(&self) -> Result<Vec<SessionRecord>, StoreError> {
        const SQL: &str = "SELECT * FROM sessions WHERE status = 'active' ORDER BY started_at, id";
        self.all("the active sessions", SQL, ()).await
    }

    /// Forgets sessions that ended before this, with their prompts, replies and messages. The audit log forgets nothing: what
    /// was decided stays on record. Returns how many.
    pub async fn forget_ended_before(&self, before: Timestamp, now: Now) -> Result<u64, StoreError> {
        self.write("forgetting old sessions", now, move |draft| Box::pin(forget(draft, before))).await
    }

    /// How many prompts a session has had.
    pub async fn prompt_count(&self, session: SessionId) -> Result<u64, StoreError> {
        const SQL: &str = "SELECT COUNT(*) FROM prompts WHERE session_id = $1";
        Ok(self.one("the number of prompts", SQL, session).await?.unwrap_or_default())
    }
}

pub(crate) const BY_ID: &str = "SELECT * FROM sessions WHERE id = $1";

fn recording(session: SessionId) -> String {
    format!("recording session {session}")
}

async fn begin(draft: &mut Draft, session: SessionRecord) -> Result<bool, BackendError> {
    let what = (session.id, &session.tool, session.command, session.cwd, session.label);
    let processes = (session.host_pid, session.host_started, session.leader_pid, session.tool_pid);
    const NEW: &str =
        "INSERT INTO sessions (id, tool, command, cwd, label, host_pid, host_started, leader_pid, tool_pid, boot_id,
                               started_at, ended_at, exit_code, status)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, NULL, NULL, 'active')
         ON CONFLICT (id) DO NOTHING";
    if draft.run(NEW, (what, processes, session.boot_id, session.started_at)).await? == 0 {
        const LEARNT: &str =
            "UPDATE sessions SET leader_pid = COALESCE(leader_pid, $1), tool_pid = COALESCE(tool_pid, $2)
             WHERE id = $3";
        draft.run(LEARNT, (session.leader_pid, session.tool_pid, session.id)).await?;
        return Ok(false);
    }
    draft.note(EventName::SessionStart, Some(session.id), None, session.tool, None).await?;
    Ok(true)
}

async fn end(
    draft: &mut Draft,
    session: SessionId,
    status: SessionStatus,
    exit_code: Option<i32>,
) -> Result<bool, BackendError> {
    const ENDED: &str =
        "UPDATE sessions SET status = $1, exit_code = $2, ended_at = $3 WHERE id = $4 AND status = 'active'";
    if draft.run(ENDED, (status, exit_code, draft.now.wall, session)).await? == 0 {
        return Ok(false);
    }
    let code = exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
    let value = format!("{}{code}", status.as_str());
    draft.note(EventName::SessionEnd, Some(session), None, value, None).await?;
    Ok(true)
}

/// Changes nothing, and puts nothing on record, where the session was not paused.
pub(crate) async fn resume_paused(draft: &mut Draft, resume: Resume) -> Result<(), BackendError> {
    let Resume { session, source, decided_by } = resume;
    const RESUMED: &str =
        "UPDATE sessions SET paused_at = NULL, resumed_at = $1 WHERE id = $2 AND paused_at IS NOT NULL";
    if draft.run(RESUMED, (draft.now.wall, session)).await? == 0 {
        return Ok(());
    }
    let by = Some((&source, decided_by));
    draft.note(EventName::PromptRouted, Some(session), None, "routing resumed", by).await
}

/// Children first: the keys between the tables stay whole at every step.
async fn forget(draft: &mut Draft, before: Timestamp) -> Result<u64, BackendError> {
    const OLD: &str = "(SELECT id FROM sessions WHERE status <> 'active' AND ended_at < $1)";
    for table in ["replies", "posts", "notices", "queued_texts", "prompts"] {
        let old = format!("DELETE FROM {table} WHERE session_id IN {OLD}");
        draft.run(sqlx::AssertSqlSafe(old), before).await?;
    }
    notices::forget_old(draft).await?;
    draft.run("DELETE FROM sessions WHERE status <> 'active' AND ended_at < $1", before).await
}
