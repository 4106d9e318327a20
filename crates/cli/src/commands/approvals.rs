//! `approvals`: the prompts that wait.

use std::process::ExitCode;

use anyhow::bail;
use atlasbridge_model::{Level, speech};
use atlasbridge_wire::command::{PromptView, Request, Response};

use crate::client::Client;
use crate::output::Output;

pub(super) fn run(json: bool, watch: bool, output: &Output) -> anyhow::Result<ExitCode> {
    let paths = super::home()?;
    let mut client = Client::connect_or_start(&paths)?;
    if !watch {
        show(client.ask(&Request::Approvals)?, json, output, false)?;
        return Ok(ExitCode::SUCCESS);
    }
    show(client.ask(&Request::Watch)?, json, output, true)?;
    loop {
        show(client.next()?, json, output, true)?;
    }
}

fn show(response: Response, json: bool, output: &Output, watch: bool) -> anyhow::Result<()> {
    let prompts = match response {
        Response::Approvals { prompts } => prompts,
        Response::Refused { reason } | Response::Failed { reason } => bail!("{reason}"),
        other => bail!("the hub answered something else: {other:?}"),
    };
    match (json, watch) {
        (true, true) => output.json_line(&prompts)?,
        (true, false) => output.json(&prompts)?,
        (false, _) => {
            if watch {
                output.clear();
            }
            list(&prompts, output);
        }
    }
    Ok(())
}

fn list(prompts: &[PromptView], output: &Output) {
    if prompts.is_empty() {
        if output.is_terminal() {
            output.line("Nothing waits.");
        }
        return;
    }
    let rows: Vec<_> = prompts.iter().map(row).collect();
    output.table(&["prompt", "tool", "question", "choices", "state", "left"], &rows);
    if output.is_terminal() {
        output.line(&format!("\n{}", ways(prompts)));
    }
}

/// How these may be answered: no word that all of them would refuse.
fn ways(prompts: &[PromptView]) -> String {
    let takes = |word: &str| prompts.iter().any(|prompt| prompt.answers.iter().any(|taken| taken == word));
    let verbs: Vec<&str> = ["approve", "deny"].into_iter().filter(|word| takes(word)).collect();
    match (verbs.is_empty(), takes("cancel")) {
        (_, false) => "They are answered at their terminals.".to_owned(),
        (true, true) => {
            "Answer with `atlasbridge reply PROMPT VALUE`; `reply PROMPT cancel` leaves it to the terminal."
                .to_owned()
        }
        (false, true) => format!(
            "Answer with `atlasbridge {} PROMPT` or `atlasbridge reply PROMPT VALUE`.",
            verbs.join("|")
        ),
    }
}

fn row(prompt: &PromptView) -> Vec<String> {
    let tool = match &prompt.label {
        Some(label) => format!("{} ({label})", prompt.tool),
        None => prompt.tool.clone(),
    };
    let (level, possible) = match prompt.confidence == Level::Low.as_str() {
        true => (Level::Low, "possible prompt: "),
        false => (Level::High, ""),
    };
    let choices = match prompt.choices.is_empty() {
        true if prompt.answers.is_empty() || prompt.kind != "unknown" => prompt.kind.replace('_', " "),
        true => prompt.answers.join(" · "),
        false => prompt
            .choices
            .iter()
            .map(|choice| speech::label(&choice.label, &choice.keys, level))
            .collect::<Vec<_>>()
            .join(" · "),
    };
    vec![
        prompt.prompt_id.chars().take(8).collect(),
        tool,
        format!("{possible}{}", prompt.excerpt.replace('\n', " ")),
        choices,
        prompt.word.clone(),
        left(prompt),
    ]
}

/// Time left, and what happens then.
fn left(prompt: &PromptView) -> String {
    let is_over = prompt.status != "awaiting_reply" && prompt.status != "routed";
    match prompt.expires_in_ms {
        Some(_) if is_over => String::new(),
        millis => speech::left(millis.map(|millis| millis.div_ceil(1_000)), prompt.safe_default.as_deref()),
    }
}
