//! Texts about clusters for people and shells.

use std::time::Duration;

use anstyle::Style;
use jobcheck_cluster::status::{Health, Status};
use jobcheck_cluster::{Kind, State, audit_log};

use super::args::Shell;
use crate::styles::{BAD, BOLD, GOOD};
use crate::text::{Text, clean, of_path, quoted};

/// The addresses and files of a cluster, and the commands to use it.
pub fn announcement(status: &Status, is_foreground: bool) -> String {
    let name = &status.name;
    let option = if name.as_str() == "default" { String::new() } else { format!(" --name {name}") };
    let audit = audit_log(&status.folder);
    let mut out = Text::default();
    if let Some(state) = &status.state {
        let (health, kind) = (describe(&status.health), kind(state));
        let _ = writeln!(out, "cluster {BOLD}{name}{BOLD:#} is {health}: {kind}");
        let _ = writeln!(out, "server      {}", state.server.as_deref().unwrap_or_default());
    }
    for own in status.state.iter().flat_map(|state| &state.own) {
        let _ = writeln!(out, "runs        {}", clean(own));
    }
    let _ = writeln!(out, "kubeconfig  {}", of_path(&status.kubeconfig));
    let _ = writeln!(out, "audit log   {}", of_path(&audit));
    let _ = writeln!(out);
    let _ = writeln!(out, "use it      eval \"$(jobcheck cluster env{option})\"; kubectl get jobs -A");
    let _ = writeln!(out, "judge it    jobcheck replay {}", quoted(&audit.to_string_lossy()));
    let stop = if is_foreground { "Ctrl-C".to_owned() } else { format!("jobcheck cluster down{option}") };
    let _ = writeln!(out, "stop it     {stop}");
    out.finish()
}

/// The kind of a cluster, and its version.
fn kind(state: &State) -> String {
    let is_embedded = matches!(state.kind, Kind::Embedded | Kind::EmbeddedWithToken);
    let like = if is_embedded { "like " } else { "" };
    format!("{}, {like}Kubernetes {}", state.kind, state.kubernetes)
}

/// The command that a shell evaluates to use a cluster.
pub fn environment(status: &Status, shell: Shell) -> String {
    let file = status.kubeconfig.to_string_lossy();
    match shell {
        Shell::Sh => format!("export KUBECONFIG={}\n", quoted(&file)),
        Shell::Fish => format!("set -gx KUBECONFIG '{}'\n", file.replace('\\', "\\\\").replace('\'', "\\'")),
        Shell::Powershell => format!("$env:KUBECONFIG = '{}'\n", file.replace('\'', "''")),
    }
}

/// A health with its reason.
pub fn describe(health: &Health) -> String {
    match health {
        Health::NotReady(why) => format!("not ready: {}", clean(why)),
        Health::Ready | Health::Starting | Health::Gone => health.word().to_owned(),
    }
}

/// The clusters with their components.
pub fn table(found: &[Status]) -> String {
    if found.is_empty() {
        return "no cluster runs\n".to_owned();
    }
    let mut out = Text::default();
    let _ = writeln!(out, "{BOLD}{:<28} {:>9}  {:>8}  health{BOLD:#}", "cluster", "age", "process");
    for status in found {
        cluster(&mut out, status);
    }
    out.finish()
}

fn cluster(out: &mut Text, status: &Status) {
    let owner = status.state.as_ref().and_then(|it| it.owner).map(|it| it.pid.to_string());
    let age = status.state.as_ref().map(|it| human(it.age())).unwrap_or_default();
    let (paint, health) = painted(&status.health);
    let _ = writeln!(
        out,
        "{:<28} {age:>9}  {:>8}  {paint}{health}{paint:#}",
        status.name.as_str(),
        owner.unwrap_or_default()
    );
    let Some(state) = &status.state else { return };
    for (component, health) in state.components.iter().zip(&status.components) {
        let (paint, health) = painted(health);
        let (name, pid) = (&component.name, component.process.pid);
        let _ = writeln!(out, "  {name:<26} {:>9}  {pid:>8}  {paint}{health}{paint:#}", "");
    }
    if let Some(server) = &state.server {
        let _ = writeln!(out, "  {}, {server}", kind(state));
    }
    let _ = writeln!(out, "  {}", of_path(&status.kubeconfig));
}

fn painted(health: &Health) -> (Style, String) {
    let paint = if *health == Health::Ready { GOOD } else { BAD };
    (paint, describe(health))
}

fn human(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d{}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let shown = [5, 65, 3700, 90_000].map(|seconds| human(Duration::from_secs(seconds)));
        assert_eq!(shown, ["5s", "1m5s", "1h1m", "1d1h"]);
    }
}
