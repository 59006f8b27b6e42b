//! `jobcheck view`: one page that shows judged traces.

mod args;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::Context;
use jobcheck_judge::replay::{Clusters, ShowProgress, consistent, group_until, judge, judge_clusters};
use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_traces::{Input, files};
use jobcheck_view::{Page, Source, html};

pub use self::args::ViewArgs;
use crate::global::Global;
use crate::memory::{self, Output};
use crate::output;
use crate::replay::{Limit, Progress, clusters, paths};
use crate::save::can_write_beside;
use crate::text::of_path;

/// The traces of a page, and the role of each.
#[derive(Debug, Default)]
pub struct Traces {
    /// The traces.
    pub traces: Vec<Vec<Input>>,
    /// The roles of clusters; none for unrelated traces.
    pub roles: Vec<String>,
}

impl Traces {
    /// Unrelated traces.
    pub fn unrelated(traces: Vec<Vec<Input>>) -> Traces {
        Traces { traces, roles: Vec::new() }
    }

    /// The traces of a manager and its workers.
    pub fn of_clusters(clusters: &Clusters) -> Traces {
        let workers = (1..=clusters.workers.len()).map(|number| format!("worker {number}"));
        Traces {
            traces: clusters.traces(),
            roles: std::iter::once("manager".to_owned()).chain(workers).collect(),
        }
    }

    /// Reads what can be read only once into memory, since a page reads it again. Ends early once `stop` is true.
    pub fn kept(inputs: Vec<Input>, stop: &AtomicBool, show: ShowProgress<'_>) -> Result<Vec<Input>, String> {
        inputs.into_iter().map(|input| keep(input, stop, show)).collect()
    }

    /// The page about these traces, which are read again for it until a time.
    pub fn page(
        &self,
        report: &ReplayReport,
        most_steps: usize,
        until: Option<Instant>,
    ) -> anyhow::Result<String> {
        let source = Source { traces: &self.traces, roles: &self.roles, most_steps, until };
        html(&Page::new(&source, report)).context("cannot write the page")
    }
}

fn keep(input: Input, stop: &AtomicBool, show: ShowProgress<'_>) -> Result<Input, String> {
    let name = input.name();
    let read = match &input {
        Input::Stdin => read(std::io::stdin().lock(), stop, show),
        Input::Path(path) if is_read_once(path) => {
            std::fs::File::open(path).and_then(|file| read(file, stop, show))
        }
        Input::Path(_) | Input::Bytes(..) => return Ok(input),
    };
    read.map(|bytes| Input::Bytes(name.clone(), bytes))
        .map_err(|error| format!("cannot read {name}: {error}"))
}

/// The bytes that are read before the limits of memory and time are looked at again.
const CHUNK: u64 = 1 << 20;

/// The most bytes that are kept of what can be read only once. A page shows far less.
const MOST_KEPT: u64 = 1 << 30;

/// Reads all, or as much as the limits permit.
fn read(mut from: impl Read, stop: &AtomicBool, show: ShowProgress<'_>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while !stop.load(Ordering::Relaxed) && from.by_ref().take(CHUNK).read_to_end(&mut bytes)? > 0 {
        show(bytes.len() as u64, None);
        if bytes.len() as u64 > MOST_KEPT {
            let advice = "more than 1 GiB from a pipe or a device; write it to a file, and name that";
            return Err(std::io::Error::other(advice));
        }
    }
    Ok(bytes)
}

fn is_read_once(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

/// Writes a page to a file, which only its owner can read. Returns whether that succeeded.
pub fn write(file: &Path, page: &anyhow::Result<String>) -> bool {
    let written = match page {
        Ok(page) => files::write(file, page.as_bytes())
            .map_err(|error| format!("cannot write {}: {error}", of_path(file))),
        Err(error) => Err(format!("{error:#}")),
    };
    match written {
        Ok(()) => output::note(format!("{} is written; open it in a browser", of_path(file))),
        Err(message) => {
            output::error(message);
            return false;
        }
    }
    true
}

fn judged(args: &ViewArgs, limit: &Limit, progress: &Progress) -> Result<(Traces, ReplayReport), String> {
    let judging = args.judging(limit.stop());
    let show: ShowProgress<'_> = &mut |read, total| {
        progress.show(read, total);
        limit.look(read, total);
    };
    if !args.cluster.is_empty() {
        let clusters = clusters(&args.cluster, &judging, show)?;
        let report = judge_clusters(&clusters, &judging, show);
        return Ok((Traces::of_clusters(&clusters), report));
    }
    let traces = group_until(
        Traces::kept(args.inputs(), &judging.stop, show)?,
        args.group.into(),
        &judging.stop,
        show,
    );
    let report = judge(&traces, &judging, show);
    Ok((Traces::unrelated(traces), report))
}

/// Judges the traces, and writes the page. Returns the exit code.
pub fn run(args: &ViewArgs, global: &Global) -> Exit {
    if let Err(message) = consistent(&args.judge.assume) {
        output::error(format!("--assume: {message}"));
        return Exit::Unreadable;
    }
    let file = args.output.as_deref().filter(|file| *file != Path::new("-"));
    if file.is_some_and(|file| !can_write_beside(file, paths(&args.files, &args.cluster))) {
        return Exit::Environment;
    }
    let progress = Progress::new(!global.quiet);
    let limit = Limit::new(memory::limit(args.judge.max_memory), Output::Page, args.judge.budget);
    let judged = judged(args, &limit, &progress);
    progress.finish();
    let (traces, report) = match judged {
        Ok((traces, report)) => (traces, limit.doubted(report)),
        Err(message) => {
            output::error(message);
            return Exit::Unreadable;
        }
    };
    for error in &report.errors {
        output::error(format!("{}: {}", error.place(), error.message));
    }
    let page = traces.page(&report, limit.steps(args.steps), limit.again());
    let file = file.map(Path::to_path_buf).or_else(|| args.open.then(own_file));
    match file {
        Some(file) if !write(&file, &page) => Exit::Environment,
        Some(file) if args.open && !open(&file) => Exit::Environment,
        Some(_) => report.exit_code,
        None => match page {
            Ok(page) => output::print(&page, report.exit_code),
            Err(error) => {
                output::error(format!("internal error, please report it: {error:#}"));
                Exit::Internal
            }
        },
    }
}

/// The file of `--open` without `--output`.
fn own_file() -> PathBuf {
    std::env::temp_dir().join(format!("jobcheck-view-{}.html", std::process::id()))
}

/// Opens a file in the browser of this machine. Returns whether that succeeded.
fn open(file: &Path) -> bool {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(program);
    let opened = command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let why = match opened {
        Ok(status) if status.success() || cfg!(windows) => return true,
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    output::error(format!("cannot open the page with {program}: {why}; open {} yourself", of_path(file)));
    false
}
