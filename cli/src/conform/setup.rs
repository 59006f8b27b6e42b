//! The file of `--setup`: what a manager needs in each namespace. The file of `--resource`: a custom resource.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::text::of_path;

/// The objects that a manager needs in each namespace.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Setup {
    /// The objects that are created in the namespace on the manager's cluster.
    #[serde(default)]
    pub objects: Vec<Value>,
    /// The objects that are created in the namespace on each other cluster.
    #[serde(default)]
    pub workers: Vec<Value>,
    /// The labels of every Job.
    #[serde(default)]
    pub labels: Map<String, Value>,
    /// The annotations of every Job.
    #[serde(default)]
    pub annotations: Map<String, Value>,
}

impl Setup {
    /// Reads the file.
    pub fn read(file: &Path) -> Result<Setup, String> {
        yaml(file)
    }
}

/// Reads the file of `--resource`.
pub fn resource(file: &Path) -> Result<Value, String> {
    let object: Value = yaml(file)?;
    match object["apiVersion"].is_string() && object["kind"].is_string() {
        true => Ok(object),
        false => Err(format!("{}: expected an object with apiVersion and kind", of_path(file))),
    }
}

fn yaml<T: DeserializeOwned>(file: &Path) -> Result<T, String> {
    let text = std::fs::read_to_string(file).map_err(|why| format!("{}: {why}", of_path(file)))?;
    parsed(&text).map_err(|why| format!("{}: {why}", of_path(file)))
}

/// Reads YAML. An error quotes nothing of it, because it may have a Secret.
fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_saphyr::from_str(text).map_err(|error| {
        let place = error.location().map(|it| format!(" at line {}, column {}", it.line(), it.column()));
        let place = place.unwrap_or_default();
        format!("it is not valid YAML, or a field is unknown or has another type{place}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setup_has_objects_and_the_labels_of_jobs() {
        let text = "labels: {kueue.x-k8s.io/queue-name: main}\nobjects:\n- {apiVersion: v1, kind: ConfigMap}\n\
             workers:\n- {apiVersion: v1, kind: Secret}\n";
        let setup: Setup = serde_saphyr::from_str(text).unwrap();
        assert_eq!(setup.labels["kueue.x-k8s.io/queue-name"], "main");
        assert_eq!(setup.objects[0]["kind"], "ConfigMap");
        assert_eq!(setup.workers[0]["kind"], "Secret");
        let wrong = parsed::<Setup>("lables: {}").unwrap_err();
        assert!(wrong.contains("a field is unknown") && wrong.contains("at line 1"), "{wrong}");
    }

    #[test]
    fn an_error_quotes_nothing_of_the_file() {
        for text in
            ["objects:\n- {stringData: {password: SECRET}}\n  bogus: [", "labels: SECRET", "SECRET: 1"]
        {
            let wrong = parsed::<Setup>(text).unwrap_err();
            assert!(!wrong.contains("SECRET"), "{wrong}");
        }
    }
}
