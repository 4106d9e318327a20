//! Program text made honest before a person decides on it.
//!
//! A terminal hides what it cannot draw, and a phone reorders what it is told to: `U+202E` turns the rest of a line
//! round, a zero-width space parts a word that looks whole. Here each such character becomes its number, and room that
//! pushes text out of sight becomes a count. Letters that merely look alike are left: no list of them is ever complete.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::RegexSet;

/// So many blanks in a row are a gap that hides what comes after: no dialog of the recordings indents deeper.
const WIDE_GAP: usize = 40;
/// So many empty lines in a row push what comes after off a phone's screen.
const TALL_GAP: usize = 4;

/// The text with every character that cannot be seen, or that moves others, spelled as `⟨U+202E⟩`; a run of the same one
/// is spelled once with its number. Line breaks stay.
///
/// At most 16 characters come out for each that goes in.
pub fn visible(text: &str) -> Cow<'_, str> {
    let mut spelled = String::with_capacity(text.len());
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if !hides(char, before) {
            spelled.push(char);
            before = Some(char);
            continue;
        }
        let mut times = 1;
        while chars.next_if_eq(&char).is_some() {
            times += 1;
        }
        let number = u32::from(char);
        let _ = match times {
            1 => write!(spelled, "⟨U+{number:04X}⟩"),
            times => write!(spelled, "⟨U+{number:04X} ×{times}⟩"),
        };
        before = None;
    }
    if spelled == text { Cow::Borrowed(text) } else { Cow::Owned(spelled) }
}

/// [`visible`], and besides no gap wide or tall enough to hide what comes after it: `⟨120 spaces⟩`, `⟨30 empty lines⟩`.
///
/// For questions. A picture of a screen keeps its gaps: there they are the layout.
pub fn without_gaps(text: &str) -> String {
    let visible = visible(text);
    let mut out = String::with_capacity(visible.len());
    let mut empty = 0;
    for (index, line) in visible.lines().enumerate() {
        if index > 0 && line.trim().is_empty() {
            empty += 1;
            continue;
        }
        push_empty_lines(&mut out, empty);
        empty = 0;
        if index > 0 {
            out.push('\n');
        }
        push_without_wide_gaps(&mut out, line);
    }
    out
}

fn push_empty_lines(out: &mut String, count: usize) {
    match count {
        0..TALL_GAP => out.extend(std::iter::repeat_n('\n', count)),
        _ => {
            let _ = write!(out, "\n⟨{count} empty lines⟩");
        }
    }
}

fn push_without_wide_gaps(out: &mut String, line: &str) {
    let mut rest = line.trim_end();
    while let Some(start) = rest.find(char::is_whitespace) {
        let (before, gap_and_after) = rest.split_at(start);
        let after = gap_and_after.trim_start();
        let gap = &gap_and_after[..gap_and_after.len() - after.len()];
        out.push_str(before);
        match gap.chars().count() {
            count if count >= WIDE_GAP => {
                let _ = write!(out, " ⟨{count} spaces⟩ ");
            }
            _ => out.push_str(gap),
        }
        rest = after;
    }
    out.push_str(rest);
}

/// Whether this character shows by itself: no blank, and nothing that hides.
pub(crate) fn is_seen(char: char) -> bool {
    !char.is_whitespace() && !hides(char, None)
}

/// Whether a person would not see this character, or would see others in another order because of it.
fn hides(char: char, before: Option<char>) -> bool {
    match char {
        '\n' => false,
        // The two that make emoji of pictures do so only after one; anywhere else they hide.
        '\u{fe0f}' | '\u{200d}' if before.is_some_and(is_picture) => false,
        char if char.is_control() => true,
        '\u{ad}' | '\u{34f}' | '\u{61c}' => true,
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => true,
        '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' => true,
        // A blank of another width; the no-break space and the one of Chinese text are what people write.
        '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{2800}' => true,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' => true,
        '\u{fffe}' | '\u{ffff}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

fn is_picture(char: char) -> bool {
    matches!(char, '#' | '*' | '0'..='9' | '\u{a9}' | '\u{ae}' | '\u{203c}'..='\u{2bff}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether somebody had better read this twice: it names something that deletes, overwrites or runs what it has fetched.
///
/// Only the layout of a message depends on it, never a decision: a list like this has holes, and false alarms.
pub fn looks_destructive(text: &str) -> bool {
    DESTRUCTIVE.is_match(text)
}

static DESTRUCTIVE: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(DESTRUCTIVE_WORDS).expect("the patterns are constants, and a test compiles them")
});

const DESTRUCTIVE_WORDS: &[&str] = &[
    // Files and disks.
    r"\brm\s+(?:\S+\s+)*-(?:[a-zA-Z]*[rRf]|-recursive\b|-force\b)",
    r"\b(?:rmdir|shred|wipefs|srm)\s+\S",
    r"\bmkfs(?:\.\w+)?\b",
    r"\bdd\s+(?:\S+\s+)*(?:of|if)=",
    r"\bfind\s.*-(?:delete|exec\s+rm)\b",
    r"\b(?:truncate|fallocate)\s+-",
    r"\bch(?:mod|own|grp)\s+(?:\S+\s+)*-(?:[a-zA-Z]*R|-recursive\b)",
    r">\s*/dev/(?:sd|nvme|hd|mmcblk|vd|disk)",
    r"\b(?:fdisk|parted|sgdisk|diskutil\s+erase\w*)\s+\S",
    r"\brsync\s.*--delete",
    r"(?i)\b(?:Remove-Item\s.*-Recurse|format\s+[a-z]:|del\s+/[fsq]|rd\s+/s)",
    // Histories.
    r"\bgit\s+(?:\S+\s+)*push\s+(?:.*\s)?(?:-[a-zA-Z]*f\b|--force\b|--force-with-lease\b|--mirror\b|--delete\b|\+\w)",
    r"\bgit\s+(?:\S+\s+)*(?:reset\s+(?:.*\s)?--hard|clean\s+(?:.*\s)?-[a-zA-Z]*f[a-zA-Z]*|branch\s+(?:.*\s)?-D)\b",
    r"\bgit\s+(?:\S+\s+)*(?:checkout|restore)\s+(?:--\s+)?\.(?:\s|$)",
    r"\bgit\s+(?:\S+\s+)*(?:filter-branch|filter-repo|update-ref\s+-d|reflog\s+expire|stash\s+(?:drop|clear))\b",
    // Databases.
    r"(?i)\bdrop\s+(?:table|database|schema|index|view|user|role|collection)\b",
    r"(?i)\btruncate\s+(?:table\s+)?\w",
    r"(?i)\bdelete\s+from\b",
    r"(?i)\balter\s+table\b.*\bdrop\b",
    r"(?i)\b(?:flushall|flushdb|dropdatabase)\b",
    // Machines and clouds.
    r"\bkubectl\s+(?:\S+\s+)*(?:delete|drain|replace\s+.*--force)\b",
    r"\b(?:terraform|tofu|pulumi|cdk|vagrant)\s+(?:\S+\s+)*destroy\b",
    r"\bterraform\s+(?:\S+\s+)*apply\s+.*-auto-approve\b",
    r"\bhelm\s+(?:\S+\s+)*(?:uninstall|delete)\b",
    r"\b(?:docker|podman)\s+(?:\S+\s+)*(?:prune|rm\s+-\w*f|rmi|volume\s+rm)\b",
    r"\b(?:aws|gcloud|az|gsutil|gh|doctl|heroku)\s+.*\b(?:delete[\w-]*|rm|rb|terminate-instances|destroy|purge)\b",
    r"\b(?:shutdown|reboot|poweroff|halt)\b(?:\s+-|\s+now|\s*$)",
    r"\b(?:kill\s+-(?:9|KILL)\s+-1|killall|pkill)\b",
    r"\b(?:iptables|nft)\s+(?:-F|flush)\b",
    r"\bcrontab\s+-r\b",
    r"\b(?:userdel|groupdel|deluser)\s+\S",
    // What is fetched and run unread.
    r"\b(?:curl|wget|fetch)\b[^|\n]*\|\s*(?:sudo\s+)?(?:\S*/)?(?:ba|z|da|k|fi)?sh\b",
    r"\b(?:curl|wget)\b[^|\n]*\|\s*(?:sudo\s+)?(?:\S*/)?(?:python\d?|perl|ruby|node)\b",
    r"\b(?:ba|z|da)?sh\s+(?:-c\s+)?[<(\x22$]*\(?\s*(?:curl|wget)\b",
    r"\beval\s+.*\$\(\s*(?:curl|wget)\b",
    // What is published cannot be taken back.
    r"\b(?:npm|yarn|pnpm|cargo|gem|twine)\s+(?:publish|unpublish|yank|upload)\b",
    r":\(\)\s*\{\s*:\|:&\s*\}",
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(visible(text), expected, "{text:?}");
    }

    #[test]
    fn what_cannot_be_seen_is_spelled() {
        check("plain text, ünïcode, 中文, ✓ ❯ ╭─╮", "plain text, ünïcode, 中文, ✓ ❯ ╭─╮");
        check("line\nbreak", "line\nbreak");
        check("rm \u{202e}txt.exe", "rm ⟨U+202E⟩txt.exe");
        check("a\u{200b}b", "a⟨U+200B⟩b");
        check("a\u{200b}\u{200b}\u{200b}b", "a⟨U+200B ×3⟩b");
        check("\u{2066}x\u{2069}", "⟨U+2066⟩x⟨U+2069⟩");
        check("\u{1b}[31mred\u{7}\t\r", "⟨U+001B⟩[31mred⟨U+0007⟩⟨U+0009⟩⟨U+000D⟩");
        check("\u{9b}31m", "⟨U+009B⟩31m");
        check("tag\u{e0041}\u{e007f}", "tag⟨U+E0041⟩⟨U+E007F⟩");
        check("soft\u{ad}hyphen \u{feff}", "soft⟨U+00AD⟩hyphen ⟨U+FEFF⟩");
        check("hangul \u{3164} blank \u{2800}", "hangul ⟨U+3164⟩ blank ⟨U+2800⟩");
        check("\u{2028}", "⟨U+2028⟩");
    }

    #[test]
    fn emoji_stay_whole_and_nothing_else_rides_on_them() {
        check("⚠\u{fe0f} careful", "⚠\u{fe0f} careful");
        check("👨\u{200d}👩\u{200d}👧", "👨\u{200d}👩\u{200d}👧");
        check("a\u{fe0f}", "a⟨U+FE0F⟩");
        check("rm\u{200d} -rf", "rm⟨U+200D⟩ -rf");
        check("⚠\u{fe01}", "⚠⟨U+FE01⟩");
    }

    #[test]
    fn gaps_that_hide_text_are_counted() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(without_gaps(text), expected, "{text:?}");
        }
        check("ls    -l\n\n  file", "ls    -l\n\n  file");
        check(&format!("ls{}; rm x", " ".repeat(120)), "ls ⟨120 spaces⟩ ; rm x");
        check(&format!("ls{}rm x", "\n".repeat(31)), "ls\n⟨30 empty lines⟩\nrm x");
        check("a\n\n\n\nb", "a\n\n\n\nb");
        check("a\n\n\n\n\nb", "a\n⟨4 empty lines⟩\nb");
        check("end   \n\n", "end");
        check("\u{202e}x", "⟨U+202E⟩x");
        check("", "");
    }

    #[test]
    fn what_destroys_is_noticed() {
        for text in [
            "rm -rf build",
            "sudo rm -fr /",
            "rm --recursive dir",
            "rm -v -r dir",
            "Bash(rm\n  -rf node_modules)",
            "git push --force origin main",
            "git push origin main -f",
            "git push origin +main",
            "git -C repo push --force-with-lease",
            "git reset --hard HEAD~3",
            "git clean -fdx",
            "git branch -D topic",
            "git checkout -- .",
            "git stash drop",
            "DROP TABLE users;",
            "drop database prod",
            "TRUNCATE TABLE users",
            "truncate users",
            "truncate -s 0 log",
            "DELETE FROM users",
            "mkfs.ext4 /dev/sda1",
            "dd if=/dev/zero of=/dev/sda",
            "curl -fsSL https://x.sh | sh",
            "curl https://x | sudo bash",
            "wget -qO- https://x | python3",
            "bash -c \"$(curl -fsSL https://x)\"",
            "bash <(curl https://x)",
            "chmod -R 777 .",
            "chown --recursive me .",
            "find . -name x -delete",
            "kubectl delete pod x",
            "kubectl -n prod delete ns x",
            "terraform destroy",
            "terraform apply -auto-approve",
            "helm uninstall x",
            "docker system prune -a",
            "docker rm -f x",
            "aws s3 rm s3://bucket --recursive",
            "gcloud projects delete x",
            "gh repo delete x",
            "echo x > /dev/sda",
            "shutdown -h now",
            "reboot",
            "killall node",
            "npm publish",
            "cargo publish",
            "redis-cli FLUSHALL",
            ":(){ :|:& };:",
        ] {
            assert!(looks_destructive(text), "{text}");
        }
    }

    #[test]
    fn words_that_only_resemble_it_are_left() {
        for text in [
            "",
            "Do you want to proceed?",
            "cargo test -p atlasbridge-model",
            "rm file.txt",
            "git push origin main",
            "git push origin topic-f",
            "git reset HEAD file",
            "git checkout .github/workflows",
            "npm install --force",
            "alarm -rf",
            "add if=x",
            "confirm -r the order",
            "form -fill",
            "curl https://x | jq .",
            "curl https://x -o script.sh",
            "chmod +x run.sh",
            "kubectl get pods",
            "terraform plan",
            "the table was dropped",
            "docker run --rm x",
            "find . -name deleted",
            "Rebooting is not needed here",
            "select * from users",
        ] {
            assert!(!looks_destructive(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_invisible_is_left_and_nothing_grows_without_bound(text in ".{0,200}|[\u{200b}-\u{2070}\u{e0000}-\u{e01ff}a\u{fe0f}]{0,80}") {
            let shown = visible(&text).into_owned();
            prop_assert!(shown.chars().count() <= 16 * text.chars().count());
            prop_assert_eq!(visible(&shown), shown.as_str());
            let closed = without_gaps(&text);
            prop_assert!(!closed.contains(&" ".repeat(WIDE_GAP)));
            let _ = looks_destructive(&text);
        }
    }
}
