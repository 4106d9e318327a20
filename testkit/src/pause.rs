//! A named point at which a process of ours stops, so that a test can act right there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::eventually;

/// While this exists, the process that comes to the point stops there. Built with the feature `pause-points` only.
#[derive(Debug)]
pub struct Pause {
    point: String,
    reached: PathBuf,
    go: PathBuf,
}

impl Pause {
    pub(crate) fn new(directory: &Path, point: &str) -> Self {
        fs::create_dir_all(directory).unwrap();
        let (reached, go) =
            (directory.join(format!("{point}.reached")), directory.join(format!("{point}.go")));
        let _ = fs::remove_file(&reached);
        rustix::fs::mknodat(rustix::fs::CWD, &go, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        Self { point: point.to_owned(), reached, go }
    }

    /// Waits until a process stands at the point, and returns its pid.
    #[track_caller]
    pub fn reached(&self) -> i32 {
        let what = format!("a process reaches {}", self.point);
        eventually(&what, || fs::read_to_string(&self.reached).ok()?.parse().ok())
    }

    /// Lets it go on, and nobody stop here again.
    pub fn release(self) {
        // Whoever opens the FIFO later must not wait; whoever waits is woken by the open and the end.
        let writer = fs::OpenOptions::new().read(true).write(true).open(&self.go).unwrap();
        fs::remove_file(&self.go).unwrap();
        drop(writer);
    }

    /// `kill -9` of the process that stands here; whoever takes its place passes.
    #[track_caller]
    pub fn kill(self) {
        let pid = self.reached();
        // Whoever is waiting has the FIFO open and does not notice; whoever comes later finds none.
        fs::remove_file(&self.go).unwrap();
        crate::home::kill(pid);
    }
}
