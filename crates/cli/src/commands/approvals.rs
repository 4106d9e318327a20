//! `approvals`: the prompts that wait.

use atlasbridge_model::{Level, speech};
use atlasbridge_wire::command::{PromptView, Request, Response};

use crate::client::answered;
use crate::output::Output;

pub(super) fn run(json: bool, watch: bool, output: &Output) -> anyhow::Result<()> {
    let mut client = super::hub()?;
    if !watch {
        return show(client.ask(&Request::Approvals)?, json, output, false);
    }
    show(client.ask(&Request::Watch)?, json, output, true)?;
    loop {
        show(client.next()?, json, output, true)?;
    }
}

fn show(response: Response, json: bool, output: &Output, watch: bool) -> anyhow::Result<()> {
    let prompts = answered!(response, Response::Approvals { prompts } => prompts);
    match (json, watch) {
        (true, true) => return output.json_line(&prompts),
        (true, false) => return output.json(&prompts),
        (false, true) => output.clear(),
        (false, false) => {}
    }
    let header = ["prompt", "tool", "question", "choices", "state", "left"];
    output.table(&header, prompts.iter().map(row), "Nothing waits.");
    if output.is_terminal() && !prompts.is_empty() {
        output.line(&format!("\n{}", ways(&prompts)));
    }
    Ok(())
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
    let level = if prompt.confidence == Level::Low.as_str() { Level::Low } else { Level::High };
    let labels = prompt.choices.iter().map(|choice| speech::label(&choice.label, &choice.keys, level));
    let choices = if !prompt.choices.is_empty() {
        labels.collect::<Vec<_>>().join(" · ")
    } else if prompt.kind == "unknown" && !prompt.answers.is_empty() {
        prompt.answers.join(" · ")
    } else {
        prompt.kind.replace('_', " ")
    };
    vec![
        prompt.prompt_id.chars().take(8).collect(),
        tool,
        format!("{}{}", speech::possibly(level), prompt.excerpt.replace('\n', " ")),
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
