//! The software bill of materials: all crates of the program `jobcheck`. With `go`, it also has the modules of the control
//! plane on which its tests run. The form is CycloneDX 1.6, as JSON.
//!
//! The list is made of what the build itself reads: `cargo metadata` with the checksums of `Cargo.lock`, and `go list`.
//! It has no time and no random number, so that the same sources give the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// The package of the program.
const PROGRAM: &str = "jobcheck";
/// The folders of the Go modules.
const GO_MODULES: [&str; 3] =
    ["harness/controlplane", "harness/controlplane/nodes", "harness/controlplane/oracle"];

/// The bill of materials of the checkout at `root`.
///
/// # Errors
///
/// A tool is missing, or fails.
pub fn sbom(root: &Path, go: bool) -> Result<Value, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let host = output(Command::new("rustc").arg("-vV").current_dir(root))?;
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default().to_owned();
    let metadata = output(
        Command::new(cargo)
            .args(["metadata", "--format-version=1", "--locked", "--filter-platform", &host])
            .current_dir(root),
    )?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).map_err(|error| error.to_string())?;
    let mut modules = BTreeSet::new();
    for folder in GO_MODULES.iter().filter(|_| go) {
        let form = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}";
        let listed = output(
            Command::new("go").args(["list", "-deps", "-f", form, "./..."]).current_dir(root.join(folder)),
        )?;
        modules.extend(
            listed
                .lines()
                .filter_map(|line| line.split_once(' '))
                .map(|(path, version)| (path.to_owned(), version.to_owned())),
        );
    }
    bill(&metadata, &checksums(&lock), &modules)
}

fn output(command: &mut Command) -> Result<String, String> {
    let done =
        command.output().map_err(|error| format!("{:?} cannot be run: {error}", command.get_program()))?;
    if !done.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&done.stderr)));
    }
    String::from_utf8(done.stdout).map_err(|error| error.to_string())
}

/// The checksums in `Cargo.lock`, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        line.map(|text| text.trim_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]");
    packages
        .filter_map(|block| {
            Some(((field(block, "name")?, field(block, "version")?), field(block, "checksum")?))
        })
        .collect()
}

fn bill(
    metadata: &Value,
    checksums: &BTreeMap<(String, String), String>,
    modules: &BTreeSet<(String, String)>,
) -> Result<Value, String> {
    let packages = metadata["packages"].as_array().ok_or("cargo metadata has no packages")?;
    let by_id: BTreeMap<&str, &Value> =
        packages.iter().filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let program = packages.iter().find(|package| package["name"] == PROGRAM).ok_or("there is no program")?;
    let needed = needed(metadata, program["id"].as_str().unwrap_or_default());
    let mut components: BTreeMap<String, Value> = BTreeMap::new();
    let mut dependencies: BTreeMap<String, Value> = BTreeMap::new();
    for (id, needs) in &needed {
        let Some(package) = by_id.get(id.as_str()) else { return Err(format!("{id} is no package")) };
        let name = reference(package);
        let needs: BTreeSet<String> =
            needs.iter().filter_map(|id| by_id.get(id.as_str())).map(|it| reference(it)).collect();
        dependencies.insert(name.clone(), json!({"ref": name, "dependsOn": needs}));
        if id != program["id"].as_str().unwrap_or_default() {
            components.insert(name, component(package, checksums));
        }
    }
    for (path, version) in modules {
        let purl = format!("pkg:golang/{path}@{version}");
        // Go code serves the tests. It is no part of the program.
        let module = json!({"type": "library", "bom-ref": purl, "name": path, "version": version, "purl": purl,
            "scope": "excluded"});
        components.insert(purl, module);
    }
    let mut own = component(program, checksums);
    own["type"] = json!("application");
    Ok(json!({
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": own},
        "components": components.into_values().collect::<Vec<_>>(),
        "dependencies": dependencies.into_values().collect::<Vec<_>>(),
    }))
}

/// The packages that a package needs to be built, with the packages that each needs. Dependencies of tests do not count.
fn needed(metadata: &Value, program: &str) -> BTreeMap<String, BTreeSet<String>> {
    let nodes: BTreeMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let (mut found, mut open) = (BTreeMap::new(), vec![program.to_owned()]);
    while let Some(id) = open.pop() {
        let deps = nodes.get(id.as_str()).and_then(|node| node["deps"].as_array());
        let is_built = |dep: &&Value| {
            dep["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"] != "dev")
        };
        let needs: BTreeSet<String> = deps
            .into_iter()
            .flatten()
            .filter(is_built)
            .filter_map(|dep| dep["pkg"].as_str().map(str::to_owned))
            .collect();
        open.extend(needs.iter().filter(|id| !found.contains_key(*id)).cloned());
        found.insert(id, needs);
    }
    found
}

/// The package URL, which is also the name of the component within the bill.
fn reference(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    format!("pkg:cargo/{}@{}", text("name"), text("version"))
}

fn component(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let purl = reference(package);
    let mut component = json!({
        "type": "library", "bom-ref": purl, "name": text("name"), "version": text("version"),
        "purl": purl, "scope": "required",
    });
    if let Some(licence) = package["license"].as_str() {
        // Old manifests separate alternatives by a slash, which is no SPDX expression.
        component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    if let Some(checksum) = checksums.get(&(text("name"), text("version"))) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}
