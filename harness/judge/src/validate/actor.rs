//! Actors: the senders of requests.

use jobcheck_spec::job::Text;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The role of an actor, by its name (`docs/reference/judging.md`, *Identifying the controller*).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The Job controller: the built-in one, or the one that `--actor` names.
    JobController,
    /// The TTL-after-finished controller.
    TtlController,
    /// The garbage collector.
    GarbageCollector,
    /// The pod garbage collector.
    PodGc,
    /// A kubelet.
    Kubelet,
    /// The manager of Jobs without `spec.managedBy` that `--actor` names.
    Manager,
    /// Any other actor.
    Other,
}

/// The account of all controllers in kube-controller-manager, unless each has an account of its own.
const SHARED: &str = "system:kube-controller-manager";

impl Role {
    /// The role names of `--actor ROLE=USER`.
    pub const NAMES: [(&'static str, Role); 6] = [
        ("job-controller", Role::JobController),
        ("ttl-after-finished-controller", Role::TtlController),
        ("generic-garbage-collector", Role::GarbageCollector),
        ("pod-garbage-collector", Role::PodGc),
        ("kubelet", Role::Kubelet),
        ("manager", Role::Manager),
    ];

    /// The role with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Role> {
        Role::NAMES.iter().find(|(known, _)| *known == name).map(|(_, role)| *role)
    }
}

/// The position of an actor in [`Actors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ActorId(u32);

/// The actors of a trace.
#[derive(Debug, Default)]
pub struct Actors {
    /// The positions by user and user agent.
    known: FxHashMap<Text, FxHashMap<Text, ActorId>>,
    list: Vec<Actor>,
    named: Vec<(Role, String)>,
}

/// An actor.
#[derive(Clone, Debug)]
pub struct Actor {
    /// The user name.
    pub user: Text,
    /// The user agent.
    pub agent: Text,
    /// The role.
    pub role: Role,
}

impl Actors {
    /// An empty list; `named` contains the roles from `--actor`.
    #[must_use]
    pub fn new(named: Vec<(Role, String)>) -> Actors {
        Actors { named, ..Actors::default() }
    }

    /// The actor with this user and user agent; adds it if it is new.
    pub fn meet(&mut self, user: &str, agent: &str) -> ActorId {
        if let Some(id) = self.known.get(user).and_then(|agents| agents.get(agent)) {
            return *id;
        }
        let id = ActorId(u32::try_from(self.list.len()).unwrap_or(u32::MAX));
        let role = self.role(user, agent);
        let (user, agent) = (Text::from(user), Text::from(agent));
        self.known.entry(user.clone()).or_default().insert(agent.clone(), id);
        self.list.push(Actor { user, agent, role });
        id
    }

    /// The actor with this position.
    #[must_use]
    pub fn get(&self, id: ActorId) -> &Actor {
        &self.list[id.0 as usize]
    }

    /// The users that are named as managers, and that have sent no request.
    #[must_use]
    pub fn absent_managers(&self) -> Vec<String> {
        let named = self.named.iter().filter(|(role, _)| *role == Role::Manager);
        let absent = named.filter(|(_, user)| !self.known.contains_key(user.as_str()));
        absent.map(|(_, user)| user.clone()).collect()
    }

    /// Returns `true` for the account of several controllers, if the user agent names none of them.
    #[must_use]
    pub fn is_shared(&self, id: ActorId) -> bool {
        let actor = self.get(id);
        // binary/version (platform) kubernetes/commit[/controller]
        let names_controller =
            actor.agent.split("kubernetes/").nth(1).is_some_and(|commit| commit.contains('/'));
        actor.role == Role::Other && &*actor.user == SHARED && !names_controller
    }

    /// The role by the service account. If controllers share a user, the last part of the user agent decides.
    fn role(&self, user: &str, agent: &str) -> Role {
        if let Some((role, _)) = self.named.iter().find(|(_, name)| name == user) {
            return *role;
        }
        if user.starts_with("system:node:") {
            return Role::Kubelet;
        }
        let last = |text: &str| text.rsplit(['/', ':']).next().and_then(Role::named);
        last(user).or_else(|| last(agent)).unwrap_or(Role::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_are_known_by_service_account_or_by_the_end_of_the_agent() {
        let mut actors = Actors::new(vec![(Role::JobController, "runner".to_owned())]);
        let mut role = |user: &str, agent: &str| {
            let id = actors.meet(user, agent);
            actors.get(id).role
        };
        assert_eq!(role("system:serviceaccount:kube-system:job-controller", "kcm/v1"), Role::JobController);
        let shared = "kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/abc/";
        assert_eq!(
            role("system:kube-controller-manager", &format!("{shared}job-controller")),
            Role::JobController
        );
        assert_eq!(
            role(
                "system:kube-controller-manager",
                &format!("{shared}system:serviceaccount:kube-system:ttl-after-finished-controller")
            ),
            Role::TtlController
        );
        assert_eq!(role("system:node:a", "kubelet/v1"), Role::Kubelet);
        assert_eq!(role("runner", "x"), Role::JobController);
        assert_eq!(role("admin", "kubectl/v1"), Role::Other);
    }
}
