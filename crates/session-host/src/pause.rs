//! Named points at which a test may stop this process, look, and let it go on or kill it.
//!
//! Only with the feature `pause-points`: the environment names one point and a directory; the process writes
//! `<point>.reached` there and then reads `<point>.go`, a FIFO that the test has made, until the test writes.

/// Stops here, or panics if there is a `<point>.panic`, if a test has asked for it.
#[cfg(feature = "pause-points")]
pub(crate) fn point(name: &str) {
    let Some(directory) = std::env::var_os("ATLASBRIDGE_PAUSE_DIR").map(std::path::PathBuf::from) else {
        return;
    };
    let gate = directory.join(format!("{name}.go"));
    if gate.exists() {
        let _ = std::fs::write(directory.join(format!("{name}.reached")), std::process::id().to_string());
        let _ = std::fs::read(gate);
    }
    #[expect(clippy::panic, reason = "the way out of a panic is what the test is about")]
    if directory.join(format!("{name}.panic")).exists() {
        panic!("a test asked for it");
    }
}

#[cfg(not(feature = "pause-points"))]
pub(crate) fn point(_name: &str) {}
