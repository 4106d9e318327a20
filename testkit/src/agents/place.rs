//! Where an agent works: a home directory that nobody else uses, and a project in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A person's home, and a project: a git repository with a `build` directory, a README and a program.
#[derive(Debug, Clone)]
pub struct Place {
    home: PathBuf,
    project: PathBuf,
}

impl Place {
    #[track_caller]
    pub(crate) fn make(below: &Path) -> Self {
        let home = below.join("person");
        let place = Self { project: home.join("project"), home };
        fs::create_dir_all(place.project.join("build")).unwrap();
        place.write_home(
            ".gitconfig",
            "[user]\nname = Dev\nemail = dev@example.com\n[init]\ndefaultBranch = main\n",
        );
        for (file, text) in [
            ("README.md", "# Demo\n\nA small program.\n"),
            ("app.py", "print(\"hello\")\n"),
            ("build/app.o", "object\n"),
            ("build/app.map", "map\n"),
        ] {
            fs::write(place.project.join(file), text).unwrap();
        }
        place.git(&["init", "--quiet"]);
        place.git(&["add", "."]);
        place.git(&["commit", "--quiet", "-m", "start"]);
        place
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    pub fn project(&self) -> &Path {
        &self.project
    }

    pub(crate) fn write_home(&self, file: &str, text: &str) {
        let file = self.home.join(file);
        fs::create_dir_all(file.parent().expect("a file of the home lies in it")).unwrap();
        fs::write(file, text).unwrap();
    }

    fn git(&self, args: &[&str]) {
        let done = Command::new("git")
            .args(args)
            .current_dir(&self.project)
            .env("HOME", &self.home)
            .output()
            .unwrap();
        assert!(done.status.success(), "git {args:?}: {done:?}");
    }
}
