//! The number of requests, by the metrics of the API server.

use jobcheck_bench::Result;
use kube::Client;

const METRIC: &str = "apiserver_request_total{";
/// Verb, resource, and subresource of the requests that only the controllers send. Lists and watches are left out: the
/// benchmark sends them too, and during a measurement the watches of the controllers are open already.
const WRITES: [(&str, &str, &str); 8] = [
    ("POST", "pods", ""),
    ("PATCH", "pods", ""),
    ("PUT", "pods", ""),
    ("DELETE", "pods", ""),
    ("PUT", "jobs", "status"),
    ("PATCH", "jobs", "status"),
    ("PUT", "jobs", ""),
    ("PATCH", "jobs", ""),
];
const READS: [(&str, &str, &str); 2] = [("GET", "pods", ""), ("GET", "jobs", "")];

/// The number of requests of controllers for Jobs and pods since the API server was started.
///
/// # Errors
///
/// The API server does not respond.
pub async fn of_controllers(client: &Client) -> Result<f64> {
    let request = http::Request::get("/metrics").body(Vec::new())?;
    let text = client.request_text(request).await?;
    Ok(text.lines().filter_map(count).sum())
}

/// The count in a line, if the line is about requests of the controllers.
fn count(line: &str) -> Option<f64> {
    let labels = line.strip_prefix(METRIC)?;
    // Labels are sorted by name, so that `resource` precedes `subresource`.
    let label =
        |name: &str| labels.split_once(&format!("{name}=\"")).and_then(|(_, rest)| rest.split('"').next());
    let (verb, resource) = (label("verb")?, label("resource")?);
    let subresource = label("subresource").unwrap_or_default();
    let is_of_controllers = WRITES.iter().chain(&READS).any(|it| *it == (verb, resource, subresource));
    is_of_controllers.then(|| line.rsplit(' ').next()?.parse().ok()).flatten()
}
