//! The detector: observations in, events out. It owns the screen and knows which prompt stands on it.
//!
//! # One-prompt-one-sighting invariant
//! A physical prompt is seen once, however often it is redrawn, resized or scrolled; the same text asked again
//! after input is seen again. No time bucket is involved: a sighting ends when its prompt leaves the screen.
//!
//! Output never makes it read the screen at once: it only moves a deadline, so a flood costs a look every 20 ms.
//! When the state is known there is no deadline, so an idle session never wakes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use atlasbridge_model::{Detail, Excerpt, Fingerprint, Kind, Sighting, SightingNo, Takes};
use sha2::{Digest, Sha256};

use crate::deed::Marks;
use crate::keys::KeyReader;
use crate::moment::Moment;
use crate::page::Page;
use crate::recognise::{self, Look, Place, Reading};
use crate::screen::Screen;
use crate::status::{Claim, MOST_ANSWERS, REPLY, Status, claim_of_title};
use crate::verdict::{self, Circumstances, Terms};
use crate::witness::{KernelWait, Waits};

mod clock;
mod contract;
mod drift;
mod explain;
mod standing;

pub use contract::{Departure, DetectorConfig, DetectorEvent, Drift, Observation, ToolWord};
pub use explain::Explanation;

use clock::{Clock, TextHash, Wake};
use drift::Announcement;
use standing::Standing;

/// Longest synchronized update: a program that forgets to end one must not blind us.
const HELD: Duration = Duration::from_millis(150);
/// How long a prompt must be missing before it counts as gone: repaints pass within it.
const MISSING: Duration = Duration::from_millis(250);
/// The same after a key or a stroke: then its going is expected.
const MISSING_AFTER_INPUT: Duration = Duration::from_millis(40);
/// After Enter an agent's empty box means nothing for this long: spinners come late on a busy machine.
const AFTER_SENDING: Duration = Duration::from_millis(1200);
/// A key at the terminal shows in an empty box within this; until then a person has begun to write, and needs no
/// message that the box is empty. Codex took 120 ms while it started.
const AFTER_KEY: Duration = Duration::from_millis(300);
/// How long an Enter at the terminal counts as an answer on its way. A tool that shows nothing within it did not
/// take it.
const ANSWERING: Duration = Duration::from_secs(1);
/// While a dialog stands and no process reads, the kernel is asked again after this, until the dialog is told.
const LISTENS_AGAIN: Duration = Duration::from_millis(250);
/// A caller that does not answer `AskKernel` is asked again after this.
const UNANSWERED: Duration = Duration::from_secs(1);

/// Sees prompts on a tool's screen.
#[derive(Debug)]
pub struct Detector {
    config: DetectorConfig,
    screen: Screen,
    status: Status,
    keys: KeyReader,
    standing: Option<Standing>,
    candidate: Option<Candidate>,
    /// The tool's own word that it waits.
    word: Option<Announcement>,
    seen: u32,
    /// Status queries that were answered.
    answered: u32,
    /// What the kernel last said.
    kernel: KernelWait,
    clock: Clock,
}

/// A reading that has not stood long enough.
#[derive(Debug)]
struct Candidate {
    fingerprint: Fingerprint,
    since: Moment,
}

impl Detector {
    pub fn new(config: DetectorConfig, cols: u16, rows: u16) -> Self {
        let screen = Screen::new(cols, rows);
        Self {
            config,
            screen,
            status: Status::default(),
            keys: KeyReader::default(),
            standing: None,
            candidate: None,
            word: None,
            seen: 0,
            answered: 0,
            kernel: KernelWait::UNKNOWN,
            clock: Clock::default(),
        }
    }

    pub fn observe(&mut self, observation: Observation<'_>, now: Moment) -> Vec<DetectorEvent> {
        self.clock.now = self.clock.now.max(now);
        match observation {
            Observation::Output(bytes) => return self.output(bytes, now),
            Observation::Resized { cols, rows } => {
                self.screen.resize(cols, rows);
                self.clock.stir(now);
                if let Some(standing) = &mut self.standing {
                    standing.resized = true;
                }
            }
            Observation::LocalInput(bytes) => self.typed(bytes, now),
            Observation::Injected { whole } => self.injected(whole, now),
            Observation::Untaken => self.see_anew(now),
            Observation::Told(told) => self.told(told, now),
            Observation::Kernel(kernel) => return self.look(kernel, now),
            Observation::Deadline => return self.deadline(now),
            Observation::ToolEnded => return self.ended(),
        }
        Vec::new()
    }

    /// When [`Observation::Deadline`] is due. `None`: nothing is to be waited for.
    pub fn next_deadline(&self) -> Option<Moment> {
        let release = self.clock.held.map(|since| since + HELD);
        [release, self.clock.look_at].into_iter().flatten().min()
    }

    /// The prompt that stands on the screen.
    pub fn current(&self) -> Option<&Sighting> {
        self.standing.as_ref().filter(|standing| standing.announced).map(|standing| &standing.sighting)
    }

    /// The same prompt as the screen shows it in this moment, if it still does. Characters typed behind a line question
    /// are fine. Its rows are read again: where a marker is moved, a row has other keys each time, and where the rows
    /// cannot be read, such a row has none.
    pub fn current_now(&self) -> Option<Sighting> {
        let standing = self.standing.as_ref().filter(|standing| standing.announced)?;
        let page = self.screen.page();
        let look = self.look_at(&page, standing.kernel);
        let reading = recognise::read(&look);
        let (stands, taken) = self.find(standing, &look, reading.as_ref(), true);
        (stands && !taken).then(|| Sighting {
            choices: standing.choices_now(reading.as_ref()),
            ..standing.sighting.clone()
        })
    }

    /// Whether the prompt is still to be found, and whether what was given for it was taken. `submitted`: something was, or
    /// is to be judged as if it were.
    fn find(
        &self,
        standing: &Standing,
        look: &Look<'_>,
        reading: Option<&Reading>,
        submitted: bool,
    ) -> (bool, bool) {
        if let Some(words) = standing.unseen {
            // It is known by the tool's word alone.
            let stands = self.word.is_some() && (!submitted || words == drift::words_of(look.page));
            return (stands, !stands);
        }
        (standing.stands(look, reading, &self.status), standing.was_taken(look, reading, &self.status))
    }

    /// What was typed for the prompt that stands is to be seen: behind its question, else before the cursor. Some
    /// programs spell it out, `y` as `Yes`.
    pub fn shows_typed(&self, typed: &str) -> bool {
        let line = self.screen.page().cursor_line();
        let begins = |shown: &str| {
            let typed = typed.trim().to_lowercase();
            !typed.is_empty() && shown.trim_start().to_lowercase().starts_with(&typed)
        };
        match self.standing.as_ref().map(|standing| &standing.place) {
            Some(Place::Line { question }) => line.whole().strip_prefix(question.trim()).is_some_and(begins),
            Some(Place::Block) => line.before.trim_end().ends_with(typed.trim()),
            Some(Place::Composer { .. }) | None => false,
        }
    }

    /// Whether that very prompt still stands, as the screen is now.
    pub fn still_shows(&self, no: SightingNo, fingerprint: Fingerprint) -> bool {
        self.current_now().is_some_and(|seen| seen.no == no && seen.fingerprint == fingerprint)
    }

    /// Whether that very prompt is one that no screen shows and the tool's own hook still asks about. Enough for an answer
    /// that is said to that hook, and for no other: what is typed needs [`Detector::still_shows`].
    pub fn still_asks(&self, no: SightingNo, fingerprint: Fingerprint) -> bool {
        let is_it = |standing: &Standing| {
            standing.sighting.no == no
                && standing.sighting.fingerprint == fingerprint
                && standing.unseen.is_some()
        };
        self.standing.as_ref().is_some_and(is_it) && self.word.as_ref().is_some_and(|word| word.by_hook)
    }

    /// What the tool says, on the screen as it is now, of dialogs that were answered.
    pub fn marks(&self) -> Marks {
        Marks::of(&self.screen.page(), self.config.pack.as_deref())
    }

    /// A person has just pressed Enter at the terminal, and the tool's answer to it has not been seen yet: what
    /// stands there in a moment, even the same words, is another prompt.
    pub fn is_being_answered(&self, no: SightingNo, now: Moment) -> bool {
        let standing = self.standing.as_ref().filter(|standing| standing.sighting.no == no);
        standing.is_some_and(|standing| standing.local_keys && standing.sent)
            && self.clock.sent.is_some_and(|sent| now < sent + ANSWERING)
    }

    /// A person is in the middle of answering at the terminal. In a dialog any key may be the answer, and has shown what
    /// it did within a moment; elsewhere a line that was begun is not forgotten.
    pub fn typed_since(&self, no: SightingNo, now: Moment) -> bool {
        let standing = self.standing.as_ref().filter(|standing| standing.sighting.no == no);
        standing.is_some_and(|standing| {
            if standing.sighting.choices.is_some() && standing.place == Place::Block {
                standing.local_keys && self.clock.typed.is_some_and(|typed| now < typed + ANSWERING)
            } else {
                self.keys.half_typed()
            }
        })
    }

    /// Whether a text stands in the input box. `None`: there is none on the screen.
    pub fn holds_draft(&self) -> Option<bool> {
        let page = self.screen.page();
        match recognise::read(&self.look_at(&page, self.kernel))?.place {
            Place::Composer { drafted } => Some(drafted),
            Place::Line { .. } | Place::Block => None,
        }
    }

    /// Whether this text, which we typed, still stands where it was typed: right before the cursor. Asked of a screen that
    /// no recogniser knows, where nothing else tells a text that was sent from one that lies in its box.
    pub fn holds_text(&self, text: &str) -> bool {
        let page = self.screen.page();
        let plain = |text: &str| text.chars().filter(|char| !char.is_whitespace()).collect::<String>();
        let row = page.cursor.row;
        let before: String = page.text(row).chars().take(page.cursor.column).collect();
        let written = plain(recognise::without_marker(&before));
        !written.is_empty() && plain(text).ends_with(&written)
    }

    /// A line was begun at the terminal and not ended.
    pub fn is_half_typed(&self) -> bool {
        self.keys.half_typed()
    }

    pub fn screen(&self) -> &Screen {
        &self.screen
    }

    /// When a key was last typed; a terminal's own replies are none.
    pub fn last_key(&self) -> Option<Moment> {
        self.clock.typed
    }

    pub fn last_output(&self) -> Option<Moment> {
        self.clock.last_output
    }

    fn output(&mut self, bytes: &[u8], now: Moment) -> Vec<DetectorEvent> {
        let changes = self.status.changes();
        self.status.feed(bytes);
        if self.status.changes() != changes {
            self.clock.blocked = (self.status.claim() == Some(Claim::Blocked)).then_some(now);
            self.status_changed(now);
        }
        self.screen.feed(bytes);
        self.clock.last_output = Some(now);
        self.clock.held = self.screen.is_held().then(|| self.clock.held.unwrap_or(now));
        self.clock.stir(now);
        self.answer_queries()
    }

    fn answer_queries(&mut self) -> Vec<DetectorEvent> {
        let asked = self.status.take_queries();
        let left = if self.trusts_status() { MOST_ANSWERS.saturating_sub(self.answered) } else { 0 };
        let answers = asked.min(left);
        self.answered += answers;
        (0..answers).map(|_| DetectorEvent::AnswerStatusQuery(REPLY.to_vec())).collect()
    }

    fn typed(&mut self, bytes: &[u8], now: Moment) {
        let typed = self.keys.read(bytes);
        if !typed.keys {
            return;
        }
        self.clock.typed = Some(now);
        if typed.submits {
            self.clock.sent = Some(now);
        }
        let Some(standing) = &mut self.standing else {
            return;
        };
        standing.local_keys = true;
        standing.submitted |= typed.submits || !standing.kernel.canonical;
        standing.sent |= typed.submits;
        if typed.submits {
            // The answer may be taken without a word: look whether the program still reads.
            self.clock.stir(now);
        }
    }

    /// # A text without its Enter was not sent
    /// A dialog may be taken by any stroke. A text is not: what changes around an input box before Enter is the agent's
    /// doing, such as the rest of its first screen.
    fn injected(&mut self, whole: bool, now: Moment) {
        self.clock.echo_until = Some(now + self.config.echo_suppression);
        let Some(standing) = &mut self.standing else {
            self.clock.sent = Some(now);
            self.clock.stir(now);
            return;
        };
        standing.injected = Some(now);
        if whole || standing.sighting.choices.is_some() {
            standing.submitted = true;
            standing.sent = true;
            self.clock.sent = Some(now);
        }
        self.clock.stir(now);
    }

    fn see_anew(&mut self, now: Moment) {
        self.standing = None;
        self.candidate = None;
        self.clock.echo_until = None;
        self.clock.stir(now);
    }

    fn deadline(&mut self, now: Moment) -> Vec<DetectorEvent> {
        if self.clock.held.is_some_and(|since| now >= since + HELD) {
            self.screen.release();
            self.clock.held = None;
            self.clock.stir(now);
        }
        match self.clock.look_at {
            Some(due) if now >= due => {
                self.clock.look_at = Some(now + UNANSWERED);
                vec![DetectorEvent::AskKernel]
            }
            _ => Vec::new(),
        }
    }

    fn ended(&mut self) -> Vec<DetectorEvent> {
        self.clock = Clock { now: self.clock.now, last_output: self.clock.last_output, ..Clock::default() };
        self.candidate = None;
        self.word = None;
        let mut events = Vec::new();
        if let Some(standing) = self.standing.take() {
            depart(&mut events, standing, Departure::Ended);
        }
        events
    }

    fn look_at<'a>(&self, page: &'a Page, kernel: KernelWait) -> Look<'a> {
        Look { page, line: page.cursor_line(), kernel, claim: self.claim(), pack: self.config.pack.clone() }
    }

    /// What the program says of itself: its status, else its title. Where its pack says that it has no status,
    /// what looks like one was printed by something else.
    fn claim(&self) -> Option<Claim> {
        let pack = self.config.pack.as_deref();
        let status = self.status.claim().filter(|_| self.trusts_status());
        status.or_else(|| {
            let title = self.screen.title();
            match pack {
                Some(pack) => pack.claim_of_title(&title),
                None => claim_of_title(&title),
            }
        })
    }

    /// Reads the screen together with the kernel's word and decides.
    fn look(&mut self, kernel: KernelWait, now: Moment) -> Vec<DetectorEvent> {
        let page = self.screen.page();
        let before = std::mem::replace(&mut self.kernel, kernel);
        self.clock.looked(TextHash::of(&page), now);
        if before.wait == Waits::Nobody {
            self.clock.vetoed = now;
        }
        let look = self.look_at(&page, kernel);
        let reading = recognise::read(&look);
        let mut events = Vec::new();
        let mut wake = Wake { now, at: None };

        let drifts_at = self.drifts_at(reading.as_ref());
        let find = |standing: &Standing| self.find(standing, &look, reading.as_ref(), standing.submitted);
        let found = self.standing.as_ref().map(find);
        if let (Some(standing), Some((stands, taken))) = (&mut self.standing, found) {
            let echo_over = self.clock.echo_until.is_some_and(|until| now >= until);
            let taken = taken || echo_over && standing.is_asked_anew(&look, self.clock.last_output);
            let stands = stands && !standing.is_outgrown(reading.as_ref());
            if !taken && stands && drifts_at.is_none_or(|due| now < due) {
                standing.missing = None;
                standing.refresh(kernel);
                self.candidate = None;
                // A word that comes after its dialog is about that dialog.
                self.met_by(reading.as_ref());
                let echo_until = self.clock.echo_until.filter(|until| *until > now);
                self.clock.look_at = echo_until.into_iter().chain(drifts_at).min();
                return events;
            }
            let missing = *standing.missing.get_or_insert(now);
            // A box is drawn anew around what was sent; what leaves it is told by what comes above it.
            let patience = if standing.submitted && standing.sighting.kind != Kind::Idle {
                MISSING_AFTER_INPUT
            } else {
                MISSING
            };
            if taken || now >= missing + patience || stands {
                self.leave(&look, &mut events);
            } else {
                wake.after(missing + patience);
            }
        }

        let known = self.circumstances(&look);
        let unseen = drifts_at.is_some_and(|due| now >= due);
        let judged = match reading {
            _ if unseen => Some(self.unseen(&look)),
            Some(reading) if self.is_unannounced(&reading) => Some((reading, verdict::doubted(drift::AHEAD))),
            Some(reading) => verdict::judge(&reading, known).map(|terms| (reading, terms)),
            None => self.judge_unknown(&look, known),
        };
        if let Some(due) = drifts_at.filter(|_| !unseen) {
            wake.after(due);
        }
        match judged {
            Some((reading, terms)) => self.weigh(&look, &reading, terms, &mut wake, &mut events),
            None => self.candidate = None,
        }
        self.plan(kernel, wake);
        events
    }

    fn circumstances(&self, look: &Look<'_>) -> Circumstances {
        Circumstances {
            kernel: look.kernel,
            claim: look.claim,
            alternate: look.page.alternate,
            told: self.is_told(),
            announced: self.is_announced(),
            starting: self.clock.typed.is_none() && self.clock.sent.is_none(),
            silent: look.pack().and_then(|pack| pack.idle.as_ref()).is_some_and(|idle| idle.is_silent),
            behind_text: !look.line.before.is_empty() && look.line.gap <= 1 && look.line.after.is_empty(),
            stuck_timeout: self.config.stuck_timeout,
        }
    }

    /// The program says that a dialog is open, and said so after the last key: it speaks of the one to come.
    fn is_announced(&self) -> bool {
        let said = self.clock.blocked.filter(|_| self.claim() == Some(Claim::Blocked));
        let last_key = self.clock.typed.max(self.clock.sent);
        said.is_some_and(|said| last_key.is_none_or(|key| key <= said))
    }

    fn judge_unknown(&self, look: &Look<'_>, known: Circumstances) -> Option<(Reading, Terms)> {
        if recognise::is_busy(look) {
            return None;
        }
        verdict::judge_unknown(known).map(|terms| (recognise::unknown(look), terms))
    }

    /// A reading becomes a sighting once it and the screen have rested as long as its terms say.
    fn weigh(
        &mut self,
        look: &Look<'_>,
        reading: &Reading,
        terms: Terms,
        wake: &mut Wake,
        events: &mut Vec<DetectorEvent>,
    ) {
        let now = wake.now;
        let fingerprint = fingerprint_of(&reading.identity);
        let since = match &self.candidate {
            Some(candidate) if candidate.fingerprint == fingerprint => candidate.since,
            // A reading cannot be older than the last change of the screen, but it may be as old.
            _ if self.candidate.is_none() => self.clock.changed.min(now).max(self.clock.last_stir(now)),
            _ => now,
        };
        self.candidate = Some(Candidate { fingerprint, since });
        let ripe = self.ripe(reading, terms, since, now);
        if now < ripe {
            // Whether anybody listens is news that no output brings.
            let again = match self.kernel.wait {
                Waits::Nobody => ripe.min(now + LISTENS_AGAIN),
                Waits::Read | Waits::Poll | Waits::Unknown => ripe,
            };
            wake.after(again);
            return;
        }
        let Some(confidence) = terms.confidence(self.config.threshold) else {
            return;
        };
        self.leave(look, events);
        self.seen += 1;
        let sighting = Sighting {
            no: SightingNo(self.seen),
            kind: reading.kind,
            confidence,
            excerpt: Excerpt::new(&reading.excerpt),
            detail: Detail::new(&reading.detail),
            choices: reading.choices.clone(),
            constraints: reading.constraints,
            offers_default: reading.offers_default,
            takes: Takes {
                lines: matches!(reading.place, Place::Composer { .. })
                    && self.screen.input_modes().bracketed_paste,
                ..Takes::NOTHING
            },
            entry: reading.entry,
            fingerprint,
        };
        let announced = reading.kind != Kind::Idle || self.config.announce_idle;
        if let Some(how) = self.meet(reading).filter(|_| announced) {
            events.push(DetectorEvent::Drift { no: sighting.no, how });
        }
        if announced {
            events.push(DetectorEvent::Seen(sighting.clone()));
        }
        self.candidate = None;
        self.clock.echo_until = None;
        let mut standing = Standing::new(sighting, reading, look, &self.status, announced);
        // What was typed between the question's appearance and this look may be its answer, and is no answer to another prompt.
        standing.local_keys = self.clock.typed.is_some_and(|typed| typed >= since);
        standing.sent = standing.local_keys && self.clock.sent.is_some_and(|sent| sent >= since);
        standing.submitted = standing.sent;
        standing.unseen = drift::is_unseen(reading).then(|| drift::words_of(look.page));
        self.standing = Some(standing);
        wake.at = None;
    }

    /// When the reading has stood, and the screen has rested, as long as the terms say.
    fn ripe(&self, reading: &Reading, terms: Terms, since: Moment, now: Moment) -> Moment {
        // "Don't know" after "no process reads" is no news: only time since then speaks for a prompt.
        let vetoed = match self.kernel.wait {
            Waits::Unknown => self.clock.vetoed,
            Waits::Read | Waits::Poll | Waits::Nobody => Moment::default(),
        };
        let changed = self.clock.changed.max(vetoed);
        let changed_words = self.clock.changed_words.max(vetoed);
        let silent = self.clock.silent_since(now) + terms.silence;
        let silent = if terms.strict { silent } else { silent.min(changed + verdict::BYTES_ENOUGH) };
        let rested = match reading.place {
            Place::Composer { .. } if terms.strict => (changed + terms.rest).max(silent),
            // A spinner means work, unless it turns on for long beside an agent that says nothing more.
            Place::Composer { .. } => {
                (changed + terms.rest).max(silent).min(changed_words + verdict::WORDS_ENOUGH.max(terms.rest))
            }
            Place::Line { .. } | Place::Block => changed_words + terms.rest,
        };
        let ripe = rested.max(since.max(vetoed) + terms.settle);
        match (&reading.place, self.clock.sent, self.clock.typed) {
            (Place::Composer { drafted: true }, _, Some(typed)) => {
                ripe.max(typed + self.config.stuck_timeout)
            }
            (Place::Composer { .. }, sent, typed) => {
                let after = [sent.map(|sent| sent + AFTER_SENDING), typed.map(|typed| typed + AFTER_KEY)];
                after.into_iter().flatten().fold(ripe, Moment::max)
            }
            (Place::Line { .. } | Place::Block, _, _) => ripe,
        }
    }

    /// The standing prompt is no more.
    fn leave(&mut self, look: &Look<'_>, events: &mut Vec<DetectorEvent>) {
        let Some(standing) = self.standing.take() else {
            return;
        };
        self.clock.echo_until = None;
        self.keys.forget_line();
        let how = match (standing.injected.is_some(), standing.local_keys) {
            (true, _) => Departure::Injected,
            (false, true) => Departure::LocalInput,
            (false, false) => Departure::Unprompted { echoed: standing.was_echoed(look.page) },
        };
        depart(events, standing, how);
    }

    /// When to look again without any further stir.
    fn plan(&mut self, kernel: KernelWait, mut wake: Wake) {
        let known = self.standing.as_ref().is_some_and(|standing| standing.missing.is_none())
            || matches!(kernel.wait, Waits::Read | Waits::Poll);
        if !known {
            wake.after(self.clock.next_distance());
        }
        let first = wake.now + Duration::from_millis(1);
        self.clock.look_at = wake.at.map(|at| at.max(first));
    }
}

fn depart(events: &mut Vec<DetectorEvent>, standing: Standing, how: Departure) {
    if standing.announced {
        events.push(DetectorEvent::Gone { no: standing.sighting.no, how });
    }
}

fn hash_of<T: Hash>(parts: impl IntoIterator<Item = T>) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.into_iter().for_each(|part| part.hash(&mut hasher));
    hasher.finish()
}

fn fingerprint_of(identity: &str) -> Fingerprint {
    let digest = Sha256::digest(identity.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Fingerprint(bytes)
}
