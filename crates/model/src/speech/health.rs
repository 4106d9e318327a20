//! How things stand beside prompts: the hub, and how long something lasts.

/// Why answers from elsewhere may not be taken, in half a sentence.
pub fn trouble(why: &str) -> String {
    format!("remote answers may be refused: {why}")
}

/// How long a session has run, or since when it has been silent.
pub fn lasted(seconds: u64) -> String {
    match seconds {
        0..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
