//! Lists: pages of a stable snapshot, and the semantics of `resourceVersion`.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{ApiError, FieldError};
use crate::events_api::present;
use crate::object::key;
use crate::request::{List, ListOptions, VersionMatch};
use crate::resource::Resource;
use crate::selector::Selector;
use crate::store::Store;

/// The contents of a `continue` token, which clients pass on unread.
#[derive(Debug, Serialize, Deserialize)]
struct Token {
    v: String,
    /// The revision of the snapshot. -1: the newest revision.
    rv: i64,
    /// The key after which the next page begins.
    start: String,
}

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

const EXPIRED_TOKEN: &str = "The provided continue parameter is too old to display a consistent list result. You can \
    start a new list without the continue parameter, or use the continue token in this response to retrieve the \
    remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were \
    created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// Lists a collection.
pub(crate) fn list(
    store: &Store,
    resource: Resource,
    namespace: Option<&str>,
    options: &ListOptions,
) -> Result<List, ApiError> {
    check_options(options)?;
    let selector =
        Selector::parse(resource, &options.labels, &options.fields).map_err(ApiError::bad_request)?;
    let prefix = namespace.map_or_else(String::new, |namespace| key(Some(namespace), ""));
    let (snapshot, start) = snapshot(store, options)?;
    let (revision, items) = match snapshot {
        Some(revision) => {
            let objects = store.scan_at(resource, &prefix, revision).map_err(|_| expired(options, &start))?;
            (revision, page(objects.iter(), &selector, &start, options.limit))
        }
        None => (store.revision(), page(store.scan(resource, &prefix), &selector, &start, options.limit)),
    };
    let (items, more, last) = items;
    let resume = if more > 0 { encode(revision, &last) } else { String::new() };
    let remaining = (more > 0 && selector.is_everything()).then_some(more);
    let items = items.iter().map(|object| present(resource, object)).collect();
    Ok(List { resource, items, revision, resume, remaining })
}

/// The revision to show, `None` for the newest, and the key after which the page begins.
fn snapshot(store: &Store, options: &ListOptions) -> Result<(Option<u64>, String), ApiError> {
    if !options.resume.is_empty() {
        let token = decode(&options.resume)?;
        return Ok((u64::try_from(token.rv).ok(), token.start));
    }
    let asked = options.resource_version.unwrap_or(0);
    if asked > store.revision() {
        return Err(ApiError::too_large_version(asked, store.revision()));
    }
    let exact = match options.version_match {
        Some(VersionMatch::Exact) => true,
        Some(VersionMatch::NotOlderThan) => false,
        // Without `resourceVersionMatch`, a version with a limit means exactly that version.
        None => options.limit > 0 && asked > 0,
    };
    Ok((exact.then_some(asked), String::new()))
}

fn expired(options: &ListOptions, start: &str) -> ApiError {
    if options.resume.is_empty() {
        return ApiError::expired("The resourceVersion for the provided list is too old.");
    }
    let token = Token { v: TOKEN_VERSION.to_owned(), rv: -1, start: start.to_owned() };
    ApiError { resume: Some(encode_token(&token)), ..ApiError::expired(EXPIRED_TOKEN) }
}

/// The items of a page, the number of items that follow, and the key of the last item.
fn page<'a>(
    objects: impl Iterator<Item = (&'a String, &'a Arc<Value>)>,
    selector: &Selector,
    start: &str,
    limit: u64,
) -> (Vec<Arc<Value>>, usize, String) {
    let limit = if limit == 0 { usize::MAX } else { usize::try_from(limit).unwrap_or(usize::MAX) };
    let (mut items, mut more, mut last) = (Vec::new(), 0, String::new());
    for (key, object) in objects {
        if (!start.is_empty() && key.as_str() <= start) || !selector.matches(object) {
            continue;
        }
        if items.len() < limit {
            items.push(Arc::clone(object));
            last.clone_from(key);
        } else {
            more += 1;
        }
    }
    (items, more, last)
}

fn encode(revision: u64, start: &str) -> String {
    let rv = i64::try_from(revision).unwrap_or(-1);
    encode_token(&Token { v: TOKEN_VERSION.to_owned(), rv, start: start.to_owned() })
}

fn encode_token(token: &Token) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(token).expect("a token is plain data"))
}

fn decode(text: &str) -> Result<Token, ApiError> {
    let bytes = URL_SAFE_NO_PAD.decode(text.trim_end_matches('='));
    let token = bytes.ok().and_then(|bytes| serde_json::from_slice::<Token>(&bytes).ok());
    token
        .filter(|token| token.v == TOKEN_VERSION && !token.start.is_empty())
        .ok_or_else(|| ApiError::bad_request("continue key is not valid"))
}

/// Refuses invalid combinations of options (`ValidateListOptions`).
fn check_options(options: &ListOptions) -> Result<(), ApiError> {
    const MATCH: &str = "resourceVersionMatch";
    let forbidden = |why: &str| {
        let error = FieldError::forbidden(MATCH, why);
        Err(ApiError::invalid("ListOptions", "meta.k8s.io", "", &[error]))
    };
    let resumed = !options.resume.is_empty();
    match (options.version_match, options.resource_version) {
        (Some(_), _) if resumed => forbidden("resourceVersionMatch is forbidden when continue is provided"),
        (Some(_), None) => forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"),
        (Some(VersionMatch::Exact), Some(0)) => {
            forbidden("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"")
        }
        (None, Some(version)) if resumed && version > 0 => {
            Err(ApiError::bad_request("specifying resource version is not allowed when using continue"))
        }
        (Some(VersionMatch::Exact | VersionMatch::NotOlderThan) | None, _) => Ok(()),
    }
}

/// Parses `resourceVersionMatch`. An empty text is `None`.
///
/// # Errors
/// The text is not a known value.
#[cfg(feature = "http")]
pub fn version_match(text: &str) -> Result<Option<VersionMatch>, ApiError> {
    match text {
        "" => Ok(None),
        "Exact" => Ok(Some(VersionMatch::Exact)),
        "NotOlderThan" => Ok(Some(VersionMatch::NotOlderThan)),
        other => {
            let error = FieldError::unsupported(
                "resourceVersionMatch",
                Value::from(other),
                &["Exact", "NotOlderThan", ""],
            );
            Err(ApiError::invalid("ListOptions", "meta.k8s.io", "", &[error]))
        }
    }
}
