//! Runs the binary, and derives small traces from recordings.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The result of a run.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Run {
    /// The report, if the output is JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {}", self.out))
    }

    pub fn first_line(&self) -> &str {
        self.out.lines().next().unwrap_or_default()
    }
}

/// The folder of the checkout.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

pub fn binary() -> Command {
    let program = env!("CARGO_BIN_EXE_jobcheck");
    let mut command = if ignores_hangup() {
        let mut command = Command::new("/usr/bin/env");
        command.args(["--default-signal=HUP", program]);
        command
    } else {
        Command::new(program)
    };
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "FORCE_COLOR", "COLUMNS"] {
        command.env_remove(name);
    }
    command
}

/// Returns `true` under `nohup`. A program that is started there ignores SIGHUP, too.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
}

/// Runs `jobcheck` with these arguments.
pub fn jobcheck<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Run {
    finish(binary().args(arguments), b"")
}

/// Runs `jobcheck replay` with these arguments.
pub fn replay<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Run {
    finish(binary().arg("replay").args(arguments), b"")
}

/// Runs a command that reads `input`.
pub fn finish(command: &mut Command, input: &[u8]) -> Run {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that reads no input may have ended already.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Reports a part of a test that this machine cannot run, past the capture of the test runner.
pub fn not_run(why: &str) {
    let _ = std::io::stderr().write_all(format!("NOT RUN: {why}\n").as_bytes());
}

/// A process with the shipped controllers, which ends with the test.
pub struct Controller(pub Child);

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the shipped controllers on a cluster.
pub fn controller(kubeconfig: &str) -> Controller {
    let mut controller = binary();
    controller.args(["controller", "--kubeconfig", kubeconfig]).stderr(Stdio::null());
    Controller(controller.spawn().unwrap())
}

/// A recording of the corpus, such as `nonindexed-success.audit`.
pub fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/corpus/recordings").join(format!("{name}.jsonl"))
}

pub fn lines(name: &str) -> Vec<String> {
    fs::read_to_string(recording(name)).unwrap().lines().map(str::to_owned).collect()
}

/// The lines of an audit recording as a policy with level Metadata would have logged them.
pub fn at_metadata(name: &str) -> Vec<String> {
    let cut = |line: &String| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        event["level"] = "Metadata".into();
        let fields = event.as_object_mut().unwrap();
        fields.remove("requestObject");
        fields.remove("responseObject");
        event.to_string()
    };
    lines(name).iter().map(cut).collect()
}

/// A folder that is removed at the end of the test.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(TempDir::with_prefix_in("cli-", env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    pub fn write_lines(&self, name: &str, lines: &[String]) -> PathBuf {
        self.write(name, lines.join("\n") + "\n")
    }
}

/// The most bytes that a running process has used so far; `None` once it has ended.
pub fn peak_memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(peak.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

/// A recording with another number of successes at its end: FT-02 is broken on line 18.
pub fn counted_too_much() -> Vec<String> {
    lines("nonindexed-success.audit")
        .iter()
        .map(|line| line.replace("\"succeeded\":3", "\"succeeded\":4"))
        .collect()
}

/// A recording with a first status write that miscounts the active pods: no view of the caches explains it.
pub fn active_miscounted() -> Vec<String> {
    let mut lines = lines("nonindexed-success.audit");
    lines[3] = lines[3].replace("\"active\":2", "\"active\":7");
    lines
}

/// A recording in which the API server refuses one status write, after `edit` of the status that was tried.
pub fn with_refused_write(edit: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut lines = lines("created-suspended.audit");
    let mut event: Value = serde_json::from_str(&lines[4]).unwrap();
    event["auditID"] = "00000000-0000-0000-0000-00000000cafe".into();
    edit(&mut event["requestObject"]["status"]);
    let message = "Job.batch \"job\" is invalid";
    event["responseStatus"] = serde_json::json!({
        "metadata": {}, "status": "Failure", "message": message, "reason": "Invalid", "code": 422
    });
    event["responseObject"] = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": "Invalid", "code": 422
    });
    lines.insert(4, event.to_string());
    lines
}

/// A trace whose only violation is a documented deviation of the built-in: more pods ready than active.
pub fn known_deviation() -> Vec<String> {
    let invalid = recording("x").parent().unwrap().with_file_name("invalid");
    let file = invalid.join("S-09--ready-above-active-attempted.audit.jsonl");
    fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect()
}
