//! The steps about the value of `spec.managedBy`.

use jobcheck_record::watch::text;
use jobcheck_report::judge::Unmet;
use jobcheck_spec::Req;
use serde_json::{Value, json};

use crate::board::{Board, MANAGER};
use crate::cluster::{Played, Refusal, jobs, path_of};
use crate::error::Error;
use crate::play::{NAME, Play, unmet};
use crate::scenario::{Answer, Kind};

impl Play<'_> {
    /// Creates an object with a value, and compares the answer with the right one.
    pub(crate) async fn offer(
        &mut self,
        kind: Kind,
        value: Option<&str>,
        answer: Answer,
    ) -> Result<Option<Unmet>, Error> {
        self.met.offers += 1;
        let name = format!("offer-{}", self.met.offers);
        let (path, object) = self.object(kind, &name, value)?;
        let broken = Some(rule(kind));
        let shown = shown(value);
        Ok(match (self.clusters[MANAGER].ask(Played::User, "POST", &path, &object).await?, answer) {
            (Ok(stored), Answer::Accepts) => kept(&stored, value).map(|why| unmet(why, broken)),
            (Ok(_), Answer::Refuses) => Some(unmet(format!("managedBy {shown} is accepted"), broken)),
            (Err(refusal), Answer::Refuses) if refusal.is_invalid() => None,
            (Err(refusal), Answer::Accepts) if refusal.is_invalid() => {
                Some(unmet(format!("managedBy {shown} is refused: {}", refusal.message), broken))
            }
            (Err(refusal), _) => Some(self.unserved(kind, refusal)?),
        })
    }

    /// Creates the object of the scenario with a value.
    pub(crate) async fn create_with(
        &mut self,
        kind: Kind,
        value: Option<&str>,
    ) -> Result<Option<Unmet>, Error> {
        let (path, object) = self.object(kind, NAME, value)?;
        let created = match self.clusters[MANAGER].ask(Played::User, "POST", &path, &object).await? {
            Ok(created) => created,
            Err(refusal) if refusal.is_invalid() => {
                let why = format!("managedBy {} is refused: {}", shown(value), refusal.message);
                return Ok(Some(unmet(why, Some(rule(kind)))));
            }
            Err(refusal) => return self.unserved(kind, refusal).map(Some),
        };
        let changed = kept(&created, value).map(|why| unmet(why, Some(rule(kind))));
        if kind == Kind::Job {
            self.met.incarnation(created);
        }
        Ok(changed)
    }

    /// Changes the value of the object of the scenario, which must be refused.
    pub(crate) async fn change(&mut self, kind: Kind, value: Option<&str>) -> Result<Option<Unmet>, Error> {
        let (path, _) = self.object(kind, NAME, value)?;
        let (path, patch) = (format!("{path}/{NAME}"), json!({"spec": {"managedBy": value}}));
        let shown = shown(value);
        match self.clusters[MANAGER].ask(Played::User, "PATCH", &path, &patch).await? {
            Ok(_) => {
                let why = format!("a change of managedBy to {shown} is accepted");
                Ok(Some(unmet(why, Some(rule(kind)))))
            }
            Err(refusal) if refusal.is_invalid() => Ok(None),
            Err(Refusal { message, .. }) => Err(self.clusters[MANAGER].failed(message)),
        }
    }

    /// Writes another value with a status, which must change nothing.
    pub(crate) async fn change_with_status(&mut self, value: &str) -> Result<Option<Unmet>, Error> {
        let path = format!("{}/status", jobs(self.namespace, NAME));
        let patch = json!({"spec": {"managedBy": value}});
        let before = self.met.created.as_ref().map(|job| job["spec"].clone()).unwrap_or_default();
        match self.clusters[MANAGER].ask(Played::Controller, "PATCH", &path, &patch).await? {
            Ok(stored) if stored["spec"] == before => Ok(None),
            Ok(_) => {
                let why = format!("a write of the status changes managedBy to {value}");
                Ok(Some(unmet(why, Some(Req::MB12))))
            }
            // The value is not stored in this way, either.
            Err(refusal) if refusal.is_invalid() => Ok(None),
            Err(Refusal { message, .. }) => Err(self.clusters[MANAGER].failed(message)),
        }
    }

    /// Creates a Job of the built-in controller, and waits until it has started. A controller that works through its queue
    /// has by then seen what was created before.
    pub(crate) async fn built_in_works(&mut self) -> Result<Option<Unmet>, Error> {
        let name = format!("built-in-{}", self.met.built_in + 1);
        let mut job = self.job(&name, None);
        job["spec"]["suspend"] = json!(false);
        self.post(MANAGER, Played::User, &job).await?;
        let has_started = |board: &Board| {
            let job = board.clusters[MANAGER].jobs.get(&name)?;
            job["status"]["startTime"].as_str().map(drop)
        };
        if self.until(has_started).await?.is_none() {
            let why = "the built-in Job controller does not work on this cluster";
            return Ok(Some(unmet(why.to_owned(), None)));
        }
        self.met.built_in += 1;
        Ok(None)
    }

    /// The path of the objects of a kind, and an object with a value.
    fn object(&self, kind: Kind, name: &str, value: Option<&str>) -> Result<(String, Value), Error> {
        let custom = self.settings.resource.as_ref().filter(|_| kind == Kind::Custom);
        let Some(custom) = custom else {
            return Ok((jobs(self.namespace, ""), self.job(name, value)));
        };
        let path = path_of(custom, self.namespace).map_err(|why| self.clusters[MANAGER].failed(why))?;
        let mut object = custom.clone();
        object["metadata"]["name"] = json!(name);
        object["spec"]["managedBy"] = json!(value);
        Ok((path, object))
    }

    /// A refusal that says nothing about a value. A custom resource that is not served is none of the suite's errors.
    fn unserved(&self, kind: Kind, refusal: Refusal) -> Result<Unmet, Error> {
        match (kind, refusal.code) {
            (Kind::Custom, 404) => Ok(unmet("the API server does not serve this resource".to_owned(), None)),
            _ => Err(self.clusters[MANAGER].failed(refusal.message)),
        }
    }
}

/// The requirement on the values of a kind.
fn rule(kind: Kind) -> Req {
    match kind {
        Kind::Job => Req::MB01,
        Kind::Custom => Req::MB18,
    }
}

/// The reason why a stored object has not the value with which it was created.
fn kept(stored: &Value, value: Option<&str>) -> Option<String> {
    let found = stored["spec"]["managedBy"].as_str();
    let name = text(stored, "name");
    (found != value)
        .then(|| format!("{name} has managedBy {}, and is stored with {}", shown(value), shown(found)))
}

fn shown(value: Option<&str>) -> String {
    value.map_or("unset".to_owned(), |value| format!("{value:?}"))
}
