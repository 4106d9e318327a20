//! Read-only pictures of what the hub knows, for commands.

use atlasbridge_model::answer::{self, Rules, default_value};
use atlasbridge_model::lifecycle::PromptState;
use atlasbridge_model::{Effect, Now, SafeDefault, Timestamp};
use atlasbridge_store::{OpenPrompt, PromptRecord, SessionRecord, SessionStatus};
use atlasbridge_wire::command::{ChoiceView, PromptView, SessionView};
use atlasbridge_wire::session::Health;

pub(crate) fn prompt_view(open: &OpenPrompt, now: Now) -> PromptView {
    let OpenPrompt { prompt, session } = open;
    let sighting = &prompt.sighting;
    PromptView {
        prompt_id: prompt.id.to_string(),
        session_id: session.id.to_string(),
        tool: session.tool.clone(),
        label: session.label.clone(),
        cwd: session.cwd.clone(),
        kind: sighting.kind.as_str().to_owned(),
        confidence: sighting.confidence.level().as_str().to_owned(),
        excerpt: sighting.excerpt.as_str().to_owned(),
        detail: sighting.detail.as_str().to_owned(),
        choices: sighting
            .rows()
            .map(|choice| ChoiceView {
                label: choice.label.clone(),
                keys: choice.keys(),
                refuses: choice.effect == Effect::Refuses,
            })
            .collect(),
        constraints: sighting.constraints.into(),
        expires_at: prompt.expires_at.map(Timestamp::rfc3339),
        expires_in_ms: prompt.deadline.map(|deadline| deadline.millis_after(now.boot)),
        created_at: prompt.created_at.rfc3339(),
        status: prompt.state.status().to_owned(),
        reason: prompt.state.reason().map(str::to_owned),
        word: prompt.state.word_for(sighting.takes).to_owned(),
        safe_default: safe_default(prompt),
        answers: Vec::new(),
    }
}

/// The same in a listing of what stands on screens: what nothing more becomes of from here is said to be still there.
pub(crate) fn standing_view(open: &OpenPrompt, rules: Rules, now: Now) -> PromptView {
    let mut view = prompt_view(open, now);
    let OpenPrompt { prompt, .. } = open;
    if prompt.state == PromptState::AwaitingReply {
        view.answers = answer::taken(&prompt.sighting, rules).into_iter().map(str::to_owned).collect();
    }
    prompt.state.standing_word(prompt.sighting.takes).clone_into(&mut view.word);
    view
}

pub(crate) fn safe_default(prompt: &PromptRecord) -> Option<String> {
    match SafeDefault::of(&prompt.sighting)? {
        SafeDefault::Refuse { .. } => default_value(&prompt.sighting).ok().map(|value| value.on_record()),
        SafeDefault::Enter => Some("enter".to_owned()),
        SafeDefault::EmptyLine => Some("empty line".to_owned()),
    }
}

/// Somebody may still answer it.
pub(crate) fn is_waiting(state: &PromptState) -> bool {
    matches!(state, PromptState::Created | PromptState::Routed | PromptState::AwaitingReply)
}

/// A session, with the states of those of its prompts that are not over.
pub(crate) fn session_view<'a>(
    session: &SessionRecord,
    prompts: u64,
    live: impl Iterator<Item = &'a PromptState> + Clone,
    now: Now,
) -> SessionView {
    let state = match session.status {
        SessionStatus::Active if live.clone().any(|state| *state == PromptState::AwaitingReply) => {
            "awaiting_reply"
        }
        SessionStatus::Active => "running",
        SessionStatus::Completed | SessionStatus::Crashed | SessionStatus::Terminated => "done",
    };
    let until = session.ended_at.unwrap_or(now.wall);
    SessionView {
        session_id: session.id.to_string(),
        tool: session.tool.clone(),
        command: session.command.clone(),
        cwd: session.cwd.clone(),
        label: session.label.clone(),
        status: session.status.as_str().to_owned(),
        state: state.to_owned(),
        pid: session.tool_pid,
        host_pid: session.host_pid,
        started_at: session.started_at.rfc3339(),
        ended_at: session.ended_at.map(Timestamp::rfc3339),
        uptime_seconds: until.0.saturating_sub(session.started_at.0).max(0) as u64 / 1_000,
        exit_code: session.exit_code,
        prompts,
        seconds_since_output: None,
        pty_alive: false,
        host_healthy: false,
        waiting: live.filter(|state| is_waiting(state)).count() as u64,
        paused: session.paused_at.is_some(),
    }
}

/// What the host of a running session says of it.
pub(crate) fn set_health(view: &mut SessionView, health: &Health) {
    if health.injecting {
        "injecting".clone_into(&mut view.state);
    }
    view.seconds_since_output = health.silent_for_ms.map(|millis| millis / 1_000);
    view.pty_alive = health.pty_alive;
    view.host_healthy = true;
}
