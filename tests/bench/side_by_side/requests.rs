//! The number of requests, by the metrics of the API server.

use jobcheck_bench::Result;
use kube::Client;

const METRIC: &str = "apiserver_request_total{";
/// Verb, resource, and subresource.
type Kind = (&'static str, &'static str, &'static str);
/// The requests that only the controllers send. Lists and watches are left out: the
/// benchmark sends them too, and during a measurement the watches of the controllers are open already.
const WRITES: [Kind; 8] = [
    ("POST", "pods", ""),
    ("PATCH", "pods", ""),
    ("PUT", "pods", ""),
    ("DELETE", "pods", ""),
    ("PUT", "jobs", "status"),
    ("PATCH", "jobs", "status"),
    ("PUT", "jobs", ""),
    ("PATCH", "jobs", ""),
];
const READS: [Kind; 2] = [("GET", "pods", ""), ("GET", "jobs", "")];

/// The number of requests of controllers for Jobs and pods since the API server was started.
///
/// # Errors
///
/// The API server does not respond.
pub async fn of_controllers(client: &Client) -> Result<f64> {
    let all: Vec<Kind> = WRITES.into_iter().chain(READS).collect();
    Ok(metrics(client).await?.lines().filter_map(|line| count(line, &all)).sum())
}

/// The pods that were created or counted since the API server was started.
#[derive(Clone, Copy, Debug)]
pub struct PodsHandled {
    /// The accepted creations, and refused ones, which a controller without a quota does not have.
    pub created: f64,
    /// The removals of finalizers.
    pub counted: f64,
}

/// The pods that controllers have handled so far.
///
/// # Errors
///
/// The API server does not respond.
pub async fn pods_handled(client: &Client) -> Result<PodsHandled> {
    let text = metrics(client).await?;
    let of = |kind: Kind| text.lines().filter_map(|line| count(line, &[kind])).sum();
    Ok(PodsHandled { created: of(("POST", "pods", "")), counted: of(("PATCH", "pods", "")) })
}

async fn metrics(client: &Client) -> Result<String> {
    Ok(client.request_text(http::Request::get("/metrics").body(Vec::new())?).await?)
}

/// The count in a line, if the line is about requests of these kinds.
fn count(line: &str, kinds: &[Kind]) -> Option<f64> {
    let labels = line.strip_prefix(METRIC)?;
    // Labels are sorted by name, so that `resource` precedes `subresource`.
    let label =
        |name: &str| labels.split_once(&format!("{name}=\"")).and_then(|(_, rest)| rest.split('"').next());
    let (verb, resource) = (label("verb")?, label("resource")?);
    let subresource = label("subresource").unwrap_or_default();
    kinds.contains(&(verb, resource, subresource)).then(|| line.rsplit(' ').next()?.parse().ok()).flatten()
}
