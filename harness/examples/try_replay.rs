//! Scratch.
#![allow(clippy::print_stdout, clippy::unwrap_used)]
use jobcheck_harness::validate::{Options, Validator};
use jobcheck_traces::{Input, Reader};
fn main() {
    let verbose = std::env::var("V").is_ok();
    for arg in std::env::args().skip(1) {
        let mut reader = Reader::open(&[Input::from_argument(&arg)]);
        let mut validator = Validator::new(Options::default());
        while let Some(record) = reader.next().unwrap() {
            validator.feed(&record).unwrap();
        }
        let summary = validator.finish();
        println!("{} {:?} judged {}", arg.rsplit('/').next().unwrap(), summary.outcome(), summary.judged);
        for job in &summary.jobs {
            for v in job.violations.iter().take(1) {
                println!(
                    "   {} VIOL {} known {:?} line {} [{}] {}: expected {} found {}",
                    job.job.split('/').last().unwrap(),
                    v.req(),
                    v.known().map(|k| k.id()),
                    v.place.line,
                    v.write.chars().take(60).collect::<String>(),
                    v.broken.what,
                    v.broken.expected,
                    v.broken.found
                );
                if verbose {
                    for (p, l) in &v.story {
                        println!("        {}: {}", p.line, l);
                    }
                    for l in &v.world {
                        println!("      > {l}");
                    }
                    for view in &v.views {
                        println!("      view lag {} {}:", view.job_lag, view.pod_lag);
                        for b in &view.broken {
                            println!("         {} {}: {} / {}", b.req, b.what, b.expected, b.found);
                        }
                    }
                }
            }
            for d in &job.doubts {
                println!("   {} DOUBT {d}", job.job);
            }
            for (p, w) in &job.warnings {
                println!("   {} WARN {}: {w}", job.job, p.line);
            }
        }
    }
}
