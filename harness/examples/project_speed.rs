//! Measures how fast the projection reads traces: `cargo run --release --example project_speed -- FILE...`
//!
//! Reads audit logs and watch streams, projects every object of every line, and repeats until two seconds
//! have passed. Counts the bytes of whole lines, so that the figure compares with the speed of a replay.
#![expect(clippy::print_stdout, reason = "the figure is the purpose")]

use std::error::Error;
use std::time::{Duration, Instant};

use jobcheck_harness::project::{ObjectKind, Projector, kind_of};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The part of a line that holds objects.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow)]
    request_object: Option<&'a RawValue>,
    #[serde(borrow)]
    response_object: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
}

/// What was seen, so that the work is not optimised away.
#[derive(Debug, Default)]
struct Seen {
    jobs: usize,
    pods: usize,
    births: usize,
    others: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    for path in std::env::args().skip(1) {
        text.push_str(&std::fs::read_to_string(path)?);
    }
    let (mut seen, mut rounds) = (Seen::default(), 0u32);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(2) {
        seen = read(&text)?;
        rounds += 1;
    }
    let megabytes = text.len() as f64 * f64::from(rounds) / 1e6;
    println!("{seen:?} in {} bytes, {:.0} MB/s", text.len(), megabytes / start.elapsed().as_secs_f64());
    Ok(())
}

fn read(text: &str) -> Result<Seen, Box<dyn Error>> {
    let (mut projector, mut seen) = (Projector::new(), Seen::default());
    for line in text.lines() {
        let line: Line = serde_json::from_str(line)?;
        let Some(object) = line.response_object.or(line.object) else { continue };
        match kind_of(object) {
            ObjectKind::Job => seen.jobs += usize::from(projector.job(object)?.job.generation > 0),
            ObjectKind::Pod => seen.pods += usize::from(projector.pod(object, None)?.pod.created.0 > 0),
            ObjectKind::PartialObjectMetadata => {
                seen.others += usize::from(projector.metadata(object)?.resource_version.is_some());
            }
            ObjectKind::Status(_) | ObjectKind::Other => seen.others += 1,
        }
        if let Some(request) = line.request_object.filter(|request| kind_of(request) == ObjectKind::Pod) {
            seen.births += usize::from(projector.pod_birth(request)?.generate_name.is_some());
        }
    }
    Ok(seen)
}
