//! What can be typed behind `atlasbridge`. Help texts live here, and suffice.

use std::ffi::OsString;
use std::path::PathBuf;

use atlasbridge_agents::codex::Start;
use clap::{Parser, Subcommand, ValueHint};
use clap_complete::Shell;

/// Answer your AI coding agent's prompts from wherever you are.
///
/// `atlasbridge run TOOL` wraps a terminal program so that nothing feels different. Each time it stops and waits for
/// a person, the prompt is stored and can be answered from elsewhere; the answer is checked and typed, once.
#[derive(Debug, Parser)]
#[command(name = "atlasbridge", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Begin with:
  atlasbridge run -- claude        work as always; prompts are noticed
  atlasbridge open                 in another terminal: answer them in your browser
  atlasbridge approvals            or on the command line: what waits
  atlasbridge approve 3f2a91c4     answer it (the first digits of its id are enough)
  atlasbridge send 5e1d TEXT       the agent's next instruction, now or when it has finished

Environment:
  ATLASBRIDGE_HOME     where everything is kept (default ~/.atlasbridge)
  ATLASBRIDGE_CONFIG   the configuration file (default ATLASBRIDGE_HOME/config.toml)
  ATLASBRIDGE_LOG      what the hub logs, for instance debug (default info)
  ATLASBRIDGE_CAPTURE_PROMPTS=1
                       each prompt that `run` sees is also written, secrets masked, as a small recording with its
                       label to ATLASBRIDGE_HOME/captured_scenarios, for `lab replay` and `lab explain`
  NO_COLOR             no colours

Exit codes: 0 done, 1 refused or failed, 2 bad usage or configuration; `run` exits as its tool does.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a tool as always, with its prompts noticed and answerable from elsewhere
    #[command(
        after_help = "Options come before the tool; what follows its name, or `--`, is the tool's own.\n\n\
                      The exit code is the tool's own; 128+n if signal n ended it, 127 if it was not found, 126 if it \
                      could not be executed. The tool has a terminal of its own wherever this runs; into a file or a \
                      pipe goes what it writes, with its own line ends."
    )]
    Run(RunArgs),
    /// List the prompts that wait
    #[command(visible_alias = "prompts")]
    Approvals {
        /// As a JSON array
        #[arg(long)]
        json: bool,
        /// Stay, and list again after each change (with --json: one array a line)
        #[arg(long)]
        watch: bool,
    },
    /// Give a prompt the accepting answer that grants least: this once, and nothing more
    Approve {
        /// The prompt's id, or its first digits
        prompt: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Give a prompt its refusing answer, with a reason if you like
    Deny {
        /// The prompt's id, or its first digits
        prompt: String,
        /// Why, for the agent to read. It is said together with the refusal where the agent takes it, else sent as the
        /// next instruction
        #[arg(allow_hyphen_values = true)]
        reason: Option<String>,
        /// Send a reason as the next instruction though its first character makes something else of it (`!`, `/`, `@`, `#`)
        #[arg(long)]
        as_is: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Answer a prompt with a word, a number, a label or a line of text
    Reply {
        /// The prompt's id, or its first digits
        prompt: String,
        /// The answer: yes, no, a choice's number or label, a text; `default` takes the safe default, `cancel` leaves
        /// the prompt to the terminal, `-` reads the answer from standard input
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Send an instruction though its first character makes something else of it: `!` a shell command, `/` a command, `@` a
        /// file, `#` a note, `?` alone help
        #[arg(long)]
        as_is: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Give an agent its next instruction: at once if it waits for one, else when it has finished
    #[command(
        after_help = "One instruction is kept for each session; a newer one takes its place. What became of it is on the \
                      audit log (`atlasbridge logs`). An agent takes instructions once it has waited for one in its session."
    )]
    Send {
        /// The session's id, or its first digits
        session: String,
        /// The instruction; several lines where the agent takes them, `-` reads it from standard input
        #[arg(allow_hyphen_values = true, required_unless_present = "take_back")]
        text: Option<String>,
        /// Send it though its first character makes something else of it: `!` a shell command, `/` a command, `@` a file, `#` a
        /// note, `?` alone help
        #[arg(long)]
        as_is: bool,
        /// Take back the instruction that waits for the session
        #[arg(long, conflicts_with_all = ["text", "as_is"])]
        take_back: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// What a tool runs when something happens in it (`run` sets it up)
    #[command(hide = true)]
    Hook {
        /// Where the session host listens
        #[arg(long, value_hint = ValueHint::FilePath)]
        socket: PathBuf,
    },
    /// Start Codex with an app-server and our bridge beside it (`run --structured` sets it up)
    #[command(hide = true)]
    CodexFront(CodexStart),
    /// Run an app-server of Codex and bring its requests to the session host (`codex-front` starts it)
    #[command(hide = true)]
    CodexBridge {
        /// The process that becomes Codex's screen, for the bridge that ends with it
        #[arg(long, value_name = "PID")]
        screen: Option<i32>,
        #[command(flatten)]
        start: CodexStart,
    },
    /// Show the hub, the sessions and what waits
    Status {
        /// Ended sessions too
        #[arg(long)]
        all: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// List, show, stop or resume sessions
    #[command(subcommand)]
    Sessions(Sessions),
    /// Show what happened: the audit log in words
    Logs {
        /// Stay, and show what happens next
        #[arg(long)]
        tail: bool,
        /// How many of the latest events
        #[arg(long, short = 'n', default_value_t = 20)]
        lines: usize,
        /// One JSON object a line, as in the file
        #[arg(long)]
        json: bool,
    },
    /// Check or export the tamper-evident audit log
    #[command(subcommand)]
    Audit(Audit),
    /// Look for what is wrong or will go wrong, and say what to do next
    #[command(
        after_help = "Looks at the home directory, the configuration, the hub, its channels and records, at what protects \
                      answers from the tool itself, and at each agent on your PATH: its version, and whether its hooks \
                      will run in this directory. Exit codes: 0 no problem, 1 a problem."
    )]
    Doctor {
        /// Only these agents, by program or adapter (default: every known one on your PATH)
        #[arg(value_name = "TOOL")]
        tools: Vec<OsString>,
        /// Mend what can be mended safely: modes of home and configuration, what ended sessions left behind, a broken
        /// cache of versions
        #[arg(long)]
        fix: bool,
        /// As a JSON array of {check, state, says, next}
        #[arg(long)]
        json: bool,
    },
    /// List, show or check adapters: what is known of the dialogs of single tools
    #[command(subcommand)]
    Adapters(Adapters),
    /// Open the page in a browser, with a link that works once
    #[command(
        after_help = "The page shows every waiting prompt, live screens, sessions and history. It is served by the hub on \
                      the address of `listen` in [web]; `atlasbridge status` shows it."
    )]
    Open(Open),
    /// Set up a channel, step by step
    #[command(subcommand)]
    Setup(Setup),
    /// Start, stop or look at the background process (it starts by itself when needed)
    #[command(subcommand, visible_alias = "daemon")]
    Hub(Hub),
    /// Show or check the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Rehearse the detector: scenarios on real terminals, recordings made, replayed and explained
    #[command(subcommand)]
    Lab(Lab),
    /// Print a completion script
    Completions {
        /// For this shell
        shell: Shell,
    },
    /// Print the version
    Version {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// A name for this session, shown with its prompts
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Option<String>,
    /// Read the tool's dialogs with this adapter, not with the one of its name (`atlasbridge adapters list`)
    #[arg(long, value_name = "NAME")]
    pub(crate) adapter: Option<String>,
    /// Set up no hooks in a tool that has them (claude): its dialogs are read off the screen alone
    #[arg(long)]
    pub(crate) no_hooks: bool,
    /// Also take what a tool tells and takes in a way that changes how it is started: codex (0.166.0 and later) gets an
    /// app-server of its own, which is experimental there; you and others can then answer at the same time
    #[arg(long, conflicts_with = "no_hooks")]
    pub(crate) structured: bool,
    /// Do not say before the tool starts where its prompts can be answered, nor what is unusual about the tool
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Append one JSON line to this file or FIFO for each prompt seen or gone and each answer typed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) events: Option<PathBuf>,
    /// The program to run, and its arguments
    #[arg(value_name = "TOOL", required = true, trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    pub(crate) tool: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CodexStart {
    /// Where the session host listens
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub(crate) hooks: PathBuf,
    /// Where the app-server is to listen
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub(crate) server: PathBuf,
    /// Codex, and its arguments
    #[arg(value_name = "TOOL", required = true, last = true)]
    pub(crate) tool: Vec<OsString>,
}

impl From<CodexStart> for Start {
    fn from(CodexStart { hooks, server, tool }: CodexStart) -> Self {
        Self { hooks, server, tool }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Open {
    /// Show the link as a QR code, for a phone
    #[arg(long)]
    pub(crate) qr: bool,
    /// Print the link and open no browser
    #[arg(long)]
    pub(crate) print: bool,
    /// List the browsers that are signed in
    #[arg(long, conflicts_with_all = ["qr", "print", "revoke"])]
    pub(crate) list: bool,
    /// Sign a browser out, by its name in --list, or `all`
    #[arg(long, value_name = "NAME", conflicts_with_all = ["qr", "print", "json"])]
    pub(crate) revoke: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Setup {
    /// Connect your own Telegram bot: checks its token, takes your id from the chat, sends a test and writes the
    /// configuration
    Telegram {
        /// Read the bot's token from standard input and ask nothing; needs --user
        #[arg(long, requires = "user")]
        token_stdin: bool,
        /// The numeric id of a person who may answer; may be given several times
        #[arg(long, value_name = "ID", requires = "token_stdin", value_parser = clap::value_parser!(i64).range(1..))]
        user: Vec<i64>,
        /// A Bot API server of your own
        #[arg(long, value_name = "URL")]
        api_url: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// List the sessions that run
    List {
        /// Ended ones too, newest first
        #[arg(long)]
        all: bool,
        /// As a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show one session
    Show {
        /// The session's id, or its first digits
        session: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Let answers from channels through again, after more than ten in a minute paused them
    Resume {
        /// The session's id, or its first digits
        session: String,
    },
    /// End a session's tool: SIGTERM, three seconds, SIGKILL; its terminal is restored
    Stop {
        /// The session's id, or its first digits
        session: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Check the chain of the audit log, record by record
    #[command(after_help = "Exit codes: 0 good, 1 tampered with, 2 unreadable, 3 truncated.")]
    Verify {
        /// Another file than the one in ATLASBRIDGE_HOME; it is not compared with the database
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the records, one JSON object a line
    Export {
        /// Only those of this session
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Adapters {
    /// List the adapters, built in and your own (ATLASBRIDGE_HOME/adapters/*.toml)
    List {
        /// As a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Print an adapter as it is written, to learn from or to change
    Show { name: String },
    /// Check the file of an adapter
    Check {
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Hub {
    /// Start the hub, if it does not run
    Start,
    /// Stop the hub; sessions go on, and the next prompt starts it again
    Stop,
    /// Stop the hub and start it again, for instance after an update
    Restart,
    /// Show whether it runs
    Status {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Be the hub, in the foreground
    Serve {
        /// Log to the file in ATLASBRIDGE_HOME and say on descriptor 3 when ready
        #[arg(long, hide = true)]
        background: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print where the configuration is
    Path,
    /// Print the settings in force, secrets masked
    Show,
    /// Print every setting with its meaning, default and bounds, in Markdown
    Reference,
    /// Check the configuration, or another file
    Check {
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    /// List the scenarios: those that can be played, and those that are planned, with the reason
    List {
        /// As a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Play scenarios for real: our own `run` and hub in a home of their own, answered by the lab
    #[command(
        after_help = "The truth is what the scenario's tool has read. Exit codes: 0 all passed, 1 one failed."
    )]
    Run {
        /// The scenarios, by number or by name, in any case: QA-001, partial-line
        #[arg(value_name = "SCENARIO", conflicts_with = "all")]
        scenarios: Vec<String>,
        /// All that are implemented
        #[arg(long)]
        all: bool,
        /// As a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show which prompts the detector sees in a recording (asciicast v2), on the recording's own clock
    Replay(ReplayArgs),
    /// Show what the detector sees at one moment of a recording, what it decides, and why
    Explain(ExplainArgs),
    /// Run a tool on this terminal and record it, with a draft of its label
    #[command(
        after_help = "Everything that is shown is recorded. What is typed while the terminal does not show it, as a \
                      password, is written as bullets; so is text typed at programs that read key by key. The exit \
                      code is the tool's own."
    )]
    Record {
        /// The recording to make (default TOOL.cast); its draft label lies beside it as .json
        #[arg(long, short, value_name = "FILE.cast", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
        /// The program to run, and its arguments
        #[arg(value_name = "TOOL", required = true, trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
        tool: Vec<OsString>,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    #[arg(value_name = "FILE.cast", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Read it as a recording of this tool
    #[arg(long, value_name = "NAME")]
    pub(crate) adapter: Option<String>,
    /// One JSON object a line and prompt
    #[arg(long)]
    pub(crate) json: bool,
    /// Say how fast it was, on standard error
    #[arg(long)]
    pub(crate) stats: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    #[arg(value_name = "FILE.cast", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Seconds since the recording began
    #[arg(long, value_name = "SECONDS")]
    pub(crate) at: f64,
    /// Read it as a recording of this tool
    #[arg(long, value_name = "NAME")]
    pub(crate) adapter: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_holds() {
        Args::command().debug_assert();
    }
}
