//! What keeps a wrapped tool from answering its own prompts on this machine, and what does not (SECURITY.md).

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::client::SESSION_MARKER;
use crate::config::Paths;

use super::{Findings, hub};

/// Whether programs may type into a terminal they share: 0 is no, and kernels before 6.2 cannot say no.
const TIOCSTI: &str = "/proc/sys/dev/tty/legacy_tiocsti";
/// Who may look into a process of the same user: 0 is everybody. Absent where the kernel has no Yama.
const PTRACE_SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";

pub(super) fn checks(paths: &Paths, findings: &mut Findings) {
    let uid = rustix::process::geteuid().as_raw();
    let hub = hub::status(paths).ok().flatten();
    let owner = hub.and_then(|view| Some(fs::metadata(format!("/proc/{}/environ", view.pid)).ok()?.uid()));
    let setting = |file: &str| fs::read_to_string(file).ok();
    findings.ok(
        "protected",
        "a process inside a session is refused every decision, also after a double fork (session hosts are subreapers); \
         session hosts and hub let nobody attach to them (not dumpable); an answer that came by another way is told",
    );
    findings.ok(
        "not protected",
        "a tool that runs as you can leave its process tree, edit your files or replace programs: one user without a \
         sandbox is no boundary (SECURITY.md)",
    );
    root(uid, findings);
    dumpable(uid, owner, findings);
    tiocsti(setting(TIOCSTI).as_deref(), findings);
    ptrace(setting(PTRACE_SCOPE).as_deref(), findings);
    if std::env::var_os(SESSION_MARKER).is_some() {
        findings.warning(
            "session",
            "this runs inside a supervised session, where the hub refuses decisions and none can be started",
            "run it in a terminal of your own",
        );
    }
}

fn root(uid: u32, findings: &mut Findings) {
    if uid == 0 {
        findings.warning(
            "root",
            "you are root, whom nothing here refuses: a tool that runs as root can do everything AtlasBridge can",
            "run agents as an ordinary user",
        );
    }
}

/// What lies in `/proc/PID` belongs to root where the process is not dumpable; the directory itself does not tell. For
/// root it always does.
fn dumpable(uid: u32, owner: Option<u32>, findings: &mut Findings) {
    let Some(owner) = owner.filter(|_| uid != 0) else { return };
    match owner == uid {
        false => findings.ok("hub process", "nobody can attach to the running hub"),
        true => findings.problem(
            "hub process",
            "other processes of yours can attach to the running hub, and decide in its name",
            "run: atlasbridge hub restart; if it stays so, something on this machine switches the protection off",
        ),
    }
}

fn tiocsti(setting: Option<&str>, findings: &mut Findings) {
    match setting.map(str::trim) {
        Some("0") => findings.ok("tiocsti", "the kernel lets no program type into its terminal"),
        Some(_) => findings.warning(
            "tiocsti",
            "a tool may type into its own terminal (TIOCSTI), as if you had; that is noticed and told, not prevented",
            "run: sudo sysctl dev.tty.legacy_tiocsti=0",
        ),
        None => findings.warning(
            "tiocsti",
            "this kernel cannot keep a tool from typing into its own terminal (TIOCSTI); that is noticed and told",
            "a kernel from 6.2 on can, with dev.tty.legacy_tiocsti=0",
        ),
    }
}

fn ptrace(setting: Option<&str>, findings: &mut Findings) {
    match setting.map(str::trim) {
        Some("1" | "2" | "3") => findings.ok("ptrace", "a process can attach to its own children at most"),
        Some(_) => findings.warning(
            "ptrace",
            "a tool can attach to other programs of yours, such as a shell or a browser; not to ours",
            "run: sudo sysctl kernel.yama.ptrace_scope=1",
        ),
        None => findings.warning(
            "ptrace",
            "this kernel has no Yama, so a tool can attach to other programs of yours, such as a shell; not to ours",
            "run tools that you do not trust in a sandbox or as another user",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{found, only};
    use super::*;
    use crate::output::Severity;

    #[track_caller]
    fn check(look: impl FnOnce(&mut Findings), expected: Severity) {
        let finding = only(look);
        assert_eq!(finding.state, expected, "{finding:?}");
    }

    #[test]
    fn settings_of_the_kernel() {
        check(|findings| tiocsti(Some("0\n"), findings), Severity::Ok);
        check(|findings| tiocsti(Some("1\n"), findings), Severity::Warning);
        check(|findings| tiocsti(None, findings), Severity::Warning);
        check(|findings| ptrace(Some("1\n"), findings), Severity::Ok);
        check(|findings| ptrace(Some("0\n"), findings), Severity::Warning);
        check(|findings| ptrace(None, findings), Severity::Warning);
    }

    #[test]
    fn a_hub_that_can_be_attached_to_is_a_problem() {
        check(|findings| dumpable(1000, Some(0), findings), Severity::Ok);
        check(|findings| dumpable(1000, Some(1000), findings), Severity::Problem);
        assert_eq!(found(|findings| dumpable(1000, None, findings)), []);
        assert_eq!(found(|findings| dumpable(0, Some(0), findings)), []);
        assert_eq!(found(|findings| root(0, findings)).len(), 1);
        assert_eq!(found(|findings| root(1000, findings)), []);
    }
}
