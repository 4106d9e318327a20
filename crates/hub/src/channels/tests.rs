//! The loop on a clock of its own: nothing that is held is forgotten.

use super::*;

fn running() -> Running {
    let (tasks, _) = mpsc::channel(1);
    let target = Target("7".to_owned());
    let start = ChannelStart {
        name: "chat",
        notify_start: false,
        notify_end: false,
        version: 0,
        start: Arc::new(|_, _| unreachable!("it runs already")),
    };
    Running {
        start,
        handle: Handle { name: "chat", targets: vec![target], tasks },
        health: Health::Connected,
        busy: HashMap::new(),
        held: Holds::default(),
        failures: 0,
        worker: tokio::spawn(std::future::ready(())),
    }
}

/// The loop on a clock of its own: looks, of which each takes its time, and an alarm. How long after its hold was over
/// the target was given something.
fn delay(channels: &mut Channels, hold: i64, mut look_takes: impl FnMut() -> i64) -> i64 {
    let target = Target("7".to_owned());
    let until = 1_000 + hold;
    channels.running[0].held.hold(target.clone(), BootTime(until));
    let mut now = 1_000;
    loop {
        channels.is_due = false;
        channels.running[0].held.lift(BootTime(now));
        if channels.running[0].takes(&target) {
            return now - until;
        }
        now += look_takes();
        let alarm = channels.next_time().expect("who is held has a moment");
        now = now.max(alarm.0);
        assert!(channels.must_look(0, BootTime(now)), "the alarm has rung");
    }
}

#[tokio::test]
async fn a_hold_that_ends_while_the_loop_looks_is_not_forgotten() {
    let mut channels = Channels { running: vec![running()], seen_writes: Some(0), ..Channels::default() };
    for hold in 0..50 {
        for look_takes in 0..50 {
            let delay = delay(&mut channels, hold, || look_takes);
            assert!((0..=50).contains(&delay), "{delay} ms late after {hold}, {look_takes}");
        }
    }
}

#[tokio::test]
async fn what_was_written_is_looked_at_whoever_wrote_it() {
    let mut channels = Channels { seen_writes: Some(4), ..Channels::default() };
    assert!(!channels.must_look(4, BootTime(10)));
    assert!(channels.must_look(5, BootTime(10)));
    channels.post_at = Some(BootTime(10));
    assert!(!channels.must_look(4, BootTime(9)));
    assert!(channels.must_look(4, BootTime(10)));
    assert_eq!(channels.next_time(), Some(BootTime(10)));
}
