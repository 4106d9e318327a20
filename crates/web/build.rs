//! Lists the files of the page, so that the program carries each of them.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=ui");
    let ui = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("ui");
    let mut names: Vec<String> = fs::read_dir(&ui)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()?;
    names.sort();
    let mut table = String::from("&[\n");
    for name in names {
        println!("cargo::rerun-if-changed=ui/{name}");
        writeln!(table, "    ({name:?}, include_bytes!({:?})),", ui.join(&name)).map_err(io::Error::other)?;
    }
    table.push(']');
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("files.rs"), table)
}
