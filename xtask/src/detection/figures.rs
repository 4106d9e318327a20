//! The figures that may not become worse, as they are committed.

use std::collections::BTreeMap;

use anyhow::Context;
use serde_json::{Map, Value, json};

use super::Report;
use super::score::Tally;

/// Which way is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worse {
    Less,
    More,
    /// It describes the recordings, not the detector.
    Neither,
}

/// A figure of a row: its name, which way is worse, and how it is taken.
type Figure = (&'static str, Worse, fn(&Tally) -> u64);

const FIGURES: [Figure; 17] = [
    ("recordings", Worse::Neither, |tally| tally.recordings),
    ("prompts", Worse::Neither, |tally| tally.prompts),
    ("found", Worse::Less, |tally| tally.found),
    ("repeated", Worse::More, |tally| tally.repeated),
    ("false", Worse::More, |tally| tally.wrong),
    ("possible", Worse::More, |tally| tally.possible),
    ("with_choices", Worse::Neither, |tally| tally.with_choices),
    ("choices_exact", Worse::Less, |tally| tally.choices_exact),
    ("refusing_right", Worse::Less, |tally| tally.refusing_right),
    ("keys_exact", Worse::Less, |tally| tally.keys_exact),
    ("choices_exact_as_made", Worse::Less, |tally| tally.choices_exact_as_made),
    ("keys_exact_as_made", Worse::Less, |tally| tally.keys_exact_as_made),
    ("latency_p50_ms", Worse::More, |tally| tally.latency_ms(0.5).unwrap_or(0)),
    ("latency_p95_ms", Worse::More, |tally| tally.latency_ms(0.95).unwrap_or(0)),
    ("after_byte_p50_ms", Worse::More, |tally| tally.after_byte_ms(0.5).unwrap_or(0)),
    ("after_byte_p95_ms", Worse::More, |tally| tally.after_byte_ms(0.95).unwrap_or(0)),
    ("in_quiet", Worse::More, |tally| tally.in_quiet),
];

/// Rows by name (`all`, `tool claude`, `kind yes_no`), figures by theirs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Figures(BTreeMap<String, BTreeMap<String, u64>>);

impl Figures {
    pub(super) fn of(report: &Report) -> Self {
        let row =
            |tally: &Tally| FIGURES.iter().map(|(name, _, take)| ((*name).to_owned(), take(tally))).collect();
        let tools = report.tools.iter().map(|(tool, tally)| (format!("tool {tool}"), row(tally)));
        let kinds = report.kinds.iter().map(|(kind, tally)| (format!("kind {kind}"), row(tally)));
        let variants = report.variants.iter().map(|(name, tally)| (format!("variant {name}"), row(tally)));
        let left_out =
            report.left_out.iter().map(|(tool, tally)| (format!("without pack {tool}"), row(tally)));
        let witnesses = report.witnesses.iter().map(|(name, tally)| (format!("witness {name}"), row(tally)));
        let all =
            [("all".to_owned(), row(&report.all)), ("agent dialogs".to_owned(), row(&report.agent_dialogs))];
        let rows = all.into_iter().chain(tools).chain(kinds);
        Self(rows.chain(variants).chain(left_out).chain(witnesses).collect())
    }

    pub(super) fn to_json(&self) -> Value {
        let rows = self.0.iter().map(|(name, row)| (name.clone(), json!(row)));
        Value::Object(rows.collect::<Map<_, _>>())
    }

    pub(super) fn from_json(json: &Value) -> anyhow::Result<Self> {
        let rows = json.as_object().context("the figures are no object")?;
        let row = |(name, row): (&String, &Value)| {
            let figures = row.as_object().with_context(|| format!("{name} is no object"))?;
            let number = |(figure, value): (&String, &Value)| {
                let number = value.as_u64().with_context(|| format!("{name}, {figure} is no number"))?;
                Ok((figure.clone(), number))
            };
            Ok((name.clone(), figures.iter().map(number).collect::<anyhow::Result<_>>()?))
        };
        Ok(Self(rows.iter().map(row).collect::<anyhow::Result<_>>()?))
    }

    /// What has become worse, in sentences. A row that is new has nothing to be worse than.
    pub(super) fn worse_than(&self, committed: &Self) -> Vec<String> {
        let mut worse = Vec::new();
        for (name, before) in &committed.0 {
            let Some(now) = self.0.get(name) else {
                worse.push(format!("{name}: is no longer measured"));
                continue;
            };
            for (figure, direction, _) in FIGURES {
                let (Some(before), Some(now)) = (before.get(figure), now.get(figure)) else {
                    continue;
                };
                let is_worse = match direction {
                    Worse::Less => now < before,
                    Worse::More => now > before,
                    Worse::Neither => false,
                };
                if is_worse {
                    worse.push(format!("{name}: {figure} was {before} and is {now}"));
                }
            }
        }
        worse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(found: u64, wrong: u64) -> Figures {
        let tally = Tally { found, wrong, ..Tally::default() };
        Figures::of(&Report { all: tally, ..Report::default() })
    }

    #[test]
    fn worse_is_less_found_or_more_false() {
        let committed = figures(10, 1);
        assert_eq!(figures(9, 1).worse_than(&committed), ["all: found was 10 and is 9"]);
        assert_eq!(figures(11, 2).worse_than(&committed), ["all: false was 1 and is 2"]);
        assert!(figures(11, 0).worse_than(&committed).is_empty());
        assert_eq!(figures(10, 1).worse_than(&Figures::default()), Vec::<String>::new());
    }

    #[test]
    fn figures_survive_their_file() {
        let figures = figures(3, 4);
        assert_eq!(Figures::from_json(&figures.to_json()).unwrap(), figures);
    }
}
