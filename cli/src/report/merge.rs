//! `jobcheck report merge`: one folder of those of the shards.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use jobcheck_judge::report::Exit;
use jobcheck_report::folder::{LOG, TRACES};
use jobcheck_report::merge::{Merged, merge};
use jobcheck_report::{ConformanceReport, Folder};
use jobcheck_traces::files;

use super::args::MergeArgs;
use super::{read, text};
use crate::output;
use crate::text::{clean, of_path};

/// The bytes of a log of a shard that are copied. A file with holes may be larger than the disk.
const LONGEST_LOG: u64 = 64 << 20;

/// Merges the reports. Returns the exit code of the merged one.
pub fn run(args: &MergeArgs) -> Result<Exit, String> {
    let reports = args.folders.iter().map(|folder| whole(folder)).collect::<Result<Vec<_>, _>>()?;
    let merged = merge(&reports).map_err(|error| {
        let names: Vec<String> =
            args.folders.iter().zip(1..).map(|(folder, at)| format!("{at} is {}", of_path(folder))).collect();
        format!("{error} ({})", names.join(", "))
    })?;
    check_names(&merged)?;
    if fs::read_dir(&args.into).is_ok_and(|mut files| files.next().is_some()) {
        return Err(format!("{} is not empty", of_path(&args.into)));
    }
    let was_there = args.into.exists();
    if let Err(why) = write(args, &merged) {
        output::error(why);
        // Half a report is no report, and the next attempt needs an empty folder.
        remove(&args.into, was_there);
        return Ok(Exit::Environment);
    }
    Ok(output::print_text(&text::report(&merged.report, false), merged.report.exit()))
}

/// The report of a folder whose traces are those that were recorded.
fn whole(folder: &Path) -> Result<ConformanceReport, String> {
    let report = read(folder)?;
    match Folder::at(folder).differences(&report).first() {
        None => Ok(report),
        Some(it) => Err(format!("{}: {}: {}", of_path(folder), clean(&it.file), it.problem)),
    }
}

/// No shard has another file under the name of a trace.
fn check_names(merged: &Merged) -> Result<(), String> {
    let mut owners: BTreeMap<&str, Option<usize>> = BTreeMap::new();
    for (scenario, source) in merged.report.scenarios.iter().zip(&merged.sources) {
        for trace in &scenario.traces {
            let is_foreign = !trace.file.starts_with(&format!("{TRACES}/"));
            if is_foreign {
                return Err(format!("{}: the trace {:?} is not below {TRACES}", scenario.name(), trace.file));
            }
            if *owners.entry(&trace.file).or_insert(*source) != *source {
                return Err(format!("two shards have a trace with the name {}", clean(&trace.file)));
            }
        }
    }
    Ok(())
}

fn write(args: &MergeArgs, merged: &Merged) -> Result<(), String> {
    let into = Folder::create(&args.into).map_err(|error| error.to_string())?;
    for (scenario, source) in merged.report.scenarios.iter().zip(&merged.sources) {
        let Some(source) = source else { continue };
        let from = Folder::at(&args.folders[*source]);
        for trace in &scenario.traces {
            copy(&from.path(&trace.file), &into.path(&trace.file))
                .map_err(|why| format!("cannot copy {}: {why}", clean(&trace.file)))?;
        }
    }
    logs(args, &into).map_err(|why| format!("cannot write {LOG}: {why}"))?;
    into.write(&merged.report).map_err(|error| match std::error::Error::source(&error) {
        Some(why) => format!("{error}: {why}"),
        None => error.to_string(),
    })
}

/// Removes what was written to an empty or missing folder. The next attempt names the rest, if there is one.
fn remove(folder: &Path, was_there: bool) {
    let _ = fs::remove_dir_all(folder);
    if was_there {
        let _ = fs::create_dir(folder);
    }
}

/// Copies a trace. Its mode is that of a new file: a planted one may have others.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    io::copy(&mut files::open_regular(from)?, &mut files::create(to)?).map(drop)
}

/// The logs of all shards, one behind the other, as far as each is no longer than [`LONGEST_LOG`].
fn logs(args: &MergeArgs, into: &Folder) -> io::Result<()> {
    let mut out = None;
    for folder in &args.folders {
        let from = Folder::at(folder).path(LOG);
        if !from.is_file() || from.is_symlink() {
            continue;
        }
        if out.is_none() {
            out = Some(files::create_new(&into.path(LOG))?);
        }
        if let Some(out) = &mut out {
            writeln!(out, "--- {}", of_path(folder))?;
            let mut from = files::open_regular(&from)?.take(LONGEST_LOG + 1);
            if io::copy(&mut from, out)? > LONGEST_LOG {
                writeln!(
                    out,
                    "\n--- the rest is left out: the log is longer than {} MiB",
                    LONGEST_LOG >> 20
                )?;
            }
        }
    }
    Ok(())
}
