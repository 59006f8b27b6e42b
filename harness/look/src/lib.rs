//! The look of all pages: one style sheet, light and dark, and a document whose policy admits no request.
//!
//! | item | content |
//! | --- | --- |
//! | [`STYLE`] | colours, type, tables, marks |
//! | [`Document`] | a page: its policy admits its own styles and script, and nothing else |
//! | [`plot`], [`graph`] | plots and graphs as SVG, with the styles of [`PLOT_STYLE`] |
//! | [`escape`] | names and messages are the text of others, and stay text |
//!
//! ```
//! use jobcheck_look::{Document, escape};
//!
//! let body = format!("<p>{}</p>", escape::html("<b>"));
//! let page = Document { title: "a page", body: &body, ..Document::default() }.html();
//! assert!(page.contains("default-src 'none'") && page.contains("&lt;b&gt;"));
//! ```

mod document;
pub mod escape;
pub mod graph;
pub mod plot;

pub use document::{Document, digest};

/// The style sheet that all pages share.
pub const STYLE: &str = include_str!("assets/base.css");
/// The styles of plots and graphs, which a page with one of them needs.
pub const PLOT_STYLE: &str = include_str!("assets/plot.css");
