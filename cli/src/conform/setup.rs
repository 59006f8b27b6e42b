//! The file of `--setup`: what a manager needs in each namespace. The file of `--resource`: a custom resource.

use std::io::{self, Read};
use std::path::Path;

use jobcheck_traces::files;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::text::of_path;

/// The size of the largest file that is read.
const LARGEST: u64 = 3 << 20;

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
    let text = text_of(file).map_err(|why| format!("{}: {why}", of_path(file)))?;
    parsed(&text).map_err(|why| format!("{}: {why}", of_path(file)))
}

/// The text of a file that is no larger than any request to an API server.
fn text_of(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    files::open_regular(file)?.take(LARGEST + 1).read_to_string(&mut text)?;
    match text.len() as u64 > LARGEST {
        true => Err(io::Error::other(format!("it is larger than {} MiB", LARGEST >> 20))),
        false => Ok(text),
    }
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
