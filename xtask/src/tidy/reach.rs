//! Which crates from outside a room may name, and what must not be in its program even by way of others.

use super::Findings;
use super::metadata::Workspace;

/// The rules take values and return values: no runtime, no database, no network, no kernel.
const PURE: [&str; 3] = ["atlasbridge-model", "atlasbridge-detect", "atlasbridge-policy"];
const WORLD: [&str; 9] = ["tokio", "sqlx", "rusqlite", "reqwest", "hyper", "axum", "nix", "libc", "rustix"];

struct Ban {
    package: &'static str,
    promise: &'static str,
    /// A name that ends in `*` stands for all that begin so.
    never: &'static [&'static str],
}

/// `cargo metadata` knows one set of features for the whole workspace. So a way may be shown that exists only because
/// another crate of ours has switched a feature on; as our binary is one build, it then exists in truth.
const BANS: &[Ban] = &[
    Ban {
        package: "atlasbridge-session-host",
        promise: "session-host must not be able to reach the internet or the database, and has no runtime",
        never: &[
            "tokio",
            "tokio-*",
            "async-std",
            "smol",
            "futures-executor",
            "reqwest",
            "hyper",
            "hyper-*",
            "h2",
            "axum",
            "axum-*",
            "tower-http",
            "ureq",
            "curl",
            "curl-*",
            "isahc",
            "tungstenite",
            "rustls",
            "native-tls",
            "openssl",
            "sqlx",
            "sqlx-*",
            "rusqlite",
            "libsqlite3-sys",
            "postgres",
            "diesel",
        ],
    },
    Ban {
        package: "atlasbridge-hub",
        promise: "hub must not be able to reach a terminal or read a screen",
        never: &["atlasbridge-pty", "atlasbridge-detect"],
    },
    Ban {
        package: "atlasbridge-agents",
        promise: "agents must not be able to type or reach a channel or the database, and has no runtime",
        never: &[
            "atlasbridge-pty",
            "atlasbridge-session-host",
            "atlasbridge-store",
            "atlasbridge-channel",
            "atlasbridge-web",
            "atlasbridge-hub",
            "tokio",
            "reqwest",
            "hyper",
            "rustls",
            "sqlx",
        ],
    },
];

pub(crate) fn check(workspace: &Workspace) -> Findings {
    let mut findings = Findings::default();
    check_direct(workspace, &mut findings);
    check_transitive(workspace, &mut findings);
    findings
}

fn check_direct(workspace: &Workspace, findings: &mut Findings) {
    for (_, package) in workspace.members() {
        let is_pure = PURE.contains(&package.name.as_str());
        for dependency in package.shipped() {
            let name = dependency.name.as_str();
            let broken = match name {
                _ if is_pure && WORLD.contains(&name) => "is pure and must not be able to touch the world",
                "serde" | "serde_json" if package.name == "atlasbridge-model" => {
                    "must not be able to leave the process by itself: `wire` and `store` own the serialised twins"
                }
                _ => continue,
            };
            let what = format!("{} {broken} (→ {name})", package.name);
            findings.problem(workspace.manifest_line(package, name), what);
        }
    }
}

fn check_transitive(workspace: &Workspace, findings: &mut Findings) {
    for ban in BANS {
        let Some(start) = workspace.member_named(ban.package) else {
            continue;
        };
        for way in workspace.ways_from(start) {
            let name = way.last().copied().unwrap_or_default();
            if ban.never.iter().any(|pattern| matches(pattern, name)) {
                findings.problem(ban.package, format!("{}: {}", ban.promise, way.join(" → ")));
            }
        }
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::super::metadata::fake::workspace;
    use super::*;

    #[test]
    fn the_pure_rooms_name_nothing_of_the_world() {
        let fake = workspace(
            &[("atlasbridge-detect", &[("tokio", "normal"), ("regex", "normal")])],
            &[("tokio", &[])],
        );
        assert_eq!(check(&fake).problems.len(), 1);
        let fake = workspace(&[("atlasbridge-model", &[("serde", "normal"), ("tokio", "dev")])], &[]);
        assert_eq!(
            check(&fake).problems,
            [
                "atlasbridge-model/Cargo.toml: atlasbridge-model must not be able to leave the process by itself: \
              `wire` and `store` own the serialised twins (→ serde)"
            ]
        );
    }

    #[test]
    fn a_ban_holds_by_way_of_others() {
        let fake = workspace(
            &[("atlasbridge-session-host", &[("innocent", "normal"), ("harness", "dev")])],
            &[
                ("innocent", &["middle"]),
                ("middle", &["sqlx-core"]),
                ("sqlx-core", &[]),
                ("harness", &["tokio"]),
                ("tokio", &[]),
            ],
        );
        assert_eq!(
            check(&fake).problems,
            [
                "atlasbridge-session-host: session-host must not be able to reach the internet or the database, and has no \
              runtime: atlasbridge-session-host → innocent → middle → sqlx-core"
            ]
        );
    }

    #[test]
    fn the_hub_reaches_no_terminal_by_way_of_another_room() {
        let fake = workspace(
            &[
                ("atlasbridge-hub", &[("atlasbridge-web", "normal")]),
                ("atlasbridge-web", &[("atlasbridge-pty", "normal")]),
                ("atlasbridge-pty", &[]),
            ],
            &[],
        );
        assert_eq!(check(&fake).problems.len(), 1);
    }

    #[test]
    fn circles_end() {
        let fake = workspace(&[("atlasbridge-hub", &[("a", "normal")])], &[("a", &["b"]), ("b", &["a"])]);
        assert!(check(&fake).problems.is_empty());
    }
}
