//! Two versions of one crate: twice the code, twice the advisories, and types that do not fit each other.

use std::collections::{BTreeMap, BTreeSet};

use super::Findings;
use super::metadata::Workspace;

/// Crates that may be there more than once, each with its reason. Keep it short; `deny.toml` has the same names.
const ALLOWED: &[(&[&str], &str)] = &[
    (
        &["block-buffer", "cpufeatures", "crypto-common", "digest", "sha2"],
        "sqlx checks its migrations with the older generation of RustCrypto",
    ),
    (&["hashbrown"], "sqlx, and indexmap behind it, are one version apart"),
    (&["syn"], "runs while building only; tracing-attributes and jiff-static have not moved to 3"),
    (&["base64"], "axum and reqwest are one version apart from hyper-util"),
    (&["getrandom"], "ring and rand_core, behind TLS and WebSocket, keep older ones"),
    (&["rand", "rand_core"], "tungstenite masks its frames with an older one than proptest uses in tests"),
    (&["sha1"], "tungstenite greets with the older generation of RustCrypto"),
    (&["synstructure"], "runs while building only; behind rustls and url are two generations of it"),
    (&["bitflags"], "never built: jiff's optional defmt asks for 1"),
];

pub(crate) fn allowed_names() -> impl Iterator<Item = &'static str> {
    ALLOWED.iter().flat_map(|(names, _reason)| names.iter().copied())
}

pub(crate) fn check(workspace: &Workspace) -> Findings {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in workspace.packages.values() {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);

    let mut findings = Findings::default();
    for (name, versions) in &versions {
        if !allowed_names().any(|allowed| allowed == *name) {
            let versions: Vec<&str> = versions.iter().copied().collect();
            let what = format!(
                "is there as {}: choose one, or add it with a reason to duplicates.rs",
                versions.join(" and ")
            );
            findings.problem(*name, what);
        }
    }
    // Not a problem: on another platform it may still be there.
    for name in allowed_names().filter(|name| !versions.contains_key(name)) {
        findings.warn(name, "is no longer there twice: its row in duplicates.rs can go");
    }
    findings
}
