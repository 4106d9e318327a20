//! `docs/config.md`, written from the table. A test keeps the page and the table the same; run it with
//! `ATLASBRIDGE_UPDATE_DOCS=1` to write the page anew.

use std::fmt::Write;

use super::schema::{Presence, SECTIONS, Section, Setting};

const OPENING: &str = "\
# Configuration

<!-- Written from the table in crates/cli/src/config/schema.rs by its test; change it there. -->

AtlasBridge needs no configuration: without a file, all defaults below hold. The file is `config.toml` in the home
directory of AtlasBridge, in [TOML](https://toml.io). `atlasbridge config path` says where it lies, `atlasbridge config check` what is
wrong with it, `atlasbridge config show` what is in force and why, `atlasbridge config reference` prints this page.

The file may hold tokens and says who may answer for you. It must belong to you and be closed to others
(`chmod 600`), or it is refused; of a link, the file at its end counts.

Unknown keys, wrong types and impossible values are errors, each with its line and its cure, before anything starts.
";

const ENVIRONMENT: &str = "
## Environment

| variable | meaning |
|---|---|
| `ATLASBRIDGE_HOME` | home directory of AtlasBridge, an absolute path; `~/.atlasbridge` if unset. It is created with mode 0700, and refused if others can reach it. |
| `ATLASBRIDGE_CONFIG` | the configuration file, an absolute path; `config.toml` in the home directory if unset. |
";

const EXAMPLE: &str = r#"
## Example

```toml
[prompts]
timeout_seconds = 900

[prompts.defaults]
free_text = "none"

[telegram]
bot_token = "123456789:AAE…"
allowed_users = [123456789]
```
"#;

pub(crate) fn reference() -> String {
    let mut page = OPENING.to_owned();
    for section in SECTIONS {
        write_section(&mut page, section);
    }
    page.push_str(ENVIRONMENT);
    for section in SECTIONS {
        for setting in section.settings {
            if let Some(name) = setting.variable() {
                let _ = writeln!(page, "| `{name}` | `{}.{}`; beats the file. |", section.path, setting.key);
            }
        }
    }
    page.push_str(EXAMPLE);
    page
}

/// Writing to a String cannot fail.
fn write_section(page: &mut String, section: &Section) {
    let _ = write!(page, "\n## `[{}]`\n\n{}\n\n", section.path, section.help);
    if let Some(not_yet) = section.not_yet {
        let _ = write!(page, "Checked, but without effect: {not_yet}.\n\n");
    }
    page.push_str("| key | takes | default | meaning |\n|---|---|---|---|\n");
    for Setting { key, example, presence, rule, help } in section.settings {
        let default = match presence {
            Presence::Default => format!("`{example}`"),
            Presence::Optional => "–".to_owned(),
            Presence::Required | Presence::Secret(_) => "required".to_owned(),
        };
        let _ = writeln!(page, "| `{key}` | {rule} | {default} | {help} |");
    }
}

#[test]
fn the_page_says_what_the_table_says() {
    let page = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    if std::env::var_os("ATLASBRIDGE_UPDATE_DOCS").is_some() {
        std::fs::write(&page, reference()).unwrap();
    }
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written == reference(), "docs/config.md is stale: run this test with ATLASBRIDGE_UPDATE_DOCS=1");
}
