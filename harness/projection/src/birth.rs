//! The fields of a pod that are judged on its creation only (PC-14, PC-16, PC-17, BI-02).
//!
//! | field of `PodBirth` | JSON path |
//! | --- | --- |
//! | `generate_name`, `labels`, `annotations`, `finalizers`, `controller`, `other_owners` | `metadata`, see `metadata.rs` |
//! | `hostname` | `spec.hostname` |
//! | `spec` | see [`super::essentials`] |
//! | `containers` | `spec.initContainers`, then `spec.containers` |
//! | `containers[].index_env` | the entries of `env` named `JOB_COMPLETION_INDEX` |
//! | `EnvSource::FieldPath` | `valueFrom.fieldRef.fieldPath` |

use jobcheck_spec::birth::{Birth, ContainerBirth, EnvSource, INDEX_VARIABLE, PodBirth};
use jobcheck_spec::job::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Projector;
use super::cache::Texts;
use super::error::{ProjectError, read};
use super::essentials;
use super::metadata::{self, Metadata, WireMetadata};
use super::pod::{self, PodObject, WireStatus};
use super::wire::{Str, is};

/// A created pod.
#[derive(Deserialize)]
struct WirePod<'a> {
    #[serde(borrow)]
    metadata: Option<WireMetadata<'a>>,
    #[serde(borrow)]
    spec: Option<WireSpec<'a>>,
    #[serde(borrow)]
    status: Option<WireStatus<'a>>,
}

/// A pod in a request.
#[derive(Deserialize)]
struct WireRequest<'a> {
    #[serde(borrow)]
    metadata: Option<WireMetadata<'a>>,
    #[serde(borrow)]
    spec: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSpec<'a> {
    #[serde(borrow)]
    node_name: Option<Str<'a>>,
    #[serde(borrow)]
    containers: Option<Vec<WireContainer<'a>>>,
    #[serde(borrow)]
    init_containers: Option<Vec<WireContainer<'a>>>,
    #[serde(borrow)]
    hostname: Option<Str<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireContainer<'a> {
    #[serde(borrow)]
    name: Option<Str<'a>>,
    #[serde(borrow)]
    restart_policy: Option<Str<'a>>,
    #[serde(borrow)]
    env: Option<Vec<WireVariable<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireVariable<'a> {
    #[serde(borrow)]
    name: Option<Str<'a>>,
    #[serde(borrow)]
    value_from: Option<WireSource<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSource<'a> {
    #[serde(borrow)]
    field_ref: Option<WireFieldRef<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireFieldRef<'a> {
    #[serde(borrow)]
    field_path: Option<Str<'a>>,
}

/// The part of [`PodBirth`] that comes from `spec`.
#[derive(Clone, Debug)]
pub(super) struct SpecOfBirth {
    hostname: Option<Text>,
    containers: Vec<ContainerBirth>,
    values: Vec<(Text, u64)>,
}

impl Projector {
    /// Projects a created pod, with its birth as the API server stored it and as its sender asked for it.
    ///
    /// The values of its `spec` are those of the request. Without a request, they are those of the stored pod.
    ///
    /// # Errors
    ///
    /// A field has a wrong type.
    pub fn created(
        &mut self,
        created: &str,
        asked: Option<&str>,
    ) -> Result<(PodObject, Birth), ProjectError> {
        let WirePod { metadata, spec, status } = read(created, "")?;
        let (wire, spec, status) =
            (metadata.unwrap_or_default(), spec.unwrap_or_default(), status.unwrap_or_default());
        let texts = &mut self.texts;
        let hostname = spec.hostname.as_ref().map(|name| texts.share(name.as_ref()));
        let containers = containers(texts, &spec);
        let spec = pod::WireSpec {
            node_name: spec.node_name,
            init_containers: spec.init_containers.map(|list| list.into_iter().map(plain).collect()),
        };
        let object = self.pod_of(&wire, &spec, &status);
        let metadata = of_metadata(object.metadata.clone());
        let mut birth = Birth {
            created: PodBirth { hostname, containers, ..metadata },
            asked: asked.map(|text| self.asked(text)).transpose()?,
        };
        if asked.is_none() {
            birth.created.spec = self.values(created)?;
        }
        Ok((object, birth))
    }

    /// Projects the birth of a pod that was asked for and not created.
    ///
    /// # Errors
    ///
    /// A field has a wrong type.
    pub fn birth(&mut self, asked: &str) -> Result<Birth, ProjectError> {
        let asked = self.asked(asked)?;
        Ok(Birth { created: PodBirth { spec: Vec::new(), ..asked.clone() }, asked: Some(asked) })
    }

    fn asked(&mut self, text: &str) -> Result<PodBirth, ProjectError> {
        let WireRequest { metadata, spec } = read(text, "")?;
        let spec = self.spec_of_birth(spec.map_or("{}", RawValue::get))?;
        let metadata = metadata::project(&mut self.texts, &metadata.unwrap_or_default());
        let SpecOfBirth { hostname, containers, values } = spec;
        Ok(PodBirth { hostname, containers, spec: values, ..of_metadata(metadata) })
    }

    /// The values of the pod's `spec`.
    fn values(&mut self, text: &str) -> Result<Vec<(Text, u64)>, ProjectError> {
        let WireRequest { spec, .. } = read(text, "")?;
        Ok(essentials::of_text(&mut self.texts, spec.map_or("{}", RawValue::get)))
    }

    /// The pods of a Job are asked for with the same `spec`, but for the index of an Indexed Job.
    fn spec_of_birth(&mut self, text: &str) -> Result<SpecOfBirth, ProjectError> {
        if let Some(known) = self.asked.get(text) {
            return Ok(known);
        }
        let wire: WireSpec = read(text, "spec")?;
        let texts = &mut self.texts;
        let spec = SpecOfBirth {
            hostname: wire.hostname.as_ref().map(|name| texts.share(name.as_ref())),
            containers: containers(texts, &wire),
            values: essentials::of_text(texts, text),
        };
        self.asked.put(text, spec.clone());
        Ok(spec)
    }
}

/// The part of a birth that comes from `metadata`.
fn of_metadata(metadata: Metadata) -> PodBirth {
    PodBirth {
        generate_name: metadata.generate_name,
        labels: metadata.labels,
        annotations: metadata.annotations,
        finalizers: metadata.finalizers,
        controller: metadata.controller,
        other_owners: metadata.other_owners,
        ..PodBirth::default()
    }
}

fn plain(container: WireContainer<'_>) -> pod::WireContainer<'_> {
    pod::WireContainer { name: container.name, restart_policy: container.restart_policy }
}

fn containers(texts: &mut Texts, spec: &WireSpec<'_>) -> Vec<ContainerBirth> {
    let init = spec.init_containers.iter().flatten().map(|container| (true, container));
    let regular = spec.containers.iter().flatten().map(|container| (false, container));
    let container = |(is_init, wire): (bool, &WireContainer<'_>)| ContainerBirth {
        name: texts.share_or_empty(wire.name.as_ref()),
        is_init,
        index_env: index_env(texts, wire),
    };
    init.chain(regular).map(container).collect()
}

fn index_env(texts: &mut Texts, container: &WireContainer<'_>) -> Vec<EnvSource> {
    let entries = container.env.iter().flatten().filter(|entry| is(entry.name.as_ref(), INDEX_VARIABLE));
    let source = |entry: &WireVariable<'_>| {
        let field = entry.value_from.as_ref().and_then(|from| from.field_ref.as_ref());
        let path = field.and_then(|field| field.field_path.as_ref());
        path.map_or(EnvSource::Other, |path| EnvSource::FieldPath(texts.share(path.as_ref())))
    };
    entries.map(source).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{POD_REQUEST, raw, with};
    use super::*;
    use jobcheck_spec::birth::INDEX_KEY;
    use serde_json::{Value, json};

    const INDEX_FIELD: &str = "metadata.labels['batch.kubernetes.io/job-completion-index']";

    fn birth(edits: &[(&str, Value)]) -> PodBirth {
        let request = raw(&with(POD_REQUEST, edits));
        Projector::new().birth(&request).unwrap().asked.unwrap()
    }

    #[test]
    fn the_request_of_an_indexed_pod_is_read() {
        let birth = birth(&[]);
        assert_eq!(birth.generate_name.as_deref(), Some("job-0-"));
        let index = (birth.label(INDEX_KEY), birth.annotation(INDEX_KEY));
        assert_eq!(index, (Some(&"0".into()), Some(&"0".into())));
        assert_eq!(birth.hostname.as_deref(), Some("job-0"));
        assert_eq!((birth.labels.len(), birth.annotations.len()), (5, 1));
        assert_eq!(birth.finalizers, ["batch.kubernetes.io/job-tracking".into()]);
        assert!(birth.controller.is_some_and(|owner| &*owner.kind == "Job") && birth.other_owners.is_empty());
        let index_env = vec![EnvSource::FieldPath(INDEX_FIELD.into())];
        assert_eq!(birth.containers, [ContainerBirth { name: "main".into(), is_init: false, index_env }]);
    }

    #[test]
    fn wrong_values_are_kept() {
        let birth = birth(&[
            ("/metadata/finalizers", json!(["a", "b", "a"])),
            ("/metadata/annotations", json!({INDEX_KEY: "1"})),
            ("/spec/hostname", json!(null)),
            (
                "/spec/initContainers",
                json!([{"name": "init", "env": [
                    {"name": INDEX_VARIABLE, "value": "0"},
                    {"name": "OTHER", "value": "0"},
                    {"name": INDEX_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    {"name": INDEX_VARIABLE, "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                ]}]),
            ),
            ("/spec/containers", json!([{"name": "main"}])),
        ]);
        assert_eq!(birth.finalizers.iter().map(|f| &**f).collect::<Vec<_>>(), ["a", "b", "a"]);
        let index = (birth.label(INDEX_KEY), birth.annotation(INDEX_KEY));
        assert_eq!(index, (Some(&"0".into()), Some(&"1".into())));
        assert_eq!(birth.hostname, None);
        let init = &birth.containers[0];
        assert!(init.is_init);
        let sources = [EnvSource::Other, EnvSource::FieldPath("metadata.name".into()), EnvSource::Other];
        assert_eq!(init.index_env, sources);
        assert_eq!(
            birth.containers[1],
            ContainerBirth { name: "main".into(), is_init: false, index_env: vec![] }
        );
    }
}
