//! Outages of every sort, by the dice of a seed: whatever waits is offered within two seconds of the first good answer
//! that the service gives after one.
//!
//! The lengths are part of what is rolled, so this test sleeps for them; everything else it waits for.

use std::thread;
use std::time::Duration;

use atlasbridge_testkit::Terminal;
use atlasbridge_testkit::telegram::{Call, Fault, Times};

use crate::Desk;
use crate::dice::{Dice, full_or};

/// Side by side: an outage is mostly waiting.
const DESKS: usize = 8;
/// The promise.
const SOON: Duration = Duration::from_secs(2);
/// Short enough for a suite, long enough for several pauses that grow.
const LONGEST_MS: u64 = 3_500;
const SENDING: [&str; 2] = ["sendMessage", "editMessageText"];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Where {
    Sending,
    Polling,
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum How {
    Refused,
    Status(u16),
    TooMany,
    Dropped,
    /// Answered at the end of the outage, late.
    Stuck,
    /// Never answered: the connection is lost, and nobody says so.
    Lost,
}

/// When the question comes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum When {
    Before,
    During,
    AtTheEnd,
}

#[derive(Debug)]
struct Outage {
    place: Where,
    how: How,
    when: When,
    length: Duration,
}

impl Outage {
    fn roll(dice: &mut Dice) -> Self {
        let hows = [
            How::Refused,
            How::Status(502),
            How::Status(503),
            How::TooMany,
            How::Dropped,
            How::Stuck,
            How::Lost,
        ];
        let how = hows[dice.roll(hows.len() as u64) as usize];
        let place = match how {
            // Nobody listens: that is so for every call.
            How::Refused => Where::Both,
            _ => [Where::Sending, Where::Polling, Where::Both][dice.roll(3) as usize],
        };
        Self {
            place,
            how,
            when: [When::Before, When::During, When::AtTheEnd][dice.roll(3) as usize],
            length: Duration::from_millis(50 + dice.roll(LONGEST_MS)),
        }
    }

    fn begins(&self, desk: &Desk) {
        let fault = match self.how {
            How::Refused => return desk.telegram.unreachable(),
            How::Status(status) => Fault::Status(status),
            How::TooMany => Fault::TooManyRequests { retry_after: 1 },
            How::Dropped => Fault::DropBefore,
            How::Stuck | How::Lost => Fault::Hang,
        };
        let fails = |method: &str| desk.telegram.fails(method, fault.clone(), Times::Always);
        if self.place != Where::Polling {
            SENDING.into_iter().for_each(fails);
        }
        if self.place != Where::Sending {
            fails("getUpdates");
        }
    }

    fn ends(&self, desk: &Desk) {
        match self.how {
            How::Refused => desk.telegram.reachable(),
            How::Status(_) | How::TooMany | How::Dropped | How::Lost => desk.telegram.heals(),
            How::Stuck => {
                desk.telegram.heals();
                desk.telegram.releases();
            }
        }
    }

    /// Whether this call could not be answered while it lasted.
    fn concerns(&self, call: &Call) -> bool {
        let is_poll = call.method == "getUpdates";
        match self.place {
            Where::Sending => SENDING.contains(&call.method.as_str()),
            Where::Polling => is_poll,
            Where::Both => is_poll || SENDING.contains(&call.method.as_str()),
        }
    }
}

/// Asks one question after the other; whoever answers at the terminal gets the next.
struct Tool {
    terminal: Terminal,
    asked: usize,
}

impl Tool {
    fn start(desk: &Desk) -> Self {
        let script =
            r#"n=0; while true; do n=$((n+1)); read -p "Delete file number $n.? (y/n) " answer; done"#;
        let tool = Self { terminal: desk.home.bash(script), asked: 1 };
        desk.prompt(&tool.question());
        tool
    }

    fn asks_the_next(&mut self) {
        self.terminal.type_keys("n\r");
        self.asked += 1;
    }

    fn question(&self) -> String {
        format!("Delete file number {}.?", self.asked)
    }
}

/// How long after it could be known that the service is back the question stood in the chat.
fn delay(desk: &Desk, tool: &mut Tool, outage: &Outage) -> Duration {
    let share = |part: u32| outage.length * part / 4;
    if outage.when == When::Before {
        tool.asks_the_next();
    }
    outage.begins(desk);
    thread::sleep(share(1));
    if outage.when == When::During {
        tool.asks_the_next();
    }
    thread::sleep(share(3));
    let healed = desk.telegram.now();
    outage.ends(desk);
    if outage.when == When::AtTheEnd {
        tool.asks_the_next();
    }
    let question = tool.question();
    let shown = desk.prompt(&question);
    let listed = desk
        .telegram
        .wait_call(
            |call| {
                call.method == "sendMessage"
                    && call.params.to_string().contains(&question)
                    && call.status == Some(200)
            },
            "the call that showed it was answered",
        )
        .answered_at
        .unwrap();
    assert!(shown.text.contains(&question));
    let good = desk
        .telegram
        .calls()
        .into_iter()
        .filter(|call| outage.concerns(call) && call.status == Some(200))
        .filter_map(|call| call.answered_at)
        .filter(|answered| *answered >= healed)
        .min();
    // Where nothing that concerns a question failed, it waits for nothing.
    let known = match outage.place {
        Where::Polling => healed,
        Where::Sending | Where::Both => good.unwrap_or(healed),
    };
    listed.saturating_sub(known)
}

#[test]
fn what_waits_is_offered_as_soon_as_the_service_is_back() {
    let each = full_or(400, 16).div_ceil(DESKS);
    let desk_of = |number: usize| {
        let desk = Desk::new();
        let mut tool = Tool::start(&desk);
        let mut dice = Dice::new(900 + number as u64);
        let mut late = Vec::new();
        for round in 0..each {
            let outage = Outage::roll(&mut dice);
            let delay = delay(&desk, &mut tool, &outage);
            if delay > SOON {
                late.push(format!("desk {number}, outage {round}: {delay:?} after {outage:?}"));
            }
        }
        desk.nothing_was_violated();
        late
    };
    let late: Vec<String> = thread::scope(|scope| {
        let desks: Vec<_> = (0..DESKS).map(|number| scope.spawn(move || desk_of(number))).collect();
        let of = |desk: thread::ScopedJoinHandle<'_, Vec<String>>| {
            desk.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        desks.into_iter().flat_map(of).collect()
    });
    assert_eq!(late, Vec::<String>::new(), "of {} outages", each * DESKS);
}
