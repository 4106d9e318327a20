//! `lab`: rehearse the detector.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use atlasbridge_detect::recording::replay;
use atlasbridge_detect::{DetectorConfig, Moment, Packs};
use atlasbridge_lab::{
    Explanation, LabConfig, PLANNED, Planned, PromptLine, PromptTiming, RecordConfig, Rehearsal,
    RehearseError, SCENARIOS, Scenario, detector_config, explain, planned_scenario, read_cast, record,
    rehearse, scenario,
};
use atlasbridge_pty::{Signal, Signals};
use serde_json::{Value, json};

use super::run::{name_of, tell_not_started};
use crate::args::{ExplainArgs, Lab, ReplayArgs};
use crate::client::SESSION_MARKER;
use crate::config::{Environment, Paths, environment_of_others};
use crate::output::Output;
use crate::spelling::nearest;

/// The command line asks for something that is not there; exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadUsage(String);

pub(super) fn run(command: Lab, output: &Output) -> anyhow::Result<ExitCode> {
    match command {
        Lab::List { json } => list(json, output)?,
        Lab::Run { scenarios, all, json } => return run_scenarios(&scenarios, all, json, output),
        Lab::Replay(args) => replay_file(&args, output)?,
        Lab::Explain(args) => explain_file(&args, output)?,
        Lab::Record { output: file, tool } => return record_tool(file, tool, output),
    }
    Ok(ExitCode::SUCCESS)
}

const IMPLEMENTED: &str = "implemented";

fn list(json: bool, output: &Output) -> anyhow::Result<()> {
    let implemented = SCENARIOS
        .iter()
        .map(|scenario| [scenario.id, scenario.name, Scenario::PLATFORM, IMPLEMENTED, scenario.shows]);
    let planned = PLANNED
        .iter()
        .map(|scenario| [scenario.id, scenario.name, scenario.platform, "planned", scenario.because]);
    let mut rows: Vec<_> = implemented.chain(planned).collect();
    rows.sort_unstable();
    if json {
        let rows = rows.iter().map(|[id, name, platform, status, says]| {
            let is_implemented = *status == IMPLEMENTED;
            json!({
                "id": id, "name": name, "platform": platform, "status": status,
                "shows": is_implemented.then_some(says), "reason": (!is_implemented).then_some(says),
            })
        });
        return output.json(&rows.collect::<Vec<_>>());
    }
    let cells = rows.iter().map(|row| row.map(str::to_owned).to_vec());
    output.table(&["scenario", "name", "platform", "status", "shows, or why not"], cells, "");
    let count =
        format!("{} scenarios: {} implemented, {} planned", rows.len(), SCENARIOS.len(), PLANNED.len());
    if output.is_terminal() {
        output.line(&format!(
            "\n{count}.\nPlay one with `atlasbridge lab run QA-001` or by its name, all with `atlasbridge lab run --all`."
        ));
    } else {
        // A program that reads rows gets rows alone.
        output.notice(&count);
    }
    Ok(())
}

fn run_scenarios(words: &[String], all: bool, json: bool, output: &Output) -> anyhow::Result<ExitCode> {
    let chosen = chosen(words, all)?;
    if std::env::var_os(SESSION_MARKER).is_some() {
        let why = "its answers would count as the tool's own; use another terminal";
        return Err(BadUsage(format!("the lab does not rehearse inside a session: {why}")).into());
    }
    let config = LabConfig {
        program: std::env::current_exe().context("finding our own binary")?,
        scratch: std::env::temp_dir(),
        env: environment_of_others(),
    };
    // Blocked, so that an interrupted rehearsal ends its processes before it ends itself.
    let interrupts =
        Signals::block(&[Signal::INT, Signal::TERM, Signal::HUP]).context("taking over signals")?;
    let mut rehearsals = Vec::new();
    for (number, scenario) in chosen.iter().enumerate() {
        output.progress(&format!("{}/{} {} {} …", number + 1, chosen.len(), scenario.id, scenario.name));
        let held = rehearse(scenario, &config, &interrupts);
        output.progress("");
        match held {
            Ok(rehearsal) => rehearsals.push(rehearsal),
            Err(RehearseError::Interrupted(signal)) => {
                return Ok(ExitCode::from(u8::try_from(128 + signal.as_raw()).unwrap_or(1)));
            }
            Err(error) => return Err(error).context(format!("rehearsing {}", scenario.id)),
        }
    }
    if json {
        output.json(&rehearsals.iter().map(as_json).collect::<Vec<_>>())?;
    } else {
        show(&rehearsals, output);
    }
    let has_failed = rehearsals.iter().any(|rehearsal| !rehearsal.passed());
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn chosen(words: &[String], all: bool) -> Result<Vec<&'static Scenario>, BadUsage> {
    if all {
        return Ok(SCENARIOS.iter().collect());
    }
    if words.is_empty() {
        let known = "`atlasbridge lab list` lists them";
        return Err(BadUsage(format!("name a scenario, for instance QA-001, or say --all; {known}")));
    }
    words.iter().map(|word| meant_by(word)).collect()
}

fn meant_by(word: &str) -> Result<&'static Scenario, BadUsage> {
    if let Some(Planned { id, name, because, .. }) = planned_scenario(word) {
        return Err(BadUsage(format!("{id} ({name}) cannot be played: {because}")));
    }
    scenario(word).ok_or_else(|| {
        let known: Vec<&str> = SCENARIOS.iter().flat_map(|scenario| [scenario.id, scenario.name]).collect();
        // Numbers are near each other in letters alone: QA-777 is no slip for QA-007.
        let is_number = word.chars().any(|char| char.is_ascii_digit());
        let meant = nearest(word, &known).filter(|_| !is_number);
        let meant = meant.map(|meant| format!(", did you mean {meant}?")).unwrap_or_default();
        BadUsage(format!("there is no scenario {word}{meant}; `atlasbridge lab list` lists them"))
    })
}

fn show(rehearsals: &[Rehearsal], output: &Output) {
    let row = |rehearsal: &Rehearsal| {
        let slowest = |time: fn(&PromptTiming) -> Option<Duration>| {
            millis(rehearsal.prompts.iter().filter_map(time).max())
        };
        let grown = |(before, after)| format!("{:+} KiB", after as i64 - before as i64);
        vec![
            rehearsal.scenario.id.to_owned(),
            rehearsal.scenario.name.to_owned(),
            if rehearsal.passed() { "passed" } else { "FAILED" }.to_owned(),
            rehearsal.prompts.len().to_string(),
            slowest(|prompt| prompt.offered_after),
            slowest(|prompt| prompt.taken_after),
            format!("{:.1} s", rehearsal.took.as_secs_f64()),
            rehearsal.memory_kib.map(grown).unwrap_or_default(),
        ]
    };
    let header =
        ["scenario", "name", "result", "prompts", "prompt → offered", "answer → taken", "took", "memory"];
    output.table(&header, rehearsals.iter().map(row), "");
    for rehearsal in rehearsals.iter().filter(|rehearsal| !rehearsal.passed()) {
        output.line(&format!("\n{} {}:", rehearsal.scenario.id, rehearsal.scenario.name));
        for problem in &rehearsal.problems {
            output.line(&format!("  {problem}"));
        }
    }
    if output.is_terminal() {
        let passed = rehearsals.iter().filter(|rehearsal| rehearsal.passed()).count();
        let all = rehearsals.len();
        output.line(&format!("\n{passed} of {all} passed. Times are those of the slowest prompt."));
    }
}

fn millis(time: Option<Duration>) -> String {
    time.map_or_else(|| "-".to_owned(), |time| format!("{:.1} ms", time.as_secs_f64() * 1e3))
}

fn as_json(rehearsal: &Rehearsal) -> Value {
    let millis = |time: Option<Duration>| time.map(|time| time.as_secs_f64() * 1e3);
    let prompts = rehearsal.prompts.iter().map(|prompt| {
        json!({
            "kind": prompt.kind,
            "excerpt": prompt.excerpt,
            "offered_ms": millis(prompt.offered_after),
            "taken_ms": millis(prompt.taken_after),
        })
    });
    json!({
        "id": rehearsal.scenario.id,
        "name": rehearsal.scenario.name,
        "passed": rehearsal.passed(),
        "problems": rehearsal.problems,
        "took_ms": millis(Some(rehearsal.took)),
        "prompts": prompts.collect::<Vec<_>>(),
        "memory_kib": rehearsal.memory_kib.map(|(before, after)| json!({ "first": before, "last": after })),
    })
}

fn replay_file(args: &ReplayArgs, output: &Output) -> anyhow::Result<()> {
    let config = config_for(args.adapter.as_deref(), Some(&args.file))?;
    let recording = read_cast(&args.file)?;
    let began = Instant::now();
    let replayed = replay(&recording, config);
    let took = began.elapsed();
    let prompts: Vec<_> = replayed.iter().map(PromptLine::from).collect();
    if args.json {
        for prompt in &prompts {
            output.json_line(prompt)?;
        }
    } else {
        let header = ["at", "kind", "sure", "question", "choices", "gone"];
        output.table(&header, prompts.iter().map(row), "No prompt was seen.");
    }
    if args.stats {
        let (length, took) = (recording.end.0.as_secs_f64(), took.as_secs_f64());
        let (millis, times) = (took * 1e3, length / took.max(1e-9));
        output.notice(&format!("{length:.1} s of recording in {millis:.1} ms: {times:.0} times real time"));
    }
    Ok(())
}

fn row(prompt: &PromptLine) -> Vec<String> {
    let choices = prompt.choices.iter().zip(&prompt.keys).enumerate().map(|(row, (label, keys))| {
        let refuses = if prompt.refuses == Some(row) { ", refuses" } else { "" };
        format!("{label} ({}{refuses})", keys.escape_debug())
    });
    vec![
        format!("{:.3}", prompt.t),
        prompt.kind.replace('_', " "),
        prompt.confidence.to_owned(),
        prompt.excerpt.replace('\n', " "),
        choices.collect::<Vec<_>>().join(" · "),
        prompt.gone_at.map_or_else(|| "-".to_owned(), |gone| format!("{gone:.3}")),
    ]
}

fn explain_file(args: &ExplainArgs, output: &Output) -> anyhow::Result<()> {
    let config = config_for(args.adapter.as_deref(), Some(&args.file))?;
    let at = Duration::try_from_secs_f64(args.at).map_err(|_| {
        BadUsage("--at takes the seconds since the recording began, for instance 3.5".to_owned())
    })?;
    let recording = read_cast(&args.file)?;
    if at > recording.end.0 {
        output.warn(&format!(
            "the recording ends at {:.3} s; shown is what it would be with nothing more happening",
            recording.end.0.as_secs_f64()
        ));
    }
    let explanation = explain(&recording, config, Moment(at));
    if args.json {
        return output.json(&explanation_json(&explanation));
    }
    show_explanation(&explanation, output);
    Ok(())
}

fn show_explanation(explanation: &Explanation, output: &Output) {
    let (row, column) = explanation.cursor;
    let (cols, rows) = explanation.size;
    let kind = if explanation.is_alternate { "full-screen program" } else { "ordinary screen" };
    let rule = "─".repeat(usize::from(cols).min(100));
    output.line(&format!("┌{rule}"));
    for text in &explanation.screen {
        output.line(&format!("│{text}"));
    }
    output.line(&format!("└{rule}"));
    let mut fields = vec![
        ("at", format!("{:.3} s", explanation.at.0.as_secs_f64())),
        ("screen", format!("{cols}×{rows}, {kind}; cursor in row {row}, column {column}")),
        ("kernel", explanation.kernel.clone()),
        ("decision", explanation.decision.clone()),
    ];
    if !explanation.title.is_empty() {
        fields.insert(2, ("title", explanation.title.clone()));
    }
    for (number, reason) in explanation.reasons.iter().enumerate() {
        fields.push((if number == 0 { "why" } else { "" }, reason.clone()));
    }
    output.fields(&fields);
}

fn explanation_json(explanation: &Explanation) -> Value {
    let (row, column) = explanation.cursor;
    let (cols, rows) = explanation.size;
    json!({
        "at": explanation.at.0.as_secs_f64(),
        "screen": explanation.screen,
        "cursor": { "row": row, "column": column },
        "size": { "cols": cols, "rows": rows },
        "alternate": explanation.is_alternate,
        "title": explanation.title,
        "kernel": explanation.kernel,
        "decision": explanation.decision,
        "reasons": explanation.reasons,
    })
}

fn record_tool(file: Option<PathBuf>, words: Vec<OsString>, output: &Output) -> anyhow::Result<ExitCode> {
    let mut words = words.into_iter();
    let program = words.next().context("a tool must be named")?;
    let tool = name_of(&program);
    let started_at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let file = file.unwrap_or_else(|| free_name(&tool));
    let known = packs()?.for_program(&tool).map(|pack| pack.name().to_owned());
    let detector = config_for(known.as_deref(), None)?;
    let recorded = record(&RecordConfig {
        tool,
        program: program.clone(),
        args: words.collect(),
        env: environment_of_others(),
        output: file.clone(),
        started_at: started_at.as_secs(),
        detector,
    })?;
    if let Some(error) = &recorded.not_started {
        tell_not_started(&program, recorded.code, error, output);
    }
    output.notice(&format!(
        "recorded {:.1} s to {}; {} in the draft of its label, {}, to be corrected by you",
        recorded.length.as_secs_f64(),
        file.display(),
        match recorded.prompts {
            1 => "1 prompt is".to_owned(),
            count => format!("{count} prompts are"),
        },
        recorded.label.display()
    ));
    if recorded.hides_keys {
        output.notice("text typed while the terminal did not show it is written as bullets");
    }
    if let Some(trouble) = &recorded.trouble {
        output.warn(&format!("the recording is not whole: {trouble}"));
    }
    Ok(ExitCode::from(u8::try_from(recorded.code & 0xff).unwrap_or(1)))
}

/// `TOOL.cast`, or with the first free number.
fn free_name(tool: &str) -> PathBuf {
    let is_free = |path: &PathBuf| !path.exists() && !path.with_extension("json").exists();
    let numbered = (2..).map(|number: u32| format!("{tool}-{number}.cast"));
    let names = std::iter::once(format!("{tool}.cast")).chain(numbered);
    names.map(PathBuf::from).find(is_free).unwrap_or_default()
}

/// How a recording of this tool is read.
fn config_for(adapter: Option<&str>, file: Option<&Path>) -> anyhow::Result<DetectorConfig> {
    Ok(detector_config(adapter, file, &packs()?)?)
}

/// Those in the binary and the person's own; nothing is made where they lie.
fn packs() -> anyhow::Result<Packs> {
    super::adapters::packs(&Paths::new(&Environment::of_process())?)
}
