//! Who decides what becomes of requests.

use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::handling::Handling;
use crate::request::{Asked, Verb};

/// A decision that may have to be waited for; the request waits, too.
pub type Decision<'a> = Pin<Box<dyn Future<Output = Handling> + Send + 'a>>;

/// Decides what becomes of each request for a resource.
pub trait Decider: Send + Sync + 'static {
    /// What becomes of this one.
    fn decide(&self, asked: Asked) -> Decision<'_>;
}

/// Whether code says that a request is meant.
type Predicate = dyn Fn(&Asked) -> bool + Send + Sync;
/// Makes the fate of a request, of which each needs one of its own.
type Make = dyn Fn(&Asked) -> Handling + Send + Sync;

/// Which requests are meant: those of which all that is set is true.
#[derive(Clone, Default)]
pub struct Match {
    /// What is done.
    pub verb: Option<Verb>,
    /// The resource and its subresource: `pods`, or `jobs/status`.
    pub kind: Option<String>,
    /// The namespace.
    pub namespace: Option<String>,
    /// The object.
    pub name: Option<String>,
    /// A part of the User-Agent.
    pub agent: Option<String>,
    /// Code that says yes.
    pub also: Option<Arc<Predicate>>,
}

impl fmt::Debug for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Match { verb, kind, namespace, name, agent, also } = self;
        let told = (verb, kind, namespace, name, agent, also.is_some());
        f.debug_tuple("Match").field(&told).finish()
    }
}

impl Match {
    /// Whether a request is one of those that are meant.
    #[must_use]
    pub fn fits(&self, asked: &Asked) -> bool {
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        self.verb.is_none_or(|verb| verb == asked.verb)
            && is(&self.kind, Some(&asked.kind()))
            && is(&self.namespace, asked.namespace.as_deref())
            && is(&self.name, asked.name.as_deref())
            && self.agent.as_deref().is_none_or(|part| asked.agent.contains(part))
            && self.also.as_ref().is_none_or(|also| also(asked))
    }
}

/// Rules: of those that fit a request, the first that was added is its fate.
#[derive(Clone, Default)]
pub struct Rules(Arc<Mutex<Vec<Rule>>>);

struct Rule {
    number: u64,
    meant: Match,
    skip: u32,
    times: u32,
    make: Box<Make>,
    hits: u32,
}

/// A rule in force.
pub struct Applied {
    rules: Rules,
    number: u64,
}

impl Rules {
    /// Puts a rule into force: of the requests that are meant, `skip` pass, and the next `times` get this fate.
    pub fn push(
        &self,
        meant: Match,
        skip: u32,
        times: u32,
        handling: impl Fn(&Asked) -> Handling + Send + Sync + 'static,
    ) -> Applied {
        let mut rules = self.lock();
        let number = rules.last().map_or(0, |rule| rule.number + 1);
        rules.push(Rule { number, meant, skip, times, make: Box::new(handling), hits: 0 });
        drop(rules);
        Applied { rules: self.clone(), number }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Rule>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rule {
    /// The fate of a request, if this rule is about it. One that is to pass is counted.
    fn decides(&mut self, asked: &Asked) -> Option<Handling> {
        if self.hits == self.times || !self.meant.fits(asked) {
            return None;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        self.hits += 1;
        Some((self.make)(asked))
    }
}

impl Decider for Rules {
    fn decide(&self, asked: Asked) -> Decision<'_> {
        let handling = self.lock().iter_mut().find_map(|rule| rule.decides(&asked));
        Box::pin(ready(handling.unwrap_or(Handling::Forward)))
    }
}

impl Applied {
    /// How many requests it was the fate of.
    #[must_use]
    pub fn hits(&self) -> u32 {
        self.rules.lock().iter().find(|rule| rule.number == self.number).map_or(0, |rule| rule.hits)
    }

    /// Puts it out of force.
    pub fn lift(self) {
        self.rules.lock().retain(|rule| rule.number != self.number);
    }
}
