//! The judge as a WebAssembly module without imports: traces in, the report of `jobcheck replay -o json` or the page of
//! `jobcheck view` out.
//!
//! | function | effect |
//! | --- | --- |
//! | `jobcheck_input(name, length)` | returns the place of a buffer for one more file: the bytes of its name, then its content |
//! | `jobcheck_judge()` | judges the files, and returns the length of the report |
//! | `jobcheck_view()` | judges the files, and returns the length of the page |
//! | `jobcheck_report()` | returns the place of the report, which is JSON in UTF-8, or of the page, which is HTML |
//!
//! ```js
//! const { instance } = await WebAssembly.instantiate(bytes, {});
//! const { memory, jobcheck_input, jobcheck_judge, jobcheck_report } = instance.exports;
//! const name = new TextEncoder().encode(file.name);
//! const trace = new Uint8Array(await file.arrayBuffer());
//! const place = jobcheck_input(name.length, trace.length);
//! new Uint8Array(memory.buffer, place, name.length).set(name);
//! new Uint8Array(memory.buffer, place + name.length, trace.length).set(trace);
//! const length = jobcheck_judge();
//! const text = new TextDecoder().decode(new Uint8Array(memory.buffer, jobcheck_report(), length));
//! const report = JSON.parse(text);
//! ```
//!
//! Audit logs, watch streams, and native traces are recognised by their content, gzip and zstd, too. Several files are parts
//! of one trace, or traces of their own, as for `jobcheck replay`. There is no clock, no thread, and no access to anything
//! else. After a judgement the files are gone.
//!
//! `library/wasm/page` puts the module into a page on which audit logs can be dropped.

use std::cell::RefCell;

use jobcheck_judge::replay::{Grouping, Judging, group, judge};
use jobcheck_judge::report::ReplayReport;
use jobcheck_traces::Input;
use jobcheck_view::{Page, STEPS, Source, html};

/// Judges traces, and returns the JSON report.
#[must_use]
pub fn report(files: Vec<Input>) -> String {
    or_error(serde_json::to_string(&judged(files).1))
}

/// Judges traces, and returns the page that shows them.
#[must_use]
pub fn page(files: Vec<Input>) -> String {
    let (traces, report) = judged(files);
    let source = Source { traces: &traces, roles: &[], most_steps: STEPS, until: None };
    or_error(html(&Page::new(&source, &report)))
}

fn judged(files: Vec<Input>) -> (Vec<Vec<Input>>, ReplayReport) {
    let traces = group(files, Grouping::Auto, &mut |_, _| {});
    let report = judge(&traces, &Judging { keeps_story: true, ..Judging::default() }, &mut |_, _| {});
    (traces, report)
}

fn or_error(text: serde_json::Result<String>) -> String {
    text.unwrap_or_else(|error| serde_json::json!({"error": error.to_string()}).to_string())
}

/// A file that is being filled: its name, and then its content.
struct File {
    bytes: Vec<u8>,
    name: usize,
}

impl File {
    fn input(mut self) -> Input {
        let content = self.bytes.split_off(self.name);
        Input::Bytes(String::from_utf8_lossy(&self.bytes).into_owned(), content)
    }
}

thread_local! {
    static FILES: RefCell<Vec<File>> = const { RefCell::new(Vec::new()) };
    static REPORT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Returns the place of a buffer for one more file: `name` bytes for its name, and `length` for its content.
#[expect(unsafe_code, reason = "the name of an exported function")]
#[unsafe(no_mangle)]
pub extern "C" fn jobcheck_input(name: usize, length: usize) -> *mut u8 {
    FILES.with_borrow_mut(|files| {
        files.push(File { bytes: vec![0; name.saturating_add(length)], name });
        files.last_mut().map_or(std::ptr::null_mut(), |file| file.bytes.as_mut_ptr())
    })
}

/// Judges the files, and returns the length of the report.
#[expect(unsafe_code, reason = "the name of an exported function")]
#[unsafe(no_mangle)]
pub extern "C" fn jobcheck_judge() -> usize {
    keep(report)
}

/// Judges the files, and returns the length of the page.
#[expect(unsafe_code, reason = "the name of an exported function")]
#[unsafe(no_mangle)]
pub extern "C" fn jobcheck_view() -> usize {
    keep(page)
}

fn keep(made: impl FnOnce(Vec<Input>) -> String) -> usize {
    REPORT.take();
    let text = made(FILES.take().into_iter().map(File::input).collect());
    REPORT.with_borrow_mut(|report| {
        *report = text;
        report.len()
    })
}

/// Returns the place of the report, or of the page.
#[expect(unsafe_code, reason = "the name of an exported function")]
#[unsafe(no_mangle)]
pub extern "C" fn jobcheck_report() -> *const u8 {
    REPORT.with_borrow(|report| report.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(name: &str) -> Input {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/corpus/");
        let trace = std::fs::read(format!("{corpus}{name}")).expect("it is in the corpus");
        Input::Bytes(name.to_owned(), trace)
    }

    fn early() -> Input {
        input("invalid/FT-03--released-before-recorded.audit.jsonl")
    }

    #[test]
    fn the_report_is_that_of_replay() {
        let report: serde_json::Value = serde_json::from_str(&report(vec![early()])).expect("it is JSON");
        assert_eq!(report["verdict"], "violates");
        assert_eq!(report["jobs"][0]["violations"][0]["requirement"], "FT-03");
    }

    #[test]
    fn the_page_is_that_of_view_and_names_its_files() {
        let page = page(vec![early(), input("known/s05-readopted.audit.jsonl")]);
        assert!(page.starts_with("<!doctype html>"), "{page}");
        for text in ["FT-03--released-before-recorded.audit.jsonl", "s05-readopted.audit.jsonl", "S-05"] {
            assert!(page.contains(text), "{text}");
        }
    }

    #[test]
    fn a_file_is_its_name_and_its_content() {
        let file = File { bytes: b"a.log{}".to_vec(), name: 5 };
        assert!(matches!(file.input(), Input::Bytes(name, content) if name == "a.log" && content == b"{}"));
    }

    #[test]
    fn the_functions_pass_files_and_a_report() {
        assert!(!jobcheck_input(3, 0).is_null() && !jobcheck_input(0, 0).is_null());
        assert_eq!(FILES.with_borrow(Vec::len), 2);
        let length = jobcheck_judge();
        assert!(length > 0 && !jobcheck_report().is_null());
        assert_eq!(FILES.with_borrow(Vec::len), 0);
        assert!(jobcheck_view() > length);
    }
}
