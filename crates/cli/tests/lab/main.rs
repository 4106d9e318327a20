//! The lab from outside, and what it has found.
//!
//! - `races`: what a scenario showed now and then, made to happen each time.

mod races;

use atlasbridge_testkit::Home;

fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_atlasbridge"))
}
