//! The hub and what it keeps: reachable, of our version, its channels connected, its records whole.

use atlasbridge_model::speech;
use atlasbridge_store::{Verification, VerifyError, verify};
use atlasbridge_wire::command::{ChannelView, HubView};

use crate::client::{Client, ClientError};
use crate::config::{Paths, quoted};
use crate::output::chain;

use super::super::hub::state_of;
use super::Findings;

const RESTART: &str = "run: atlasbridge hub restart";

pub(super) fn checks(paths: &Paths, findings: &mut Findings) {
    match status(paths) {
        Ok(None) => findings.ok("hub", "does not run; it starts by itself with `atlasbridge run TOOL`"),
        Ok(Some(view)) => running(&view, findings),
        Err(error) => findings.problem("hub", chain(&error), RESTART),
    }
    records(paths, findings);
}

/// What the running hub says of itself; one that does not run is not started.
pub(super) fn status(paths: &Paths) -> Result<Option<HubView>, ClientError> {
    Client::if_running(paths)?.map(|mut client| client.status()).transpose()
}

fn running(view: &HubView, findings: &mut Findings) {
    let ours = env!("CARGO_PKG_VERSION");
    if view.version == ours {
        findings.ok("hub", format!("runs, pid {}, version {ours}", view.pid));
    } else {
        let says = format!("runs as version {}, and this is {ours}", view.version);
        findings.warning("hub", says, format!("{RESTART}; sessions go on"));
    }
    if let Some(trouble) = &view.trouble {
        let next = "make room on the disk, or see ATLASBRIDGE_HOME/hub.log; the terminal answers as always";
        findings.problem("hub", speech::trouble(trouble), next);
    }
    view.channels.iter().for_each(|view| channel(view, findings));
}

/// As `status` shows it.
fn channel(channel: &ChannelView, findings: &mut Findings) {
    let name = format!("channel {}", channel.name);
    let says = state_of(channel);
    match channel.state.as_str() {
        "connected" | "starting" => findings.ok(&name, says),
        "stopped" => findings.problem(&name, says, format!("mend what it says, then {RESTART}")),
        _ => findings.warning(&name, says, "it is tried again by itself; other channels go on"),
    }
}

fn records(paths: &Paths, findings: &mut Findings) {
    let log = paths.audit_log();
    let database = Some(paths.database()).filter(|file| file.exists());
    if database.is_none() && !log.exists() {
        return findings.ok("audit", "nothing is on record yet");
    }
    let verdict = verify(&log, database.as_deref());
    if let Some(file) = database.filter(|_| !matches!(verdict, Err(VerifyError::Database { .. }))) {
        findings.ok("database", format!("{} opens", file.display()));
    }
    match &verdict {
        Ok(verdict @ Verification::Good { .. }) => findings.ok("audit", verdict.to_string()),
        Ok(verdict @ (Verification::TornTail { .. } | Verification::Behind { .. })) => {
            findings.warning("audit", verdict.to_string(), RESTART);
        }
        Ok(verdict) => {
            let next = "run: atlasbridge audit verify; docs/audit.md says what each verdict means";
            findings.problem("audit", verdict.to_string(), next);
        }
        Err(error @ VerifyError::Log { .. }) => {
            findings.problem("audit", chain(error), format!("look at it: ls -l {}", quoted(&log)));
        }
        // Without the database the log cannot be judged whole.
        Err(error @ VerifyError::Database { .. }) => {
            let next =
                "keep a copy of it, and see docs/audit.md; prompts are answered at the terminal meanwhile";
            findings.problem("database", chain(error), next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::only;
    use super::*;
    use crate::output::Severity;

    #[track_caller]
    fn check(state: &str, detail: Option<&str>, expected: Severity) {
        let view = ChannelView {
            name: "telegram".to_owned(),
            state: state.to_owned(),
            detail: detail.map(str::to_owned),
            address: None,
        };
        let finding = only(|findings| channel(&view, findings));
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
