//! The hub and what it keeps: reachable, of our version, its channels connected, its records whole.

use atlasbridge_model::speech;
use atlasbridge_store::{Verification, VerifyError, verify};
use atlasbridge_wire::command::{ChannelView, HubView};

use crate::client::{Client, ClientError};
use crate::config::Paths;
use crate::output::chain;

use super::super::hub::state_of;
use super::Finding;

const RESTART: &str = "run: atlasbridge hub restart";

pub(super) fn checks(paths: &Paths) -> Vec<Finding> {
    let mut findings = match status(paths) {
        Ok(None) => vec![Finding::ok("hub", "does not run; it starts by itself with `atlasbridge run TOOL`")],
        Ok(Some(view)) => running(&view),
        Err(error) => vec![Finding::problem("hub", chain(&error), RESTART)],
    };
    findings.extend(records(paths));
    findings
}

/// What the running hub says of itself; one that does not run is not started.
pub(super) fn status(paths: &Paths) -> Result<Option<HubView>, ClientError> {
    Client::if_running(paths)?.map(|mut client| client.status()).transpose()
}

fn running(view: &HubView) -> Vec<Finding> {
    let ours = env!("CARGO_PKG_VERSION");
    let mut findings = vec![match view.version == ours {
        true => Finding::ok("hub", format!("runs, pid {}, version {ours}", view.pid)),
        false => Finding::warning(
            "hub",
            format!("runs as version {}, and this is {ours}", view.version),
            format!("{RESTART}; sessions go on"),
        ),
    }];
    findings.extend(view.trouble.as_ref().map(|trouble| {
        Finding::problem(
            "hub",
            speech::trouble(trouble),
            "make room on the disk, or see ATLASBRIDGE_HOME/hub.log; the terminal answers as always",
        )
    }));
    findings.extend(view.channels.iter().map(channel));
    findings
}

/// As `status` shows it.
fn channel(channel: &ChannelView) -> Finding {
    let name = format!("channel {}", channel.name);
    let says = state_of(channel);
    match channel.state.as_str() {
        "connected" | "starting" => Finding::ok(&name, says),
        "stopped" => Finding::problem(&name, says, format!("mend what it says, then {RESTART}")),
        _ => Finding::warning(&name, says, "it is tried again by itself; other channels go on"),
    }
}

fn records(paths: &Paths) -> Vec<Finding> {
    let database = Some(paths.database()).filter(|file| file.exists());
    if database.is_none() && !paths.audit_log().exists() {
        return vec![Finding::ok("audit", "nothing is on record yet")];
    }
    let verdict = verify(&paths.audit_log(), database.as_deref());
    let opened = database.map(|file| match &verdict {
        Err(error @ VerifyError::Database { .. }) => Finding::problem(
            "database",
            chain(error),
            "keep a copy of it, and see docs/audit.md; prompts are answered at the terminal meanwhile",
        ),
        Ok(_) | Err(VerifyError::Log { .. }) => Finding::ok("database", format!("{} opens", file.display())),
    });
    let audit = match &verdict {
        Ok(verdict @ Verification::Good { .. }) => Some(Finding::ok("audit", verdict.to_string())),
        Ok(verdict @ (Verification::TornTail { .. } | Verification::Behind { .. })) => {
            Some(Finding::warning("audit", verdict.to_string(), RESTART))
        }
        Ok(verdict) => Some(Finding::problem(
            "audit",
            verdict.to_string(),
            "run: atlasbridge audit verify; docs/audit.md says what each verdict means",
        )),
        Err(error @ VerifyError::Log { .. }) => Some(Finding::problem(
            "audit",
            chain(error),
            format!("look at it: ls -l {}", crate::config::quoted(&paths.audit_log())),
        )),
        // Told of the database, without which the log cannot be judged whole.
        Err(VerifyError::Database { .. }) => None,
    };
    opened.into_iter().chain(audit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Severity;

    #[track_caller]
    fn check(state: &str, detail: Option<&str>, expected: Severity) {
        let finding = channel(&ChannelView {
            name: "telegram".to_owned(),
            state: state.to_owned(),
            detail: detail.map(str::to_owned),
            address: None,
        });
        assert_eq!(finding.state, expected, "{finding:?}");
        assert_eq!(finding.next.is_some(), expected != Severity::Ok);
        assert!(finding.says.contains(detail.unwrap_or_default()), "{finding:?}");
    }

    #[test]
    fn a_channel_stands_as_status_shows_it() {
        check("connected", None, Severity::Ok);
        check("starting", None, Severity::Ok);
        check("retrying", Some("no network"), Severity::Warning);
        check("stopped", Some("the token was refused"), Severity::Problem);
    }
}
