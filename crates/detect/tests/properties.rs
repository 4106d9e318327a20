//! Whatever a tool prints or a terminal sends: no panic, no spinning, no sighting twice.

use std::time::Duration;

use atlasbridge_detect::{
    Detector, DetectorConfig, DetectorEvent, KernelWait, Moment, Observation, Packs, ToolWord, Waits,
};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Input {
    Output(Vec<u8>),
    Resized(u16, u16),
    Typed(Vec<u8>),
    Injected,
    Told(bool),
    Kernel(KernelWait),
    Wait(u16),
}

fn inputs() -> impl Strategy<Value = Vec<Input>> {
    let wait = prop_oneof![Just(Waits::Read), Just(Waits::Poll), Just(Waits::Nobody), Just(Waits::Unknown)];
    let kernel = (wait, any::<bool>(), any::<bool>())
        .prop_map(|(wait, canonical, echo)| Input::Kernel(KernelWait { wait, canonical, echo }));
    let text = prop_oneof![
        Just("Continue? [y/N] ".to_owned()),
        Just("1) one\r\n2) two\r\n#? ".to_owned()),
        Just("\x1b[?1049h\x1b[2J\x1b[H❯ 1. Yes\r\n  2. No\r\n".to_owned()),
        Just("\x1b[?2026hheld ".to_owned()),
        Just("Password: ".to_owned()),
        Just("\x1b]7501;state=blocked:app=x\x07".to_owned()),
        Just("\x1b]7501;state=working:app=x\x07".to_owned()),
        "[ -~│─❯●\r\n\t]{0,60}",
        "\x1b\\[[0-9;?]{0,6}[A-Za-z]",
    ];
    let input = prop_oneof![
        4 => text.prop_map(|text| Input::Output(text.into_bytes())),
        2 => proptest::collection::vec(any::<u8>(), 0..80).prop_map(Input::Output),
        1 => (any::<u16>(), any::<u16>()).prop_map(|(cols, rows)| Input::Resized(cols % 300, rows % 120)),
        1 => proptest::collection::vec(any::<u8>(), 0..12).prop_map(Input::Typed),
        1 => Just(Input::Injected),
        1 => any::<bool>().prop_map(Input::Told),
        2 => kernel,
        4 => (0_u16..4000).prop_map(Input::Wait),
    ];
    proptest::collection::vec(input, 0..60)
}

struct Walk {
    detector: Detector,
    now: Moment,
    kernel: KernelWait,
    standing: Option<u32>,
    last: u32,
}

impl Walk {
    fn give(&mut self, observation: Observation<'_>) {
        for event in self.detector.observe(observation, self.now) {
            match event {
                DetectorEvent::AskKernel => self.give(Observation::Kernel(self.kernel)),
                DetectorEvent::Seen(sighting) => {
                    assert_eq!(self.standing, None, "one prompt at a time");
                    assert!(sighting.no.0 > self.last, "numbers only rise");
                    self.last = sighting.no.0;
                    self.standing = Some(sighting.no.0);
                }
                DetectorEvent::Gone { no, .. } => assert_eq!(self.standing.take(), Some(no.0)),
                DetectorEvent::Drift { no, .. } => assert!(no.0 > self.last, "of the sighting to come"),
                DetectorEvent::AnswerStatusQuery(_) => {}
            }
        }
    }

    /// Lets time pass and counts the wake-ups.
    fn wait(&mut self, until: Moment) -> usize {
        let mut wakes = 0;
        while let Some(due) = self.detector.next_deadline().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.give(Observation::Deadline);
            wakes += 1;
            let next = self.detector.next_deadline();
            assert!(next.is_none_or(|next| next > self.now), "a deadline must lie ahead");
        }
        self.now = until;
        wakes
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_session_is_survived(inputs in inputs(), packed in any::<bool>()) {
        let pack = packed.then(|| Packs::embedded().for_program("claude")).flatten();
        let mut walk = Walk {
            detector: Detector::new(DetectorConfig { announce_idle: true, pack, ..DetectorConfig::default() }, 80, 24),
            now: Moment::default(),
            kernel: KernelWait::UNKNOWN,
            standing: None,
            last: 0,
        };
        for input in inputs {
            match input {
                Input::Output(bytes) => walk.give(Observation::Output(&bytes)),
                Input::Resized(cols, rows) => walk.give(Observation::Resized { cols, rows }),
                Input::Typed(bytes) => walk.give(Observation::LocalInput(&bytes)),
                Input::Injected => walk.give(Observation::Injected { whole: true }),
                Input::Told(true) => walk.give(Observation::Told(ToolWord::Waits { title: "approve" })),
                Input::Told(false) => walk.give(Observation::Told(ToolWord::GoesOn)),
                Input::Kernel(kernel) => walk.kernel = kernel,
                Input::Wait(millis) => {
                    let until = Moment(walk.now.0 + Duration::from_millis(u64::from(millis)));
                    walk.wait(until);
                }
            }
        }
        // An hour of silence costs a handful of looks.
        let wakes = walk.wait(Moment(walk.now.0 + Duration::from_secs(3600)));
        prop_assert!(wakes < 40, "{wakes} wake-ups");
        walk.give(Observation::ToolEnded);
        prop_assert_eq!(walk.standing, None);
        prop_assert_eq!(walk.detector.next_deadline(), None);
    }
}
