//! The permissions of an account, checked before a recording or a run begins.

use jobcheck_access::patiently;
use kube::Client;
use serde_json::{Value, json};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// A required permission: the API group, the resource with its subresource, and the verbs.
pub type Need = (&'static str, &'static str, &'static [&'static str]);

/// Returns the required permissions that the account lacks in a namespace, or in all namespaces, such as `watch
/// pods`.
///
/// # Errors
///
/// The API server does not respond.
pub async fn lacking(
    client: &Client,
    needs: &[Need],
    namespace: Option<&str>,
) -> Result<Vec<String>, String> {
    let mut lacking = Vec::new();
    for (group, resource, verbs) in needs {
        for verb in *verbs {
            if !may(client, verb, group, resource, namespace).await? {
                lacking.push(format!("{verb} {resource}"));
            }
        }
    }
    Ok(lacking)
}

async fn may(
    client: &Client,
    verb: &str,
    group: &str,
    resource: &str,
    namespace: Option<&str>,
) -> Result<bool, String> {
    let (plural, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let attributes = json!({
        "verb": verb, "group": group, "resource": plural, "subresource": subresource, "namespace": namespace,
    });
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    });
    let request = http::Request::post(REVIEWS)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(review.to_string().into_bytes())
        .map_err(|error| error.to_string())?;
    let ask = || client.request::<Value>(request.clone());
    let answer = patiently(ask, |_| {}).await.map_err(|error| error.to_string())?;
    Ok(answer["status"]["allowed"] == true)
}
