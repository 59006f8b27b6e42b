//! Decisions about requests: the trait, and rules as its standard implementation.

use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::handling::Handling;
use crate::request::{RequestInfo, Verb};

/// A decision that may take time. The request waits for it.
pub type Decision<'a> = Pin<Box<dyn Future<Output = Handling> + Send + 'a>>;

/// Decides how each request for a resource is handled.
pub trait Decider: Send + Sync + 'static {
    /// Returns the handling of this request.
    fn decide(&self, asked: RequestInfo) -> Decision<'_>;
}

/// A condition on requests.
type Predicate = dyn Fn(&RequestInfo) -> bool + Send + Sync;
/// Returns the handling of one request.
type MakeHandling = dyn Fn(&RequestInfo) -> Handling + Send + Sync;

/// A pattern of requests. A request matches if it has all values that are set.
#[derive(Clone, Default)]
pub struct Match {
    /// The verb.
    pub verb: Option<Verb>,
    /// The resource with its subresource: `pods`, or `jobs/status`.
    pub kind: Option<String>,
    /// The namespace.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: Option<String>,
    /// A part of the `User-Agent`.
    pub agent: Option<String>,
    /// A further condition.
    pub predicate: Option<Arc<Predicate>>,
}

impl fmt::Debug for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Match { verb, kind, namespace, name, agent, predicate } = self;
        let shown = (verb, kind, namespace, name, agent, predicate.is_some());
        f.debug_tuple("Match").field(&shown).finish()
    }
}

impl Match {
    /// Returns true if a request matches.
    #[must_use]
    pub fn matches(&self, asked: &RequestInfo) -> bool {
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        self.verb.is_none_or(|verb| verb == asked.verb)
            && is(&self.kind, Some(&asked.kind()))
            && is(&self.namespace, asked.namespace.as_deref())
            && is(&self.name, asked.name.as_deref())
            && self.agent.as_deref().is_none_or(|part| asked.agent.contains(part))
            && self.predicate.as_ref().is_none_or(|holds| holds(asked))
    }
}

/// An ordered list of rules. The first rule that matches a request decides its handling.
#[derive(Clone, Default)]
pub struct Rules(Arc<Mutex<Vec<Rule>>>);

struct Rule {
    number: u64,
    pattern: Match,
    skip: u32,
    times: u32,
    handling: Box<MakeHandling>,
    hits: u32,
}

/// A rule that is in effect.
pub struct ActiveRule {
    rules: Rules,
    number: u64,
}

impl Rules {
    /// Appends a rule. The first `skip` matching requests pass, and the next `times` get this handling.
    pub fn push(
        &self,
        pattern: Match,
        skip: u32,
        times: u32,
        handling: impl Fn(&RequestInfo) -> Handling + Send + Sync + 'static,
    ) -> ActiveRule {
        let mut rules = self.lock();
        let number = rules.last().map_or(0, |rule| rule.number + 1);
        rules.push(Rule { number, pattern, skip, times, handling: Box::new(handling), hits: 0 });
        drop(rules);
        ActiveRule { rules: self.clone(), number }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Rule>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rule {
    /// Returns the handling of a request, or `None` if the rule does not apply. Counts requests that are skipped.
    fn decides(&mut self, asked: &RequestInfo) -> Option<Handling> {
        if self.hits == self.times || !self.pattern.matches(asked) {
            return None;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        self.hits += 1;
        Some((self.handling)(asked))
    }
}

impl Decider for Rules {
    fn decide(&self, asked: RequestInfo) -> Decision<'_> {
        let handling = self.lock().iter_mut().find_map(|rule| rule.decides(&asked));
        Box::pin(ready(handling.unwrap_or(Handling::Forward)))
    }
}

impl ActiveRule {
    /// The number of requests that the rule has handled.
    #[must_use]
    pub fn hits(&self) -> u32 {
        self.rules.lock().iter().find(|rule| rule.number == self.number).map_or(0, |rule| rule.hits)
    }

    /// Removes the rule.
    pub fn remove(self) {
        self.rules.lock().retain(|rule| rule.number != self.number);
    }
}
