//! What the API server says of the requests that it has answered.

use kube::Client;

use crate::Result;

const METRIC: &str = "apiserver_request_total{";
/// What only the controllers ask for here: the verb, the resource, and the subresource. Reads are left out: the benchmark
/// lists and watches, too, and in a measurement the controllers only read by watches that are open.
const THEIRS: [(&str, &str, &str); 8] = [
    ("POST", "pods", ""),
    ("PATCH", "pods", ""),
    ("PUT", "pods", ""),
    ("DELETE", "pods", ""),
    ("PUT", "jobs", "status"),
    ("PATCH", "jobs", "status"),
    ("PUT", "jobs", ""),
    ("PATCH", "jobs", ""),
];
/// Reads of one object: nobody else makes them.
const READS: [(&str, &str, &str); 2] = [("GET", "pods", ""), ("GET", "jobs", "")];

/// How many requests of the controllers for Jobs and pods the API server has answered since it began.
///
/// # Errors
/// It does not answer.
pub async fn of_controllers(client: &Client) -> Result<f64> {
    let request = http::Request::get("/metrics").body(Vec::new())?;
    let text = client.request_text(request).await?;
    Ok(text.lines().filter_map(count).sum())
}

/// The count of a line about requests of the controllers.
fn count(line: &str) -> Option<f64> {
    let labels = line.strip_prefix(METRIC)?;
    // The labels are in the order of their names, so that `resource` comes before `subresource`.
    let label =
        |name: &str| labels.split_once(&format!("{name}=\"")).and_then(|(_, rest)| rest.split('"').next());
    let (verb, resource) = (label("verb")?, label("resource")?);
    let subresource = label("subresource").unwrap_or_default();
    let is_theirs = THEIRS.iter().chain(&READS).any(|it| *it == (verb, resource, subresource));
    is_theirs.then(|| line.rsplit(' ').next()?.parse().ok()).flatten()
}
