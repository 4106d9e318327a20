//! Real agents on a stage: the CLIs that people run, pinned, against a scripted model on the loopback.
//!
//! An [`Agent`] is a CLI at one version, installed once into the cache of the suites; a [`FakeModel`] answers it in its own
//! protocol from a script of [`Turn`]s and remembers what it was told; a [`Stage`] is `atlasbridge run AGENT` on a terminal, in a
//! home and a project of its own. What a test proved goes into the table of agents as a [`Proof`].
//!
//! Nothing here reaches a network: base addresses lead to the model, and so do the proxies, which refuse and remember who was
//! to be reached. A CLI that cannot be had is left out with a loud reason; everything else fails.

mod agent;
mod model;
mod place;
mod proof;
mod stage;

pub use agent::{Agent, Tool};
pub use model::{FakeModel, PLAN_FILE, ToolResult, Turn};
pub use place::Place;
pub use proof::{Proof, Route};
pub use stage::{Answered, Asked, Opening, Stage};
