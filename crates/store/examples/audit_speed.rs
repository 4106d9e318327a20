//! How long does it take to verify a million records? `cargo run --release -p atlasbridge-store --example audit_speed`

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::Instant;

use atlasbridge_model::audit::{ChainEnd, Link};
use atlasbridge_store::verify;

const RECORDS: u64 = 1_000_000;

#[expect(clippy::print_stdout, reason = "a measurement is for reading")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("audit-speed-{}.log", std::process::id()));
    let bytes = generate(&mut BufWriter::new(File::create(&path)?))?;
    let start = Instant::now();
    let verdict = verify(&path, None)?;
    let took = start.elapsed();
    std::fs::remove_file(&path)?;
    println!("{verdict:?}");
    println!(
        "{RECORDS} records, {} bytes each, in {:.2} s: {:.0} records/s",
        bytes / RECORDS,
        took.as_secs_f64(),
        RECORDS as f64 / took.as_secs_f64()
    );
    Ok(())
}

/// Records as a busy hub writes them; returns their length in bytes.
fn generate(out: &mut impl Write) -> io::Result<u64> {
    let mut end = ChainEnd::default();
    let mut scratch = String::new();
    let mut bytes = 0;
    for seq in 1..=RECORDS {
        let session = format!("5f0c1a52-9d9e-4b3a-8f57-{seq:012x}");
        let prompt = format!("7a1b2c3d-4e5f-4a6b-9c8d-{seq:012x}");
        let link = Link {
            seq,
            ts: "2026-01-02T03:04:05.678Z",
            event: "REPLY_RECEIVED",
            session_id: Some(&session),
            prompt_id: Some(&prompt),
            value: Some("Yes, and don't ask again for `cargo test`"),
            source: Some("telegram"),
            decided_by: Some("telegram:123456789"),
            prev_hash: &end.hash,
        };
        let hash = link.hash(&mut scratch);
        let line = link.line(&hash);
        writeln!(out, "{line}")?;
        bytes += line.len() as u64 + 1;
        end = ChainEnd { next_seq: seq + 1, hash };
    }
    out.flush()?;
    Ok(bytes)
}
