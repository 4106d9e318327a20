//! The crates of the workspace and what they depend on, as `cargo metadata` tells it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

/// All packages of the resolve graph. The values of `packages` and `edges` go by package id.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: String,
    members: BTreeSet<String>,
    pub packages: BTreeMap<String, Package>,
    edges: BTreeMap<String, Vec<Edge>>,
}

#[derive(Debug)]
pub(crate) struct Package {
    pub name: String,
    pub version: String,
    pub licence: Option<String>,
    pub manifest: String,
    /// As the manifest has them, optional and platform-specific ones included.
    pub declared: Vec<Declared>,
}

#[derive(Debug)]
pub(crate) struct Declared {
    pub name: String,
    pub kind: Kind,
}

#[derive(Debug)]
struct Edge {
    to: String,
    kinds: Vec<Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Dev,
}

impl Workspace {
    /// Asks cargo, without the network, about the crates of this platform: the answer must not depend on what else a
    /// machine has fetched before. A fresh checkout may lack a lock file; that narrows the answer, and the notes say so.
    pub(crate) fn load(root: &Path) -> anyhow::Result<(Self, Vec<String>)> {
        let host = host_platform()?;
        let attempts: [(&[&str], &str); 2] = [
            (&["--locked", "--filter-platform", &host], ""),
            (
                &["--filter-platform", &host],
                "Cargo.lock is not up to date: looked at what cargo would choose now",
            ),
        ];
        let mut last_error = String::new();
        for (arguments, note) in attempts {
            match cargo_metadata(root, arguments)? {
                Ok(json) => {
                    let notes = Some(note).filter(|note| !note.is_empty());
                    return Ok((Self::from_json(&json)?, notes.map(str::to_owned).into_iter().collect()));
                }
                Err(error) => last_error = error,
            }
        }
        bail!("cargo metadata failed; if crates are missing here, run `cargo fetch` once:\n{last_error}")
    }

    pub(crate) fn from_json(json: &Value) -> anyhow::Result<Self> {
        let mut packages = BTreeMap::new();
        for package in list(json, "packages")? {
            packages.insert(text(package, "id")?, Package::from_json(package)?);
        }
        let mut edges = BTreeMap::new();
        for node in list(&json["resolve"], "nodes")? {
            let out = list(node, "deps")?.iter().map(Edge::from_json);
            edges.insert(text(node, "id")?, out.collect::<anyhow::Result<_>>()?);
        }
        let members = list(json, "workspace_members")?;
        Ok(Self {
            root: text(json, "workspace_root")?,
            members: members.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            packages,
            edges,
        })
    }

    /// Our own crates.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &Package)> {
        let member = |id: &'_ String| self.packages.get_key_value(id);
        self.members.iter().filter_map(member).map(|(id, package)| (id.as_str(), package))
    }

    pub(crate) fn member_named(&self, name: &str) -> Option<&str> {
        self.members().find(|(_, package)| package.name == name).map(|(id, _)| id)
    }

    /// A shortest way, by names, from one package to each that its program would contain.
    pub(crate) fn ways_from<'a>(&'a self, start: &'a str) -> Vec<Vec<&'a str>> {
        let mut seen = BTreeSet::from([start]);
        let mut queue = VecDeque::from([(start, Vec::new())]);
        let mut ways = Vec::new();
        while let Some((id, mut way)) = queue.pop_front() {
            way.extend(self.packages.get(id).map(|package| package.name.as_str()));
            let linked = self.edges.get(id).into_iter().flatten();
            for edge in linked.filter(|edge| edge.kinds.contains(&Kind::Normal)) {
                if seen.insert(&edge.to) {
                    queue.push_back((&edge.to, way.clone()));
                }
            }
            ways.push(way);
        }
        ways
    }

    /// `crates/x/Cargo.toml:12`, the line that names the dependency.
    pub(crate) fn manifest_line(&self, package: &Package, dependency: &str) -> String {
        let shown = package
            .manifest
            .strip_prefix(&self.root)
            .map_or(package.manifest.as_str(), |rest| rest.trim_start_matches('/'));
        let manifest = std::fs::read_to_string(&package.manifest).unwrap_or_default();
        let names_it = |line: &str| {
            let rest = line.trim_start().strip_prefix(dependency);
            rest.is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
        };
        match manifest.lines().position(names_it) {
            Some(index) => format!("{shown}:{}", index + 1),
            None => shown.to_owned(),
        }
    }
}

impl Package {
    fn from_json(json: &Value) -> anyhow::Result<Self> {
        let declared = list(json, "dependencies")?.iter().map(|dependency| {
            Ok(Declared { name: text(dependency, "name")?, kind: Kind::from_json(&dependency["kind"])? })
        });
        Ok(Self {
            name: text(json, "name")?,
            version: text(json, "version")?,
            licence: json["license"].as_str().map(str::to_owned),
            manifest: text(json, "manifest_path")?,
            declared: declared.collect::<anyhow::Result<_>>()?,
        })
    }

    /// What the shipped crate is made of: everything but dev-dependencies.
    pub(crate) fn shipped(&self) -> impl Iterator<Item = &Declared> {
        self.declared.iter().filter(|declared| declared.kind != Kind::Dev)
    }
}

impl Edge {
    fn from_json(json: &Value) -> anyhow::Result<Self> {
        let kinds = list(json, "dep_kinds")?.iter().map(|kind| Kind::from_json(&kind["kind"]));
        Ok(Self { to: text(json, "pkg")?, kinds: kinds.collect::<anyhow::Result<_>>()? })
    }
}

impl Kind {
    fn from_json(json: &Value) -> anyhow::Result<Self> {
        match json.as_str() {
            None => Ok(Kind::Normal),
            Some("build") => Ok(Kind::Build),
            Some("dev") => Ok(Kind::Dev),
            Some(other) => bail!("cargo metadata names a kind of dependency that we do not know: {other}"),
        }
    }
}

fn cargo_metadata(root: &Path, arguments: &[&str]) -> anyhow::Result<Result<Value, String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(arguments)
        .current_dir(root)
        .output()
        .context("starting cargo")?;
    if !output.status.success() {
        return Ok(Err(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let json = serde_json::from_slice(&output.stdout).context("reading cargo's answer")?;
    Ok(Ok(json))
}

fn host_platform() -> anyhow::Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("starting rustc")?;
    let told = String::from_utf8_lossy(&output.stdout);
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc -vV names no host")
}

fn list<'a>(json: &'a Value, key: &str) -> anyhow::Result<&'a Vec<Value>> {
    json[key].as_array().with_context(|| format!("cargo metadata has no list `{key}`"))
}

fn text(json: &Value, key: &str) -> anyhow::Result<String> {
    let text = json[key].as_str();
    text.map(str::to_owned).with_context(|| format!("cargo metadata has no text `{key}`"))
}

#[cfg(test)]
pub(super) mod fake {
    use serde_json::json;

    use super::*;

    /// A workspace of these members, `("name", [("dependency", "normal")])`. Names that are not members become
    /// crates from outside, which may depend on each other through `outside`.
    pub(crate) fn workspace(members: &[(&str, &[(&str, &str)])], outside: &[(&str, &[&str])]) -> Workspace {
        let kind = |kind: &str| match kind {
            "normal" => Value::Null,
            other => json!(other),
        };
        let package = |name: &str, dependencies: &[(&str, &str)]| {
            let declared = dependencies.iter().map(|(name, of)| json!({"name": name, "kind": kind(of)}));
            json!({
                "id": name, "name": name, "version": "1.0.0", "license": "MIT",
                "manifest_path": format!("/fake/{name}/Cargo.toml"),
                "dependencies": declared.collect::<Vec<_>>(),
            })
        };
        let node = |name: &str, dependencies: &[(&str, &str)]| {
            let edges =
                dependencies.iter().map(|(name, of)| json!({"pkg": name, "dep_kinds": [{"kind": kind(of)}]}));
            json!({"id": name, "deps": edges.collect::<Vec<_>>()})
        };
        let outside: Vec<(&str, Vec<(&str, &str)>)> =
            outside.iter().map(|(name, to)| (*name, to.iter().map(|to| (*to, "normal")).collect())).collect();
        let all = || {
            let members = members.iter().map(|(name, to)| (*name, to.to_vec()));
            members.chain(outside.clone())
        };
        let json = json!({
            "packages": all().map(|(name, to)| package(name, &to)).collect::<Vec<_>>(),
            "resolve": {"nodes": all().map(|(name, to)| node(name, &to)).collect::<Vec<_>>()},
            "workspace_members": members.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            "workspace_root": "/fake",
        });
        Workspace::from_json(&json).unwrap()
    }
}
