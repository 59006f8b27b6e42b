//! What an account may do, asked of the API server before anything is begun.

use jobcheck_cluster::told;
use kube::Client;
use serde_json::{Value, json};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// What has to be done: the group, the resource with its subresource, and the verbs.
pub type Need = (&'static str, &'static str, &'static [&'static str]);

/// What of it the account of this client may not do in a namespace, or, without one, in all; as `watch pods`.
///
/// # Errors
///
/// The API server does not answer.
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
    let answer: Value = client.request(request).await.map_err(|error| told(&error))?;
    Ok(answer["status"]["allowed"] == true)
}
