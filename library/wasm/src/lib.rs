//! The judge as a WebAssembly module without imports: a trace in, the report of `jobcheck replay -o json` out.
//!
//! | function | effect |
//! | --- | --- |
//! | `jobcheck_input(length)` | returns the place of a buffer of this length, to be filled with the trace |
//! | `jobcheck_judge()` | judges the trace in the buffer, and returns the length of the report |
//! | `jobcheck_report()` | returns the place of the report, which is JSON in UTF-8 |
//!
//! ```js
//! const { instance } = await WebAssembly.instantiate(bytes, {});
//! const { memory, jobcheck_input, jobcheck_judge, jobcheck_report } = instance.exports;
//! const trace = new Uint8Array(await file.arrayBuffer());
//! new Uint8Array(memory.buffer, jobcheck_input(trace.length), trace.length).set(trace);
//! const length = jobcheck_judge();
//! const text = new TextDecoder().decode(new Uint8Array(memory.buffer, jobcheck_report(), length));
//! const report = JSON.parse(text);
//! ```
//!
//! Audit logs, watch streams, and native traces are recognised by their content, gzip and zstd, too. There is no clock, no
//! thread, and no access to anything else. A module judges one trace at a time.

use std::cell::RefCell;

use jobcheck_judge::replay::{Grouping, Judging, group, judge};
use jobcheck_traces::Input;

/// Judges a trace, and returns the JSON report.
#[must_use]
pub fn report(trace: Vec<u8>) -> String {
    let traces = group(vec![Input::Bytes("trace".to_owned(), trace)], Grouping::Auto, &mut |_, _| {});
    let report = judge(&traces, &Judging { keeps_story: true, ..Judging::default() }, &mut |_, _| {});
    serde_json::to_string(&report).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static REPORT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Returns the place of a buffer of this length. A former buffer is gone.
#[expect(unsafe_code, reason = "the name of an exported function")]
#[unsafe(no_mangle)]
pub extern "C" fn jobcheck_input(length: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        *input = vec![0; length];
        input.as_mut_ptr()
    })
}

/// Judges the trace in the buffer, and returns the length of the report.
#[expect(unsafe_code, reason = "the name of an exported function")]
#[unsafe(no_mangle)]
pub extern "C" fn jobcheck_judge() -> usize {
    let text = report(INPUT.take());
    REPORT.with_borrow_mut(|report| {
        *report = text;
        report.len()
    })
}

/// Returns the place of the report.
#[expect(unsafe_code, reason = "the name of an exported function")]
#[unsafe(no_mangle)]
pub extern "C" fn jobcheck_report() -> *const u8 {
    REPORT.with_borrow(|report| report.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_that_of_replay() {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/corpus/");
        let trace = std::fs::read(format!("{corpus}invalid/FT-03--released-before-recorded.audit.jsonl"));
        let report: serde_json::Value =
            serde_json::from_str(&report(trace.expect("it is in the corpus"))).expect("it is JSON");
        assert_eq!(report["verdict"], "violates");
        assert_eq!(report["jobs"][0]["violations"][0]["requirement"], "FT-03");
    }

    #[test]
    fn the_functions_pass_a_trace_and_a_report() {
        assert!(!jobcheck_input(0).is_null());
        let length = jobcheck_judge();
        assert!(length > 0 && !jobcheck_report().is_null());
    }
}
