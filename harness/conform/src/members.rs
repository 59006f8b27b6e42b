//! The steps in which the suite plays the Job controllers of members.

use jobcheck_record::watch::text;
use jobcheck_report::judge::Unmet;
use serde_json::{Value, json};

use crate::cluster::{Played, jobs};
use crate::error::Error;
use crate::kubelet::now;
use crate::play::{Play, unmet};
use crate::scenario::Reported;

impl Play<'_> {
    /// Writes the status of the copy on a member's cluster.
    pub(crate) async fn report(&mut self, member: usize, status: Reported) -> Result<Option<Unmet>, Error> {
        let found = self.met.on.get(&member).cloned();
        let Some((name, uid)) = found else {
            return Ok(Some(unmet(format!("no copy was found on cluster {member} before"), None)));
        };
        let cluster = &self.clusters[member];
        let copy = {
            let board = self.board.borrow();
            board.clusters[member].jobs.get(&name).filter(|copy| text(copy, "uid") == uid).cloned()
        };
        let Some(copy) = copy else {
            return Ok(Some(unmet(format!("the copy on {} is gone", cluster.name), None)));
        };
        if self.met.reported.insert(uid) && copy["status"]["startTime"].is_string() {
            let why = "a Job controller works here; the suite plays that of a member itself";
            return Err(cluster.failed(why));
        }
        let path = format!("{}/status", jobs(self.namespace, &name));
        let patch = json!({"status": written(&copy, status)});
        match cluster.send(Played::Controller, "PATCH", &path, &patch).await? {
            Some(_) => Ok(None),
            None => Ok(Some(unmet(format!("the copy on {} is gone", cluster.name), None))),
        }
    }

    /// Deletes the copy on a member's cluster.
    pub(crate) async fn delete_member(&self, member: usize) -> Result<(), Error> {
        let Some((name, _)) = self.met.on.get(&member) else { return Ok(()) };
        self.delete(member, Played::Somebody, &jobs(self.namespace, name), "Background").await
    }
}

/// The status of a copy. It keeps the times and conditions that were written before.
fn written(copy: &Value, reported: Reported) -> Value {
    let Reported { active, terminating, succeeded, failed, conditions } = reported;
    let (stored, now) = (&copy["status"], now());
    let succeeded = match succeeded {
        Reported::ALL => copy["spec"]["completions"].clone(),
        some => json!(some),
    };
    let mut all = stored["conditions"].as_array().cloned().unwrap_or_default();
    for kind in conditions {
        if !all.iter().any(|it| it["type"] == *kind) {
            all.push(json!({
                "type": kind, "status": "True", "reason": "Reported", "message": "",
                "lastProbeTime": now, "lastTransitionTime": now,
            }));
        }
    }
    let mut status = json!({
        "active": active, "ready": active, "succeeded": succeeded, "failed": failed, "conditions": all,
    });
    if let Some(terminating) = terminating {
        status["terminating"] = json!(terminating);
    }
    if !stored["startTime"].is_string() {
        status["startTime"] = json!(now);
    }
    if conditions.contains(&"Complete") && !stored["completionTime"].is_string() {
        status["completionTime"] = json!(now);
    }
    status
}
