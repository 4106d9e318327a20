//! Questions that programs ask in one line or under a list, and what they are read as.

use std::time::Duration;

use atlasbridge_detect::{Detector, DetectorConfig, DetectorEvent, KernelWait, Moment, Observation, Waits};
use atlasbridge_model::{Choices, Sighting, Span};

fn seen(text: &str, kernel: KernelWait) -> Option<Sighting> {
    let mut detector = Detector::new(DetectorConfig::default(), 80, 24);
    detector.observe(Observation::Output(text.as_bytes()), Moment::default());
    while let Some(due) = detector.next_deadline().filter(|due| due.0 < Duration::from_millis(1500)) {
        detector.observe(Observation::Deadline, due);
        for event in detector.observe(Observation::Kernel(kernel), due) {
            if let DetectorEvent::Seen(sighting) = event {
                return Some(sighting);
            }
        }
    }
    None
}

/// Kind, then each choice as `label=keys`, the refusing one marked with `!`.
fn told(sighting: &Sighting) -> String {
    let mut told = sighting.kind.to_string();
    let refusing = sighting.choices.as_ref().and_then(Choices::refusing);
    for (index, choice) in sighting.choices.iter().flat_map(Choices::iter).enumerate() {
        let mark = if refusing == Some(index) { "!" } else { "" };
        told.push_str(&format!(" | {mark}{}={}", choice.label, choice.keys().escape_debug()));
    }
    told
}

#[track_caller]
fn check(kernel: KernelWait, text: &str, expected: &str) {
    let said = seen(text, kernel).map_or_else(|| "nothing".to_owned(), |sighting| told(&sighting));
    assert_eq!(said, expected, "{text:?}");
}

const LINE: KernelWait = KernelWait { wait: Waits::Read, canonical: true, echo: true };
const KEYS: KernelWait = KernelWait { wait: Waits::Poll, canonical: false, echo: false };
const YES_NO: &str = r"yes_no | Yes=y\r | !No=n\r";
const WHOLE: &str = r"yes_no | Yes=yes\r | !No=no\r";

#[test]
fn yes_or_no() {
    for question in [
        "Overwrite? (y/N): ",
        "Continue (Y/n)? ",
        "Are you sure? ",
        "Do you want to continue [Y/n]? ",
        "Terminate batch job (Y/N)? ",
        "mv: replace 'b', overriding mode 0444 (r--r--r--)? ",
        "Delete 3 branches? [y/N] ",
        "Really quit? ",
        "Proceed with installation? [Y/n] ",
        "Do you wish to continue? (Y or N) ",
    ] {
        check(LINE, question, YES_NO);
        check(KEYS, question, YES_NO);
    }
    for question in
        ["Proceed? [yes/no]: ", "Do you accept the license terms? (yes/no) [no]: ", "Type 'yes' to confirm: "]
    {
        check(LINE, question, WHOLE);
    }
    check(LINE, "Is this ok [y/d/N]: ", r"multiple_choice | y=y\r | d=d\r | !N=n\r");
    check(LINE, "Remove? [y/N/a] ", r"yes_no | Yes=y\r | !No=n\r | a=a\r");
}

/// Other languages, other brackets, other scripts; a line that wraps at 80 columns.
#[test]
fn yes_or_no_elsewhere() {
    check(LINE, "Möchten Sie fortfahren? [J/n] ", r"yes_no | Yes=j\r | !No=n\r");
    check(LINE, "Souhaitez-vous continuer ? [O/n] ", r"yes_no | Yes=o\r | !No=n\r");
    check(LINE, "¿Desea continuar? [S/n] ", r"yes_no | Yes=s\r | !No=n\r");
    check(LINE, "Хотите продолжить? [Д/н] ", r"yes_no | Yes=д\r | !No=н\r");
    check(LINE, "是否继续？(是/否) ", r"yes_no | Yes=是\r | !No=否\r");
    check(LINE, "続行しますか？ [y/N]: ", YES_NO);
    check(LINE, "هل تريد المتابعة؟ (نعم/لا) ", r"yes_no | Yes=نعم\r | !No=لا\r");
    check(LINE, "להמשיך? [y/n] ", YES_NO);
    check(LINE, "{y/n} ", YES_NO);
    check(LINE, "<y/n> ", YES_NO);
    check(LINE, "Don’t keep the old file? [y/N] ", YES_NO);
    let long =
        "The package 文字 depends on something that is not installed and will be fetched from the net, "
            .repeat(2);
    check(LINE, &format!("{long}continue? [y/N] "), YES_NO);
    check(KEYS, "密码： ", "password");
}

#[test]
fn one_of_several() {
    check(LINE, "1) dev\r\n2) prod\r\n#? ", r"multiple_choice | dev=1\r | prod=2\r");
    check(
        LINE,
        "Options:\r\n  1. Add\r\n  2. Cancel\r\n\r\nEnter choice [1-2]: ",
        r"multiple_choice | Add=1\r | !Cancel=2\r",
    );
    check(LINE, "[a] Apply\r\n[b] Back\r\nSelect an option: ", r"multiple_choice | Apply=a\r | !Back=b\r");
    check(LINE, "[Y]es [N]o [A]ll: ", r"yes_no | Yes=y\r | !No=n\r | All=a\r");
    check(LINE, "(R)etry, (I)gnore, (A)bort? ", r"multiple_choice | Retry=r\r | Ignore=i\r | !Abort=a\r");
    check(
        LINE,
        "Environment [dev/staging/prod]: ",
        r"multiple_choice | dev=dev\r | staging=staging\r | prod=prod\r",
    );
    check(KEYS, "? Pick one\r\n❯ Red\r\n  Green\r\n", r"multiple_choice | Red=\r | Green=\u{1b}[B\r");
    check(
        KEYS,
        "Delete it?\r\n\r\n❯ 1. Yes\r\n  2. No\r\n\r\nEnter to confirm · Esc to cancel",
        "yes_no | Yes=1 | !No=2",
    );
}

/// Menus of libraries that have no recording: survey, clack, bubbletea, inquirer, python-inquirer, agents.
#[test]
fn menus_moved_by_arrows() {
    check(
        KEYS,
        "? What is your preferred protocol for Git operations on this host?  [Use arrows to move, type to filter]\r\n> HTTPS\r\n  SSH",
        r"multiple_choice | HTTPS=\r | SSH=\u{1b}[B\r",
    );
    check(
        KEYS,
        "◆  Select a framework:\r\n│  ● Vanilla\r\n│  ○ Vue\r\n└",
        r"multiple_choice | Vanilla=\r | Vue=\u{1b}[B\r",
    );
    check(
        KEYS,
        "Choose an item:\r\n> Banana\r\n  Cherry\r\n\r\n←↓↑→ navigate • enter submit",
        r"multiple_choice | Banana=\r | Cherry=\u{1b}[B\r",
    );
    // Enter alone would send no tick at all.
    check(
        KEYS,
        "? Toppings (Press <space> to select)\r\n❯◯ Ham\r\n ◯ Cheese",
        r"multiple_choice | Ham= \r | Cheese=\u{1b}[B \r",
    );
    check(KEYS, "[?] What size?: L\r\n   S\r\n > L\r\n", r"multiple_choice | S=\u{1b}[A\r | L=\r");
    check(
        KEYS,
        "╭──────────────────────╮\r\n│ Allow it to run?     │\r\n│                      │\r\n│   git push           │\r\n│                      │\r\n│ ❯ Yes                │\r\n│   No (esc)           │\r\n╰──────────────────────╯",
        r"yes_no | Yes=\r | !No=\u{1b}",
    );
    // A key that the row itself names goes before arrows; Continue loses arrows that come together.
    check(
        KEYS,
        "Would you like to continue?\r\n> Continue (tab)\r\n  Continue + don't ask again (shift+tab)\r\n  No, and tell Continue what to do differently (esc)\r\n",
        r"multiple_choice | Continue=\t | Continue + don't ask again (shift+tab)=\u{1b}[Z | !No, and tell Continue what to do differently=\u{1b}",
    );
    // What was asked before, and left behind, is not asked now.
    check(
        LINE,
        " Do you want to proceed?\r\n ❯ 1. Yes\r\n   2. No\r\n\r\n Esc to cancel\r\nDelete 3 files? [y/n] ",
        r"yes_no | Yes=y\r | !No=n\r",
    );
}

/// Lists and words that programs without a recording use.
#[test]
fn lists_and_words() {
    check(
        LINE,
        " [1] us-east1\r\n [2] cancel\r\nPlease enter numeric choice or text value (must exactly match list\r\nitem):  ",
        r"multiple_choice | us-east1=1\r | !cancel=2\r",
    );
    check(
        LINE,
        "Accept the license? [accept/decline]: ",
        r"multiple_choice | accept=accept\r | !decline=decline\r",
    );
    check(
        LINE,
        "   1) jdk  2) jre\r\n\r\nEnter a number (default=1): ",
        r"multiple_choice | jdk=1\r | jre=2\r",
    );
}

/// A list belongs to its own question only: not to the next one, and not to a yes or no below it.
#[test]
fn a_list_that_is_not_asked_about() {
    let answered = "  1) PostgreSQL\r\n  2) SQLite\r\nEnter choice [1-2]: 2\r\n-> you chose: 2\r\n";
    check(LINE, &format!("{answered}Enter commit message: "), "free_text");
    check(LINE, &format!("{answered}Anything else? "), "free_text");
    let notes = "Changes:\r\n  1. faster\r\n  2. smaller\r\n";
    check(LINE, &format!("{notes}Release title: "), "free_text");
    check(LINE, &format!("{notes}Publish? (y/n) "), r"yes_no | Yes=y\r | !No=n\r");
}

#[test]
fn text_secrets_and_enter() {
    for question in [
        "Enter commit message: ",
        "Branch [origin/main]: ",
        "Your name? ",
        "> ",
        "Port (8080): ",
        "Where to?> ",
    ] {
        check(LINE, question, "free_text");
    }
    for question in
        ["Password: ", "Enter PIN for 'key': ", "API key: ", "Passphrase for /home/dev/.ssh/id_ed25519: "]
    {
        check(KEYS, question, "password");
        check(KernelWait { echo: false, ..LINE }, question, "password");
    }
    for question in [
        "Press Enter to continue",
        "-- More --",
        "[Press any key]",
        "Press RETURN to continue or q to quit: ",
    ] {
        check(LINE, question, "confirm_enter");
    }
    check(LINE, "Press Enter to continue...\r\n", "confirm_enter");
}

#[test]
fn what_asks_nothing() {
    for text in
        ["Compiling foo v0.1.0\r\n", "12:30:05: ", "see (y/n) above\r\n", "[ 48%] Building\r\n", "done.\r\n"]
    {
        check(KEYS, text, "nothing");
    }
    for text in ["Continue? [y/N] ", "Password: ", "1) a\r\n2) b\r\n#? "] {
        check(KernelWait { wait: Waits::Nobody, ..LINE }, text, "nothing");
    }
}

/// What a person reads first: the line that asks, wherever it stands.
#[test]
fn the_line_that_leads_to_a_list_is_shown() {
    for (text, expected) in [
        (
            "Which database do you want?\r\n1) PostgreSQL\r\n2) MySQL\r\nEnter choice [1-2]: ",
            "Which database do you want? Enter choice [1-2]:",
        ),
        (
            "Select a plan:\r\n\r\n  [1] Small\r\n      1 CPU\r\n\r\n  [2] Large\r\n      8 CPU\r\n\r\nPlan (1-2) [1]: ",
            "Select a plan: Plan (1-2) [1]:",
        ),
        (
            "What shall be done?\r\na) Install\r\nb) Remove\r\nc) Quit\r\nYour choice (a/b/c): ",
            "What shall be done? Your choice (a/b/c):",
        ),
        ("Use Docker?\r\n(y/N) ", "Use Docker? (y/N)"),
        ("All data will be lost.\r\nYes/No? ", "All data will be lost. Yes/No?"),
    ] {
        let sighting = seen(text, LINE).unwrap_or_else(|| panic!("{text:?}"));
        assert_eq!(sighting.excerpt.as_str(), expected, "{text:?}");
    }
}

#[test]
fn lists_in_other_shapes() {
    check(
        LINE,
        "a) Install\r\nb) Remove\r\nc) Quit\r\nYour choice (a/b/c): ",
        r"multiple_choice | Install=a\r | Remove=b\r | !Quit=c\r",
    );
    check(
        LINE,
        "Select license\r\n1 - MIT\r\n2 - BSD\r\nChoose from [1/2] (1): ",
        r"multiple_choice | MIT=1\r | BSD=2\r",
    );
    // A service is stopped by it: nothing that silence may do.
    check(
        LINE,
        "1. Start server\r\n2. Stop server\r\n3. Back up\r\n0. Exit\r\n\r\nEnter your choice: ",
        r"multiple_choice | Start server=1\r | Stop server=2\r | Back up=3\r | !Exit=0\r",
    );
    check(
        LINE,
        "Confirm\r\n[Y] Yes  [A] Yes to All  [N] No  [?] Help (default is \"Y\"): ",
        r"multiple_choice | Yes=y\r | Yes to All=a\r | !No=n\r | Help=?\r",
    );
    check(
        LINE,
        "Hash type (MD5, SHA1, SHA256): ",
        r"multiple_choice | MD5=MD5\r | SHA1=SHA1\r | SHA256=SHA256\r",
    );
    check(LINE, "Are you sure? (Type 'yes' in capital letters): ", r"yes_no | Yes=YES\r | !No=no\r");
}

/// The list counts until its question is answered: once more after an answer that was not taken.
#[test]
fn a_list_asked_again_still_counts() {
    let asked = "1) one\r\n2) two\r\nYour selection? ";
    let expected = r"multiple_choice | one=1\r | two=2\r";
    check(LINE, &format!("{asked}9\r\nInvalid selection.\r\nYour selection? "), expected);
    check(LINE, &format!("{asked}1\r\nKey size? (3072) "), "free_text");
}

/// `y` is understood in every language.
#[test]
fn coreutils_in_other_languages() {
    for question in [
        "cp: 'b' überschreiben? ",
        "cp\u{a0}: voulez-vous écraser 'b'\u{a0}? ",
        "rm: 通常の空ファイル 'a' を削除しますか? ",
        "rm: удалить пустой обычный файл 'a'? ",
    ] {
        check(LINE, question, YES_NO);
    }
}

/// A row may quote a command, and a command a token.
#[test]
fn labels_of_choices_are_masked() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let text =
        format!("Run it?\r\n1) Yes\r\n2) Always for: curl -H {token}\r\n3) No\r\nEnter choice [1-3]: ");
    let sighting = seen(&text, LINE).unwrap_or_else(|| panic!("{text:?}"));
    assert!(!told(&sighting).contains(&token), "{}", told(&sighting));
}

/// Rows with boxes are ticked and sent; those that cannot be taken are passed by.
#[test]
fn rows_that_are_ticked() {
    check(
        KEYS,
        "? Select features\r\n❯◯ npm\r\n - pnpm (not installed)\r\n ──────────\r\n ◉ yarn\r\n ◯ bun\r\n\r\n↑↓ navigate • space select • ⏎ submit\x1b[?25l",
        r"multiple_choice | npm= \r | yarn=\u{1b}[B\r | bun=\u{1b}[B\u{1b}[B \r",
    );
    check(
        KEYS,
        "◆  Select tools.\r\n│  \x1b[36m◻ ESLint\x1b[0m\r\n│  ◻ Prettier\r\n│  ↑/↓ to navigate • Space: select • Enter: confirm\r\n└\r\n",
        r"multiple_choice | ESLint= \r | Prettier=\u{1b}[B \r",
    );
    check(KEYS, "? Enable TypeScript? › No / \x1b[36;4mYes\x1b[0m", r"yes_no | !No=\u{1b}[D\r | Yes=\r");
}

/// The hint of the keys is neither the question nor a row.
#[test]
fn a_hint_between_question_and_rows() {
    let text = "🎤 License?\r\n   (Use arrow keys)\r\n » MIT\r\n   BSD\r\n";
    check(KEYS, text, r"multiple_choice | MIT=\r | BSD=\u{1b}[B\r");
    let sighting = seen(text, KEYS).unwrap_or_else(|| panic!("{text:?}"));
    assert!(sighting.excerpt.as_str().starts_with("🎤 License?"), "{}", sighting.excerpt);
}

/// What only looks like a menu: things to do beside work, and a text with a list in it.
#[test]
fn lists_that_ask_nothing() {
    for text in [
        "Plan\r\n☐ read the code\r\n☑ write a test\r\n☐ fix it\r\n\r\n⠋ Thinking (esc to cancel, 3s)",
        "Todo\r\n[ ] one\r\n[✓] two\r\n\r\nesc interrupt",
        "● First point\r\n  goes on here\r\n● Second point\r\n  and here\r\n",
        "* Java\r\n  is a language\r\n",
        "✓ adds numbers\r\n✓ subtracts numbers\r\n\r\npress h to show help, press q to quit\r\n",
    ] {
        check(KEYS, text, "nothing");
    }
}

/// Installers ask in one line and wait in the next.
#[test]
fn a_mark_below_the_question() {
    check(LINE, "Do you accept the license terms? [yes|no]\r\n>>> ", WHOLE);
    check(LINE, "Please, press ENTER to continue\r\n>>> ", "confirm_enter");
    check(
        KEYS,
        "zsh: correct 'ecoh' to 'echo' [nyae]? ",
        r"multiple_choice | !n=n\r | y=y\r | a=a\r | e=e\r",
    );
    let line = "x".repeat(80);
    check(KEYS, &format!("{}{line}\x1b[24;1H--More--", "\r\n".repeat(22)), "confirm_enter");
}

/// The numbers of the rows, and how many of them one answer takes, where the prompt says so.
#[test]
fn limits_of_a_list() {
    let check = |text: &str, expected: &str| {
        let constraints = seen(text, LINE).expect("a prompt").constraints;
        let told = |span: Option<Span>| {
            span.map_or_else(|| "-".to_owned(), |span| format!("{}..{}", span.least(), span.most()))
        };
        let said = format!("numbers {}, picks {}", told(constraints.numbers), told(constraints.picks));
        assert_eq!(said, expected, "{text:?}");
    };
    let list = "Which database?\r\n  1) PostgreSQL\r\n  2) SQLite\r\n  3) None\r\n";
    check(&format!("{list}Enter choice [1-3]: "), "numbers 1..3, picks -");
    check(&format!("{list}Your choice: "), "numbers 1..3, picks -");
    check(
        "Toppings\r\n  1) olives\r\n  2) onions\r\n  3) capers\r\nPick 1 to 2 toppings, your choice: ",
        "numbers 1..3, picks 1..2",
    );
    let many: String = (1..=14).map(|row| format!("  {row}) region {row}\r\n")).collect();
    check(&format!("Regions:\r\n{many}Enter choice: "), "numbers 1..14, picks -");
    check("Sort how?\r\n  a) by name\r\n  b) by date\r\nYour choice: ", "numbers -, picks -");
    check("Delete it? (y/n) ", "numbers -, picks -");
    check("Commit message: ", "numbers -, picks -");
}
