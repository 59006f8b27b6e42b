//! One HTML page that shows judged traces: every step of a Job beside what the specification admits.
//!
//! [`Page::new`] reads the traces of a report a second time, and makes the data of the page. [`html()`] writes the page: one
//! file without any request to the outside. It opens from a disk, as an artefact of a CI system, and in a sandbox. The
//! findings are a table that needs no script. The script and the styles are the files in `src/assets`, as they are.
//!
//! | module | content |
//! | --- | --- |
//! | [`page`] | the data of a page |
//! | `build` | makes it from a report and its traces |
//! | `reading`, `fields`, `asked`, `words` | steps of records; the fields of objects; those that a refused request asked for; descriptions |
//! | `ends`, `standing` | the end of the trace; the state in which it leaves a Job |
//! | `brief`, `rich` | the first lines of the page; texts of rules as HTML |
//! | `html` | the page as HTML |
//!
//! ```
//! use jobcheck_judge::replay::{Grouping, Judging, group, judge};
//! use jobcheck_traces::Input;
//! use jobcheck_view::{Page, Source, html};
//!
//! let log = Input::Path("../../traces/corpus/known/s05-readopted.audit.jsonl".into());
//! let traces = group(vec![log], Grouping::Auto, &mut |_, _| {});
//! let report = judge(&traces, &Judging::default(), &mut |_, _| {});
//! let page = Page::new(&Source { traces: &traces, roles: &[], most_steps: 20_000, until: None }, &report);
//! assert!(html(&page)?.contains("S-05"));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod asked;
mod brief;
mod build;
mod copies;
mod ends;
mod fields;
mod html;
pub mod page;
mod reading;
mod rich;
mod standing;
mod words;

pub use build::Source;
pub use html::html;
pub use page::Page;

/// The number of steps on a page, unless its reader asks for others.
pub const STEPS: usize = 20_000;
