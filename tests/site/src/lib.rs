//! The documentation as a site: `just site` writes it to `target/site`, and checks its links.
//!
//! The pages are Markdown that reads well in a repository, too. A page of the site has the path that its Markdown has in the
//! repository. `docs/SUMMARY.md` is the navigation, in mdBook's format. Sources, scenarios and traces are part of
//! the site if a page links to them. mdBook itself does not serve: a link out of its folder leads nowhere, and its licence is
//! not among those that `deny.toml` allows.
//!
//! | module | content |
//! | --- | --- |
//! | `summary` | the navigation |
//! | `markdown` | a page as HTML, and its sections for the search |
//! | `paths` | the place of a file in the site |
//! | `build` | writes the site |
//! | [`links`] | finds dead links in HTML files |

mod build;
pub mod links;
mod markdown;
mod paths;
mod summary;

pub use build::{Built, build};
pub use summary::{Entry, not_listed, summary};
