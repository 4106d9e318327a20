//! `adapters`: what is known of the dialogs of single tools, built in and the person's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use atlasbridge_detect::{Pack, Packs};
use atlasbridge_lab::UnknownAdapter;
use serde_json::json;

use crate::args::Adapters;
use crate::config::Paths;
use crate::output::Output;

pub(super) fn run(command: Adapters, output: &Output) -> anyhow::Result<()> {
    match command {
        Adapters::List { json } => list(&packs(&super::home()?)?, json, output)?,
        Adapters::Show { name } => output.raw(named(&packs(&super::home()?)?, &name)?.text()),
        Adapters::Check { file } => {
            let text = read(&file)?;
            let pack = Pack::parse(&text, &file)?;
            output.line(&format!(
                "{} holds: {} for {}",
                file.display(),
                pack.name(),
                pack.binaries().join(", ")
            ));
        }
    }
    Ok(())
}

/// Those in the binary, and the person's own over them.
pub(super) fn packs(paths: &Paths) -> anyhow::Result<Packs> {
    let mut files: Vec<PathBuf> = match fs::read_dir(paths.adapters()) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        // Most people have none of their own.
        Err(_) => return Ok(Packs::embedded()),
    };
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let texts = files.into_iter().map(|file| read(&file).map(|text| (file, text)));
    let texts = texts.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Packs::with_user(texts)?)
}

/// By its name, or by that of one of its programs: `openai` is an old name of codex.
pub(super) fn named(packs: &Packs, name: &str) -> Result<Arc<Pack>, UnknownAdapter> {
    let by_name = packs.iter().find(|pack| pack.name() == name);
    by_name
        .or_else(|| packs.iter().find(|pack| pack.binaries().iter().any(|binary| binary == name)))
        .ok_or_else(|| UnknownAdapter::new(name, packs))
}

fn read(file: &Path) -> anyhow::Result<String> {
    fs::read_to_string(file).with_context(|| format!("reading the adapter {}", file.display()))
}

fn list(packs: &Packs, json: bool, output: &Output) -> anyhow::Result<()> {
    let versions =
        |pack: &Pack| pack.proved().iter().map(|proved| proved.version.clone()).collect::<Vec<_>>();
    if json {
        let all: Vec<_> = packs
            .iter()
            .map(|pack| {
                json!({
                    "name": pack.name(),
                    "binaries": pack.binaries(),
                    "agent": pack.is_agent(),
                    "proved": versions(&pack),
                })
            })
            .collect();
        return output.json(&all);
    }
    let row = |pack: Arc<Pack>| {
        vec![pack.name().to_owned(), pack.binaries().join(", "), versions(&pack).join(", ")]
    };
    output.table(&["adapter", "programs", "proved on"], packs.iter().map(row), "There are no adapters.");
    Ok(())
}
