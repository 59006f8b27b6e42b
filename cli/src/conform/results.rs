//! The report of a call, and its folder.

use jobcheck_judge::report::Exit;
use jobcheck_report::folder::{Claim, ClaimError};
use jobcheck_report::types::{ConformanceReport, Implementation, JudgingOptions, Profile};
use jobcheck_report::{Folder, Run, Scenario, folder};

use super::Failure;
use super::args::ConformArgs;
use super::text;
use crate::text::uncoloured;

/// The version of the lists of scenarios.
pub const PROFILE_VERSION: &str = "v1alpha1";
/// The rules of API servers whose version has none.
pub const RULE_SET: &str = "1.36";

/// The time now, as reports have it.
pub fn now() -> String {
    jobcheck_traces::format_micros(micros()).unwrap_or_default()
}

fn micros() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    since.ok().and_then(|it| i64::try_from(it.as_micros()).ok()).unwrap_or_default()
}

/// The folder of `--out`, which is made if it is missing. No other run writes to it until the claim is dropped.
pub fn folder(args: &ConformArgs) -> Result<(Folder, Claim), Failure> {
    let folder = Folder::create(&args.out).map_err(|error| (error.to_string(), Exit::Environment))?;
    let claim = folder.claim(args.profile.name(), args.managed_by.as_deref());
    let claim = claim.map_err(|error| {
        let exit =
            if matches!(error, ClaimError::Other { .. }) { Exit::Unreadable } else { Exit::Environment };
        (error.to_string(), exit)
    })?;
    Ok((folder, claim))
}

/// The circumstances of the run, which ends now.
pub fn run_of(args: &ConformArgs, start_time: String, judging: JudgingOptions) -> Run {
    let managed_by = args.managed_by.clone();
    let project = managed_by.clone().unwrap_or_else(|| "unnamed".to_owned());
    Run {
        implementation: Implementation { project, managed_by, ..Implementation::default() },
        profile: Profile { name: args.profile.name().to_owned(), version: PROFILE_VERSION.to_owned() },
        judging,
        seed: args.seed,
        faults: args.faults,
        repeat: Some(args.repeat).filter(|number| *number > 1),
        selection: args.ids.clone(),
        jobcheck_version: env!("CARGO_PKG_VERSION").to_owned(),
        start_time,
        end_time: now(),
        ..Run::default()
    }
}

/// Writes the report and the log to the folder.
pub fn write(folder: &Folder, run: Run, scenarios: Vec<Scenario>) -> Result<ConformanceReport, Failure> {
    let report = ConformanceReport::new(run, scenarios);
    let failed = |why: String| (why, Exit::Environment);
    folder.write(&report).map_err(|error| failed(error.to_string()))?;
    let log = folder.path(folder::LOG);
    let text = text::render(&report, folder.path("").as_path(), false);
    jobcheck_traces::files::write(&log, uncoloured(&text).as_bytes())
        .map_err(|error| failed(error.to_string()))?;
    Ok(report)
}
