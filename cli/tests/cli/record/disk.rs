//! Traces that cannot be written.

use std::fs;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::{Recording, verdict};
use crate::support::{Folder, binary, jobcheck, lines};

#[test]
fn a_full_disk_is_an_error_and_the_lines_before_can_be_judged() {
    let folder = Folder::new();
    let (log, trace) = (folder.path("audit.log"), folder.path("trace.jsonl"));
    fs::write(&log, "").unwrap();
    // The limit of 20 blocks stands for a full disk.
    let mut command = Command::new("bash");
    command.args(["-c", "trap '' XFSZ; ulimit -f 20; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_jobcheck")]);
    command.args(["record", "-o"]).arg(&trace).arg("--audit").arg(&log);
    let recording = Recording::of(command, trace.clone());
    fs::write(&log, lines("nonindexed-success.audit").join("\n") + "\n").unwrap();
    let run = recording.wait();
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.err.contains("cannot write") && run.err.contains("lines before are complete"), "{run:?}");
    let text = fs::read_to_string(&trace).unwrap();
    assert!(text.ends_with("}\n") && text.contains("{\"request\""), "{text}");
    assert_ne!(verdict(&trace).1, 2);
}

#[test]
fn a_standard_output_that_is_closed_is_an_error() {
    let folder = Folder::new();
    let log = folder.write("audit.log", "");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = binary();
    command.args(["record", "-o", "-", "--audit"]).arg(&log).stdout(writer).stderr(Stdio::piped());
    let run = command.spawn().unwrap().wait_with_output().unwrap();
    let err = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(4), "{err}");
    assert!(err.contains("cannot write standard output: it is closed"), "{err}");
}

#[test]
fn an_existing_file_is_overwritten_only_with_force() {
    let folder = Folder::new();
    let log = folder.write("audit.log", "");
    let trace = folder.write("trace.jsonl", "precious\n");
    let (log, path) = (log.to_str().unwrap(), trace.to_str().unwrap());
    let run = jobcheck(["record", "--audit", log, "-o", path]);
    assert!(run.code == 2 && run.err.contains("--force overwrites it"), "{run:?}");
    assert_eq!(fs::read_to_string(&trace).unwrap(), "precious\n");
    let destroyed = jobcheck(["record", "-o", log, "--audit", log, "--force"]);
    assert!(destroyed.code == 2 && destroyed.err.contains("name another file"), "{destroyed:?}");
    let recording = Recording::begin(trace.clone(), &["--audit", log, "--force"]);
    assert_eq!(recording.end(Signal::INT).code, 0);
    assert!(!fs::read_to_string(&trace).unwrap().contains("precious"));
    let nowhere = folder.path("no/such/folder/trace.jsonl");
    let run = jobcheck(["record", "--audit", log, "-o", nowhere.to_str().unwrap()]);
    assert!(run.code == 4 && run.err.contains("cannot write"), "{run:?}");
}
