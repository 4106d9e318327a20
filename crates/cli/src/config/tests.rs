//! The settings as a user writes them: what is taken, and the exact words for what is not.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use atlasbridge_model::Kind;

use super::paths::LONGEST_SOCKET;
use super::schema::{Defaults, Presence, SECTIONS, Section};
use super::*;

const TOKEN: &str = "123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc";

fn environment(variables: &[(&str, &str)]) -> Environment {
    Environment::from_lookup(|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.into())
    })
}

fn parse_here(text: &str) -> Result<Loaded, ConfigError> {
    parse(text, Path::new("config.toml"), &Environment::default())
}

#[track_caller]
fn accept(text: &str) -> Config {
    match parse_here(text) {
        Ok(loaded) => loaded.config,
        Err(errors) => panic!("{errors}"),
    }
}

fn on_expiry(defaults: &Defaults, kind: Kind) -> OnExpiry {
    match kind {
        Kind::YesNo => defaults.yes_no,
        Kind::ConfirmEnter => defaults.confirm_enter,
        Kind::MultipleChoice => defaults.multiple_choice,
        Kind::FreeText => defaults.free_text,
        Kind::Password => defaults.password,
        Kind::Idle => defaults.idle,
        Kind::Unknown => defaults.unknown,
    }
}

/// What is said of each text, under the text itself.
fn refusals(texts: &[&str]) -> String {
    let said = |text: &&str| match parse_here(text) {
        Ok(_) => format!("{text}\n  → accepted"),
        Err(errors) => format!("{text}\n  → {}", errors.to_string().replace('\n', "\n    ")),
    };
    texts.iter().map(said).collect::<Vec<_>>().join("\n\n")
}

mod meaning {
    use super::*;

    #[test]
    fn no_text_means_the_defaults() {
        let config = accept("");
        assert_eq!(config.prompts.timeout_seconds, 600);
        assert_eq!(config.prompts.detection_threshold, 0.65);
        assert_eq!(config.prompts.stuck_timeout_seconds, 2.0);
        assert_eq!(config.prompts.echo_suppression_ms, 500);
        assert_eq!(config.prompts.inject_settle_ms, 100);
        assert_eq!(config.prompts.presence_grace_seconds, 10);
        assert!(config.prompts.free_text_enabled && config.prompts.notify_idle);
        assert!(!config.prompts.secrets_over_channels && !config.prompts.show_detail);
        assert!(config.web.enabled && config.web.tls_certificate.is_none() && !config.web.insecure);
        assert_eq!(config.web.listen.to_string(), "127.0.0.1:8787");
        assert_eq!(config.store.retention_days, 90);
        assert_eq!((config.telegram, config.slack), (None, None));
    }

    #[test]
    fn the_file_of_the_specification_is_taken() {
        let config = accept(&format!(
            r#"
            [prompts]
            timeout_seconds = 900
            detection_threshold = 0.85
            stuck_timeout_seconds = 3
            [prompts.defaults]
            free_text = "none"
            [web]
            listen = "[::1]:0"
            [telegram]
            bot_token = "{TOKEN}"
            allowed_users = [42, 7, 42]
            api_url = "http://127.0.0.1:8081/"
            [slack]
            app_token = "xapp-1-A012-345-abcdef"
            bot_token = "xoxb-1234-5678-abcdef"
            channel = "C012AB3CD"
            allowed_users = ["U012AB3CD"]
            [store]
            url = "sqlite"
            "#
        ));
        let telegram = config.telegram.unwrap();
        assert_eq!(config.prompts.stuck_timeout_seconds, 3.0);
        assert_eq!(config.prompts.defaults.free_text, OnExpiry::Nothing);
        assert_eq!(telegram.bot_token.expose(), TOKEN);
        assert_eq!(telegram.allowed_users, [42, 7]);
        assert_eq!(telegram.api_url, "http://127.0.0.1:8081");
        assert_eq!(config.slack.unwrap().api_url, "https://slack.com/api");
    }

    /// Were it lost on the way, the page would be served to the network without it.
    #[test]
    fn a_certificate_reaches_the_page() {
        let web = accept("web = { listen = '0.0.0.0:80', tls_certificate = '/a', tls_key = '/b' }").web;
        assert_eq!((web.tls_certificate, web.tls_key), (Some("/a".into()), Some("/b".into())));
    }

    #[test]
    fn a_kind_has_its_safe_default_or_nothing() {
        let shipped = accept("").prompts.defaults;
        let with_one = [Kind::YesNo, Kind::ConfirmEnter, Kind::MultipleChoice, Kind::FreeText];
        for kind in Kind::ALL {
            let expected = if with_one.contains(&kind) { OnExpiry::SafeDefault } else { OnExpiry::Nothing };
            assert_eq!(on_expiry(&shipped, kind), expected, "{kind}");
            let silenced = accept(&format!("prompts.defaults.{kind} = \"none\"")).prompts.defaults;
            assert_eq!(on_expiry(&silenced, kind), OnExpiry::Nothing, "{kind}");
        }
    }

    #[test]
    fn bounds_belong_to_what_is_allowed() {
        for line in [
            "prompts.timeout_seconds = 1",
            "prompts.timeout_seconds = 86_400",
            "prompts.timeout_seconds = 0x10",
            "prompts.detection_threshold = 0.6",
            "prompts.detection_threshold = 1",
            "prompts.stuck_timeout_seconds = 0.1",
            "prompts.stuck_timeout_seconds = 60.0",
            "prompts.echo_suppression_ms = 0",
            "prompts.inject_settle_ms = 10",
            "prompts.inject_settle_ms = 2000",
            "prompts.presence_grace_seconds = 3600",
            "store.retention_days = 1",
            "web = { listen = '0.0.0.0:80', insecure = true }",
            "web = { listen = '0.0.0.0:80', tls_certificate = '/a', tls_key = '/b' }",
            "[policy]",
        ] {
            accept(line);
        }
    }

    #[test]
    fn a_variable_beats_the_file_and_opens_nothing_by_itself() {
        let other = "987654321:BBEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc";
        let variables = environment(&[("ATLASBRIDGE_TELEGRAM_BOT_TOKEN", other)]);
        let file = Path::new("config.toml");
        for text in ["", "bot_token = '1:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc'"] {
            let text = format!("[telegram]\nallowed_users = [1]\n{text}");
            let loaded = parse(&text, file, &variables).unwrap();
            assert_eq!(loaded.config.telegram.unwrap().bot_token.expose(), other);
        }
        let loaded = parse("", file, &variables).unwrap();
        assert_eq!(loaded.config.telegram, None);
        insta::assert_snapshot!(
            loaded.warnings[0],
            @"ATLASBRIDGE_TELEGRAM_BOT_TOKEN is set, but the configuration has no [telegram] section: it is not used"
        );
    }

    #[test]
    fn a_channel_that_does_not_exist_yet_is_a_warning() {
        let text = "[slack]\napp_token = 'xapp-12345678'\nbot_token = 'xoxb-12345678'\nchannel = 'C012AB3CD'\n\
                    allowed_users = ['U012AB3CD']";
        let warnings = parse_here(text).unwrap().warnings;
        assert_eq!(warnings, ["slack is configured, but this build has no Slack channel yet"]);
    }
}

mod refused {
    use super::*;

    #[test]
    fn text_that_is_not_toml() {
        insta::assert_snapshot!(refusals(&[
            "[prompts]\ntimeout_seconds = = 600",
            "[prompts\ntimeout_seconds = 600",
            "[web]\nlisten = 127.0.0.1:8787\n\n[store]\nurl = sqlite",
            "\tprompts.timeout_seconds = 6OO",
            "[web]\nenabled = true\nenabled = false",
            "[web]\n[web]",
        ]));
    }

    #[test]
    fn names_that_nobody_knows() {
        insta::assert_snapshot!(refusals(&[
            "[prompt]\ntimeout_seconds = 5",
            "[prompts]\ntimeout_secnods = 5",
            "[prompts]\ntimeout = 5",
            "[prompts]\nTimeout-Seconds = 5",
            "timeout_seconds = 5",
            "[web]\nport = 80",
            "[plugins]\na = 1",
            "[prompts.defaults]\nyesno = 'n'",
            "[telegram.extra]\nx = 1",
        ]));
    }

    /// In quotes a dot is part of the name: nothing of this is the section, or the setting, that it looks like.
    #[test]
    fn a_quoted_name_with_a_dot() {
        insta::assert_snapshot!(refusals(&[
            "[\"prompts.defaults\"]\nyes_no = 'none'",
            "[prompts]\n'defaults.yes_no' = 'none'",
            "'web.insecure' = true",
            "[web]\nlisten = '0.0.0.0:80'\n['web.insecure']",
            "['no such']",
        ]));
    }

    #[test]
    fn values_of_another_type() {
        insta::assert_snapshot!(refusals(&[
            "prompts.timeout_seconds = '600'",
            "prompts.timeout_seconds = 'ten minutes'",
            "prompts.timeout_seconds = 600.5",
            "prompts.detection_threshold = true",
            "prompts.show_detail = 'yes'",
            "prompts.notify_idle = 1",
            "web.listen = 8787",
            "prompts.timeout_seconds = 2026-01-01",
            "store.retention_days = [90]",
            "prompts = 5",
            "[[telegram]]",
            "[web.listen]",
        ]));
    }

    #[test]
    fn values_that_cannot_be() {
        insta::assert_snapshot!(refusals(&[
            "prompts.timeout_seconds = 0",
            "prompts.timeout_seconds = -5",
            "prompts.timeout_seconds = 99999999999999999999999",
            "prompts.detection_threshold = 0.5",
            "prompts.detection_threshold = 65",
            "prompts.detection_threshold = 0.655",
            "prompts.stuck_timeout_seconds = nan",
            "prompts.stuck_timeout_seconds = inf",
            "prompts.echo_suppression_ms = 501",
            "prompts.inject_settle_ms = 5",
            "prompts.presence_grace_seconds = 3601",
            "store.retention_days = 0",
            "store.url = 'postgres://atlas:hunter2@db/atlas'",
            "store.url = 'mysql://hunter2@db'",
            "policy.file = '/etc/policy'",
        ]));
    }

    #[test]
    fn an_approval_by_silence() {
        insta::assert_snapshot!(refusals(&[
            "prompts.defaults.yes_no = 'y'",
            "prompts.defaults.yes_no = ' YES '",
            "prompts.defaults.yes_no = true",
            "prompts.defaults.yes_no = false",
            "prompts.defaults.confirm_enter = 'n'",
            "prompts.defaults.multiple_choice = '1'",
            "prompts.defaults.multiple_choice = 'accept'",
            "prompts.defaults.password = 'enter'",
            "prompts.defaults.unknown = 'y'",
        ]));
    }

    #[test]
    fn a_page_open_to_others() {
        insta::assert_snapshot!(refusals(&[
            "web.listen = '0.0.0.0:8787'",
            "[web]\nenabled = true\nlisten = '[::]:8787'",
            "web.listen = 'localhost:8787'",
            "web.listen = '127.0.0.1'",
            "web.listen = ':8787'",
            "web.tls_key = '/a'",
            "web.tls_certificate = 'page.crt'",
        ]));
    }

    #[test]
    fn channels_that_could_not_work() {
        insta::assert_snapshot!(refusals(&[
            "[telegram]",
            "[telegram]\nbot_token = 'secret-hunter2'\nallowed_users = []",
            "[telegram]\nbot_token = 5\nallowed_users = [\n  1,\n  -100123,\n]",
            &format!("[telegram]\nbot_token = '{TOKEN}'\nallowed_users = ['@me']"),
            &format!("[telegram]\nbot_token = '{TOKEN}'\nallowed_users = ['42']"),
            &format!("[telegram]\nbot_token = '{TOKEN}'\nallowed_users = 42"),
            "[slack]\nchannel = '#general'",
            "[slack]\napp_token = 'xoxb-1234567890'\nbot_token = 'xoxp-hunter2222'\nchannel = 'C1234'\nallowed_users = ['bob']",
            "[slack]\napp_token = 'xapp-1'\nbot_token = 'hunter2'\nchannel = 'C1234'\nallowed_users = [7]",
        ]));
    }

    #[test]
    fn servers_that_would_leak_the_token() {
        let url =
            |url: &str| format!("[telegram]\nbot_token = '{TOKEN}'\nallowed_users = [1]\napi_url = '{url}'");
        let refused = [
            "http://example.com",
            "http://127.0.0.1@example.com",
            "http://127.0.0.1.example.com/",
            "http://localhost.example.com",
            "http://example.com\\@127.0.0.1",
            "http://[::1].example.com",
            "https://",
            "https://host:99999",
            "https://host/?a",
            "ftp://127.0.0.1",
            "api.telegram.org",
        ];
        let said = |wanted: &&str| {
            let errors = parse_here(&url(wanted)).unwrap_err();
            format!("{wanted}\n  → {errors}")
        };
        insta::assert_snapshot!(refused.iter().map(said).collect::<Vec<_>>().join("\n"));
        for allowed in
            ["http://localhost:80", "http://127.8.0.1", "http://[::1]:80/bot", "https://example.com:8443"]
        {
            accept(&url(allowed));
        }
    }

    #[test]
    fn everything_at_once_in_the_order_of_the_lines() {
        let text = "[web]\nlisten = 5\n[slack]\nchannel = 'x'\n[prompts]\ntimeout_seconds = 0\nnope = 1\n";
        let variables = environment(&[("ATLASBRIDGE_SLACK_APP_TOKEN", "hunter2")]);
        let errors = parse(text, Path::new("/home/dev/.atlasbridge/config.toml"), &variables).unwrap_err();
        insta::assert_snapshot!(errors);
    }
}

/// Texts that hold a token in places where it does not belong; nothing that is said repeats it.
#[test]
fn no_message_repeats_a_secret() {
    for text in [
        format!("[telegram]\nbot_token = {TOKEN}\n"),
        format!("[telegram]\nbot_token = \"{TOKEN}\n"),
        format!("[telegram]\nbot_token \"{TOKEN}\"\n"),
        format!("[telegram]\nbot_tokn = \"{TOKEN}\"\n"),
        format!("[telegram]\nallowed_users = [\"{TOKEN}\"]\n"),
        format!("[telegram]\nbot_token = [\"{TOKEN}\"]\n"),
        format!("telegram = \"{TOKEN}\"\n"),
        format!("[slack]\nbot_token = \"{TOKEN}\"\n"),
        format!("[store]\nurl = postgres://atlas:{TOKEN}@db\n"),
        format!("[telegram]\n\"{TOKEN}\" = 1\n"),
        format!("[web]\nlisten = \"localhost:{TOKEN}\"\n"),
        format!("[telegram]\napi_url = \"{TOKEN}://x\"\n"),
    ] {
        let errors = parse_here(&text).unwrap_err();
        let said = format!("{errors} {errors:?}");
        assert!(!said.contains("QXMENQjcrGbqCr4K"), "{text}\n{said}");
    }
}

mod shown {
    use super::*;

    #[test]
    fn settings_in_force_and_where_they_come_from() {
        let text = "[prompts]\ntimeout_seconds = 900\n\n[telegram]\nallowed_users = [1, 2]\n";
        let variables = environment(&[("ATLASBRIDGE_TELEGRAM_BOT_TOKEN", TOKEN)]);
        let loaded = parse(text, Path::new("config.toml"), &variables).unwrap();
        insta::assert_snapshot!(loaded.shown);
        assert!(!format!("{loaded:?} {variables:?}").contains(TOKEN));
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        let loaded = parse_here("[prompts]\nstuck_timeout_seconds = 1\n[web]\nlisten = '[::1]:1'").unwrap();
        assert_eq!(accept(&loaded.shown), loaded.config);
    }
}

mod table {
    use super::*;

    #[test]
    fn defaults_pass_their_own_rule() {
        for setting in SECTIONS.iter().flat_map(|section| section.settings) {
            let has_default = setting.presence == Presence::Default;
            assert_eq!(setting.default().is_some(), has_default, "{}", setting.key);
        }
    }

    #[test]
    fn each_name_stands_once_and_its_section_in_another_of_the_table() {
        let sections = SECTIONS.iter().map(|section| section.path.to_owned());
        let settings = |section: &'static Section| {
            section.settings.iter().map(|setting| format!("{}.{}", section.path, setting.key))
        };
        let mut paths: Vec<String> = sections.chain(SECTIONS.iter().flat_map(settings)).collect();
        for (around, _) in paths.iter().filter_map(|path| path.rsplit_once('.')) {
            assert!(SECTIONS.iter().any(|section| section.path == around), "{around}");
        }
        let count = paths.len();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), count);
    }

    /// A setting that no field of `Config` asks for would be checked and then forgotten.
    #[test]
    fn each_setting_has_its_field() {
        let shown = parse_here(&format!(
            "[telegram]\nbot_token = '{TOKEN}'\nallowed_users = [1]\n[slack]\napp_token = 'xapp-12345678'\n\
             bot_token = 'xoxb-12345678'\nchannel = 'C012AB3CD'\nallowed_users = ['U012AB3CD']"
        ));
        let whole: toml::Table = shown.unwrap().shown.parse().unwrap();
        for section in SECTIONS {
            for setting in section.settings.iter().filter(|setting| setting.presence != Presence::Optional) {
                let mut table = whole.clone();
                let inner = section
                    .path
                    .split('.')
                    .fold(&mut table, |table, name| table[name].as_table_mut().unwrap());
                inner.remove(setting.key).unwrap();
                assert!(table.try_into::<Config>().is_err(), "{}.{}", section.path, setting.key);
            }
        }
    }

    #[test]
    fn each_kind_of_prompt_has_its_default() {
        let defaults = SECTIONS.iter().find(|section| section.path == "prompts.defaults").unwrap();
        for kind in Kind::ALL {
            assert!(defaults.find(&kind.to_string()).is_some(), "{kind}");
        }
    }
}

mod files {
    use super::*;

    /// A directory of this test, removed when it is over.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let directory = std::env::temp_dir().join(format!("ab-config-{}-{name}", std::process::id()));
            fs::create_dir_all(&directory).unwrap();
            Self(directory)
        }

        fn write(&self, name: &str, text: impl AsRef<[u8]>, mode: u32) -> PathBuf {
            let file = self.0.join(name);
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            file
        }

        /// The message and its causes, with the name of this directory left out.
        fn said(&self, error: impl std::error::Error) -> String {
            error.to_string().replace(&self.0.display().to_string(), "DIR")
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn load_named(file: &Path) -> Result<Loaded, ConfigError> {
        load_file(file, &Environment::default())
    }

    #[test]
    fn a_file_that_others_can_reach_is_refused() {
        let scratch = Scratch::new("modes");
        for mode in [0o600, 0o400, 0o700] {
            load_named(&scratch.write("private.toml", "", mode)).unwrap();
        }
        for mode in [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666] {
            let error = load_named(&scratch.write("open.toml", "", mode)).unwrap_err();
            let found = format!("(mode {mode:04o})");
            assert!(matches!(&error, ConfigError::Open { says, .. } if says.contains(&found)), "{error}");
        }
        let error = load_named(&scratch.write("it's open.toml", "", 0o644)).unwrap_err();
        insta::assert_snapshot!(scratch.said(error), @r"
        DIR/it's open.toml can be read or changed by other users (mode 0644), and it may hold tokens
            run: chmod 600 'DIR/it'\''s open.toml'
        ");
    }

    #[test]
    fn of_a_link_the_target_is_judged() {
        let scratch = Scratch::new("links");
        let link = scratch.0.join("link.toml");
        symlink(scratch.write("target.toml", "", 0o600), &link).unwrap();
        load_named(&link).unwrap();
        scratch.write("target.toml", "", 0o644);
        assert!(matches!(load_named(&link), Err(ConfigError::Open { .. })));
        fs::remove_file(scratch.0.join("target.toml")).unwrap();
        insta::assert_snapshot!(scratch.said(load_named(&link).unwrap_err()), @"
        DIR/link.toml is a link to a file that does not exist
            create that file, or remove the link to use the defaults
        ");
    }

    #[test]
    fn what_is_no_text_file_is_refused() {
        let scratch = Scratch::new("odd");
        let error = load_named(&scratch.write("latin.toml", b"[web]\n# caf\xe9\n", 0o600)).unwrap_err();
        insta::assert_snapshot!(scratch.said(error), @"
        DIR/latin.toml is not UTF-8 text (line 2)
            save it as UTF-8
        ");
        insta::assert_snapshot!(scratch.said(load_named(&scratch.0).unwrap_err()), @"
        DIR is not a file
            set ATLASBRIDGE_CONFIG to the path of a file
        ");
        assert!(matches!(load_named(&scratch.0.join("none")), Err(ConfigError::Unusable { .. })));
    }

    #[test]
    fn a_stranger_is_named_before_the_mode() {
        use super::super::source::{Exposure, exposure};
        assert_eq!(exposure(1000, 0o100600, 1000), None);
        assert_eq!(exposure(1000, 0o40700, 1000), None);
        assert_eq!(exposure(0, 0o100644, 1000), Some(Exposure::OtherOwner { owner: 0 }));
        assert_eq!(exposure(1000, 0o100640, 1000), Some(Exposure::OtherUsers { mode: 0o640 }));
    }

    #[test]
    fn a_missing_file_means_the_defaults_and_a_named_one_a_word() {
        let scratch = Scratch::new("missing");
        let home = scratch.0.display().to_string();
        let load_with = |variables: &[(&str, &str)]| {
            let variables = environment(variables);
            load(&Paths::new(&variables).unwrap(), &variables).unwrap()
        };
        let loaded = load_with(&[("ATLASBRIDGE_HOME", &home)]);
        assert_eq!(loaded.config, accept(""));
        assert!(loaded.warnings.is_empty());
        let loaded = load_with(&[("ATLASBRIDGE_HOME", &home), ("ATLASBRIDGE_CONFIG", "/nonexistent/c.toml")]);
        insta::assert_snapshot!(
            loaded.warnings[0],
            @"ATLASBRIDGE_CONFIG names /nonexistent/c.toml, which does not exist: the defaults are used"
        );
    }

    #[test]
    fn paths_come_from_the_environment() {
        #[track_caller]
        fn check(variables: &[(&str, &str)], expected: Result<(&str, &str), &str>) {
            let expected = expected.map(|(home, config)| Paths { home: home.into(), config: config.into() });
            let found = Paths::new(&environment(variables)).map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(str::to_owned));
        }
        let home = ("HOME", "/home/dev");
        check(&[home], Ok(("/home/dev/.atlasbridge", "/home/dev/.atlasbridge/config.toml")));
        check(
            &[home, ("ATLASBRIDGE_HOME", "")],
            Ok(("/home/dev/.atlasbridge", "/home/dev/.atlasbridge/config.toml")),
        );
        check(&[home, ("ATLASBRIDGE_HOME", "/a")], Ok(("/a", "/a/config.toml")));
        check(&[("ATLASBRIDGE_HOME", "/a"), ("ATLASBRIDGE_CONFIG", "/b.toml")], Ok(("/a", "/b.toml")));
        let no_home = "neither ATLASBRIDGE_HOME nor HOME is set, so there is no place for AtlasBridge's files\n    \
                       set ATLASBRIDGE_HOME to an absolute path";
        check(&[], Err(no_home));
        let relative = |name: &str, path: &str| {
            format!(
                "{name} must be an absolute path, found `{path}`\n    \
                 write the whole path, from the first `/`; a `~` in quotes is not expanded"
            )
        };
        check(&[home, ("ATLASBRIDGE_HOME", "~/a")], Err(&relative("ATLASBRIDGE_HOME", "~/a")));
        check(&[home, ("ATLASBRIDGE_CONFIG", "c.toml")], Err(&relative("ATLASBRIDGE_CONFIG", "c.toml")));
    }

    fn home_at(home: PathBuf) -> Paths {
        let config = home.join("config.toml");
        Paths { home, config }
    }

    #[test]
    fn the_home_is_made_private_and_must_stay_so() {
        let scratch = Scratch::new("home");
        let paths = home_at(scratch.0.join("deep/home"));
        paths.ensure_home().unwrap();
        paths.ensure_home().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&paths.home), 0o700);
        fs::set_permissions(&paths.home, Permissions::from_mode(0o750)).unwrap();
        insta::assert_snapshot!(scratch.said(paths.ensure_home().unwrap_err()), @"
        DIR/deep/home can be reached by other users (mode 0750): your prompts and tokens lie there
            run: chmod 700 DIR/deep/home
        ");
        assert_eq!(mode(&paths.home), 0o750, "the mode is the user's to change");
        let file = home_at(scratch.write("file", "", 0o600));
        insta::assert_snapshot!(scratch.said(file.ensure_home().unwrap_err()), @"
        DIR/file is not a directory
            set ATLASBRIDGE_HOME to another path, or move that file away
        ");
    }

    #[test]
    fn a_socket_path_too_long_is_found_before_anything_is_made() {
        let room = LONGEST_SOCKET - "/hub.sock".len();
        let fits = home_at(PathBuf::from(format!("/{}", "a".repeat(room - 1))));
        assert!(fits.check_socket_length().is_ok());
        let scratch = Scratch::new("long");
        let paths = home_at(scratch.0.join("b".repeat(room)));
        let said = paths.ensure_home().unwrap_err().to_string();
        let advice = "set ATLASBRIDGE_HOME to a shorter path";
        assert!(said.contains(&format!("{LONGEST_SOCKET} at most")) && said.contains(advice), "{said}");
        assert!(!paths.home.exists());
    }
}
