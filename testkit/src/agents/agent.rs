//! The agents: which package at which version, how each is led to the model, and what it must find at home to begin at its
//! input box.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::model::{FakeModel, SMALL_MODEL};
use super::place::Place;
use super::proof::record_skipped;
use crate::packages::{try_npm_package, try_python_package};

/// No service takes it. The agents ask whether a key with these last characters may be used.
const API_KEY: &str = "sk-ant-fake-0123456789abcdefghij0123456789";

/// A file of the home, for an agent that heeds no proxy: the names of the internet are unknown to it.
const NO_NAMES: (&str, &str) = (
    "no-names.js",
    "const dns = require('dns');\nconst lookup = dns.lookup;\n\
     dns.lookup = (name, ...rest) => lookup(name === 'localhost' ? name : `${name}.invalid`, ...rest);\n",
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Claude,
    Codex,
    Gemini,
    Aider,
    Opencode,
    Qwen,
    Continue,
    Cline,
}

impl Tool {
    pub fn name(self) -> &'static str {
        match self {
            Tool::Claude => "claude",
            Tool::Codex => "codex",
            Tool::Gemini => "gemini",
            Tool::Aider => "aider",
            Tool::Opencode => "opencode",
            Tool::Qwen => "qwen",
            Tool::Continue => "continue",
            Tool::Cline => "cline",
        }
    }
}

/// A CLI at one version, ready to run.
#[derive(Debug, Clone)]
pub struct Agent {
    tool: Tool,
    version: &'static str,
    program: PathBuf,
}

/// What of its configuration an agent finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seed {
    /// Set up, and the project is trusted.
    Ready,
    /// Set up; the project is new to it.
    Untrusted,
    /// An empty home.
    Nothing,
}

/// The mode in which an agent starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It asks for everything that it can ask for.
    Asking,
    /// Nobody has told it any.
    Own,
}

impl Agent {
    /// Nothing, with a loud reason, if it cannot be had; so with all of them.
    pub fn claude(version: &'static str) -> Option<Self> {
        // From 2.1 on it is one native program; the package around it wants a newer node than it needs.
        let has_node = version.starts_with("1.") || version.starts_with("2.0.") || version == "2.1.37";
        if has_node {
            return Self::npm(Tool::Claude, version, "@anthropic-ai/claude-code", ".bin/claude");
        }
        let package = format!("@anthropic-ai/claude-code-linux-{}", architecture());
        Self::npm(Tool::Claude, version, &package, &format!("{package}/claude"))
    }

    pub fn codex(version: &'static str) -> Option<Self> {
        Self::npm(Tool::Codex, version, "@openai/codex", ".bin/codex")
    }

    pub fn gemini(version: &'static str) -> Option<Self> {
        Self::npm(Tool::Gemini, version, "@google/gemini-cli", ".bin/gemini")
    }

    pub fn qwen(version: &'static str) -> Option<Self> {
        Self::npm(Tool::Qwen, version, "@qwen-code/qwen-code", ".bin/qwen")
    }

    /// Its program is `cn`.
    pub fn continue_cli(version: &'static str) -> Option<Self> {
        Self::npm(Tool::Continue, version, "@continuedev/cli", ".bin/cn")
    }

    /// One native program; the package around it brings three hundred that it does not need.
    pub fn cline(version: &'static str) -> Option<Self> {
        let package = format!("@cline/cli-linux-{}", architecture());
        Self::npm(Tool::Cline, version, &package, &format!("{package}/bin/cline"))
    }

    pub fn opencode(version: &'static str) -> Option<Self> {
        let package = match architecture() {
            "x64" => "opencode-linux-x64-baseline".to_owned(),
            other => format!("opencode-linux-{other}"),
        };
        Self::npm(Tool::Opencode, version, &package, &format!("{package}/bin/opencode"))
    }

    pub fn aider(version: &'static str) -> Option<Self> {
        let python = try_python_package("aider-chat", version);
        Self::had(Tool::Aider, version, python.map(|python| python.with_file_name("aider")))
    }

    fn npm(tool: Tool, version: &'static str, package: &str, program: &str) -> Option<Self> {
        let modules = try_npm_package(package, version);
        Self::had(tool, version, modules.map(|modules| modules.join(program)))
    }

    fn had(tool: Tool, version: &'static str, program: Result<PathBuf, String>) -> Option<Self> {
        match program {
            Ok(program) => {
                assert!(program.exists(), "{} is not in its package", program.display());
                Some(Self { tool, version, program })
            }
            Err(reason) => {
                // Past the harness, which keeps the words of tests that succeed to itself.
                let _ =
                    writeln!(std::io::stderr(), "SKIPPED: {} {version} cannot be had: {reason}", tool.name());
                record_skipped(tool, version);
                None
            }
        }
    }

    pub fn tool(&self) -> Tool {
        self.tool
    }

    pub fn version(&self) -> &'static str {
        self.version
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Its changes stand in the text of the model, and it never sends tools.
    pub(crate) fn is_toolless(&self) -> bool {
        self.tool == Tool::Aider
    }

    /// What every start needs, before a test's own arguments.
    pub(crate) fn arguments(&self, mode: Mode) -> Vec<String> {
        let words: &[&str] = match self.tool {
            // It begins in auto mode otherwise, and asks less.
            Tool::Claude if mode == Mode::Asking => &["--permission-mode", "default"],
            Tool::Claude => &[],
            // Without it a daemon is started that outlives the session.
            Tool::Codex if self.version == "0.166.0" => &["--no-daemon"],
            Tool::Codex | Tool::Gemini | Tool::Opencode | Tool::Continue => &[],
            Tool::Qwen => &["--auth-type", "openai"],
            // It allows itself everything otherwise.
            Tool::Cline if mode == Mode::Asking => &["--tui", "--auto-approve", "false"],
            Tool::Cline => &["--tui"],
            Tool::Aider => &[
                "--model",
                "openai/fake-model",
                "--weak-model",
                "openai/small-model",
                "--no-check-update",
                "--no-show-release-notes",
                "--no-show-model-warnings",
                "--no-analytics",
                "--no-gitignore",
                "--edit-format",
                "diff",
                "--map-tokens",
                "0",
            ],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// Leads it to the model, and everything else into the proxy that refuses.
    pub(crate) fn environment(&self, place: &Place, model: &FakeModel) -> Vec<(String, String)> {
        let url = model.url();
        let own: Vec<(&str, String)> = match self.tool {
            Tool::Claude => vec![
                ("ANTHROPIC_BASE_URL", url.clone()),
                ("ANTHROPIC_API_KEY", API_KEY.to_owned()),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
                ("DISABLE_AUTOUPDATER", "1".to_owned()),
                ("DISABLE_TELEMETRY", "1".to_owned()),
                ("DISABLE_ERROR_REPORTING", "1".to_owned()),
            ],
            Tool::Codex => vec![("FAKE_KEY", API_KEY.to_owned())],
            Tool::Gemini => {
                vec![("GEMINI_API_KEY", API_KEY.to_owned()), ("GOOGLE_GEMINI_BASE_URL", url.clone())]
            }
            Tool::Qwen | Tool::Aider => vec![
                ("OPENAI_API_KEY", API_KEY.to_owned()),
                ("OPENAI_BASE_URL", format!("{url}/v1")),
                ("OPENAI_API_BASE", format!("{url}/v1")),
                ("OPENAI_MODEL", "fake-model".to_owned()),
            ],
            Tool::Opencode => vec![
                ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
                ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
                ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".to_owned()),
            ],
            Tool::Cline => vec![
                ("CLINE_NO_AUTO_UPDATE", "1".to_owned()),
                // An offer stands before its input box otherwise.
                ("CLINE_DISABLE_CLINE_PASS_NOTICE", "1".to_owned()),
            ],
            Tool::Continue => vec![
                ("CONTINUE_CLI_ENABLE_TELEMETRY", "0".to_owned()),
                // It replaces itself by its newest version otherwise.
                ("CONTINUE_CLI_AUTO_UPDATED", "1".to_owned()),
                // It asks for that version past every proxy.
                ("NODE_OPTIONS", format!("--require={}", place.home().join(NO_NAMES.0).display())),
            ],
        };
        let shared = [
            ("HOME", place.home().display().to_string()),
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("TERM", "xterm-256color".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
        ];
        let proxy = [
            ("HTTP_PROXY", url.clone()),
            ("HTTPS_PROXY", url.clone()),
            ("http_proxy", url.clone()),
            ("https_proxy", url),
            ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
            ("no_proxy", "127.0.0.1,localhost".to_owned()),
        ];
        // It would look for the model behind the proxy too, whatever is excepted.
        let proxy = (self.tool != Tool::Qwen).then_some(proxy);
        let all = shared.into_iter().chain(proxy.into_iter().flatten()).chain(own);
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Writes the agent's own configuration.
    pub(crate) fn seed(&self, place: &Place, model: &FakeModel, seed: Seed) {
        match self.tool {
            Tool::Claude => seed_claude(place, seed),
            Tool::Codex => seed_codex(place, model, seed),
            Tool::Gemini => seed_gemini(place, seed),
            Tool::Qwen => seed_qwen(place),
            Tool::Opencode => seed_opencode(place, model),
            Tool::Continue => seed_continue(place, model),
            Tool::Cline => seed_cline(place, model),
            Tool::Aider => {}
        }
    }
}

/// As npm names them.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn seed_claude(place: &Place, seed: Seed) {
    if seed == Seed::Nothing {
        return;
    }
    let project = place.project().display().to_string();
    let is_trusted = seed == Seed::Ready;
    let last = &API_KEY[API_KEY.len() - 20..];
    let state = json!({
        "numStartups": 5,
        "theme": "dark",
        "hasCompletedOnboarding": true,
        "lastOnboardingVersion": "2.1.325",
        "customApiKeyResponses": { "approved": [last], "rejected": [] },
        "projects": { project: {
            "allowedTools": [],
            "hasTrustDialogAccepted": is_trusted,
            "hasCompletedProjectOnboarding": true,
            "projectOnboardingSeenCount": 4,
        } },
    });
    place.write_home(".claude.json", &state.to_string());
    place.write_home(".claude/settings.json", r#"{"skipWebFetchPreflight":true}"#);
}

fn seed_codex(place: &Place, model: &FakeModel, seed: Seed) {
    let trust = match seed {
        Seed::Ready => format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", place.project()),
        Seed::Untrusted | Seed::Nothing => String::new(),
    };
    // The provider is no matter of onboarding: without it there is no model.
    let config = format!(
        "model = \"fake-model\"\nmodel_provider = \"fake\"\napproval_policy = \"on-request\"\n\
         check_for_update_on_startup = false\n\
         [analytics]\nenabled = false\n\
         [model_providers.fake]\nname = \"Fake\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\nenv_key = \"FAKE_KEY\"\n\
         request_max_retries = 0\nstream_max_retries = 0\n{trust}",
        model.url()
    );
    place.write_home(".codex/config.toml", &config);
}

fn seed_gemini(place: &Place, seed: Seed) {
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": true } },
        "general": { "disableAutoUpdate": true, "disableUpdateNag": true, "enableAutoUpdate": false },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "ui": { "hideTips": true, "hideBanner": true },
    });
    place.write_home(".gemini/settings.json", &settings.to_string());
    if seed == Seed::Ready {
        let trusted = json!({ place.project().display().to_string(): "TRUST_FOLDER" });
        place.write_home(".gemini/trustedFolders.json", &trusted.to_string());
    }
}

fn seed_qwen(place: &Place) {
    let settings = json!({
        "security": { "auth": { "selectedType": "openai" } },
        "general": { "disableAutoUpdate": true, "disableUpdateNag": true, "enableAutoUpdate": false },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
    });
    place.write_home(".qwen/settings.json", &settings.to_string());
}

fn seed_opencode(place: &Place, model: &FakeModel) {
    let config = json!({
        "model": "fake/fake-model",
        "small_model": format!("fake/{SMALL_MODEL}"),
        "autoupdate": false,
        "share": "disabled",
        "permission": { "bash": "ask", "edit": "ask" },
        "provider": { "fake": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Fake",
            "options": { "baseURL": format!("{}/v1", model.url()), "apiKey": API_KEY },
            "models": { "fake-model": { "name": "Fake Model" }, SMALL_MODEL: { "name": "Small Model" } },
        } },
    });
    place.write_home(".config/opencode/opencode.json", &config.to_string());
}

fn seed_continue(place: &Place, model: &FakeModel) {
    let config = format!(
        "name: Fake\nversion: 1.0.0\nschema: v1\nmodels:\n\
         \x20 - name: Fake Model\n    provider: openai\n    model: fake-model\n    apiBase: {}/v1\n    apiKey: {API_KEY}\n\
         \x20   roles: [chat]\n    capabilities: [tool_use]\n",
        model.url()
    );
    place.write_home(".continue/config.yaml", &config);
    // It asks for a key of Anthropic otherwise.
    place.write_home(".continue/.onboarding_complete", "");
    place.write_home(NO_NAMES.0, NO_NAMES.1);
}

fn seed_cline(place: &Place, model: &FakeModel) {
    const PROVIDER: &str = "openai-compatible";
    let settings = json!({
        "provider": PROVIDER,
        "apiKey": API_KEY,
        "model": "fake-model",
        "baseUrl": format!("{}/v1", model.url()),
    });
    let updated = "2026-01-01T00:00:00.000Z";
    let providers = json!({
        "version": 1,
        "lastUsedProvider": PROVIDER,
        "modes": {},
        "providers": { PROVIDER: { "settings": settings, "updatedAt": updated, "tokenSource": "manual" } },
    });
    place.write_home(".cline/data/settings/providers.json", &providers.to_string());
}
