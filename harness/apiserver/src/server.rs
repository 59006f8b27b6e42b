//! The server: one state, which handles one request at a time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use jobcheck_projection::Projector;
use jobcheck_spec::apiserver::RuleSet;
use serde_json::{Value, json};

use crate::audit::AuditSink;
use crate::error::ApiError;
use crate::events_api::present;
use crate::faults::{Fault, Faults};
use crate::identity::Identities;
use crate::list;
use crate::object::{self, key, meta};
use crate::request::{
    Api, FieldValidation, Reply, Request, Response, Subresource, Verb, VersionMatch, WatchOptions,
};
use crate::resource::Resource;
use crate::selector::Selector;
use crate::store::Store;
#[cfg(feature = "http")]
use crate::watch::Weighed;
use crate::watch::{Gate, Most, Start, Taken, WatchEvent, WatchId, WatchInfo, Watches, bookmark, too_old};

/// The configuration of a server.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The seed of UIDs and generated names.
    pub seed: u64,
    /// The number of changes of each resource that the history keeps for watches and pages. Older changes are
    /// compacted. One version of a pod takes about 15 kB.
    pub history: usize,
    /// The memory of these changes in bytes, about. More changes are compacted early.
    pub history_bytes: usize,
    /// The memory of all stored objects in bytes, about. Writes that make it larger than this are refused, as etcd
    /// does when its space is exceeded.
    pub stored_bytes: usize,
    /// The memory in bytes of old versions that only unread watches and lists hold. More end the oldest of them. Over HTTP,
    /// also the bytes of large objects that clients have not taken. The response to the deletion of a collection that
    /// weighs more does not list it.
    pub unread_bytes: usize,
    /// The rules of the minor version and its feature gates.
    pub rules: RuleSet,
    /// If true, every namespace exists without being created.
    pub implicit_namespaces: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            seed: 0,
            history: 20_000,
            history_bytes: 384 << 20,
            stored_bytes: 1 << 30,
            unread_bytes: 256 << 20,
            rules: RuleSet::V1_36,
            implicit_namespaces: false,
        }
    }
}

/// An API server in memory.
///
/// # Guarantees
///
/// The server reads no clock and no randomness. The same configuration, requests, and times give the same responses.
pub struct Server {
    pub(crate) config: Config,
    pub(crate) store: Store,
    pub(crate) identities: Identities,
    /// A cache of parsed objects. It changes only the cost of a response, so that forks share it.
    projector: Arc<Mutex<Projector>>,
    pub(crate) watches: Watches,
    faults: Option<Box<dyn Faults>>,
    audit: Option<AuditSink>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("config", &self.config)
            .field("revision", &self.store.revision())
            .finish()
    }
}

impl Server {
    /// Returns a server that contains the four namespaces of every cluster.
    #[must_use]
    pub fn new(config: Config, now: Timestamp) -> Server {
        let mut server = Server {
            config,
            store: Store::new(config.history, config.history_bytes),
            identities: Identities::seeded(config.seed),
            projector: Arc::default(),
            watches: Watches::default(),
            faults: None,
            audit: None,
        };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let body = json!({"metadata": {"name": name}});
            let request = Request::new(Resource::Namespaces, None, None, Verb::Create(body));
            let response = server.handle(now, &request);
            debug_assert_eq!(response.code(), 201, "{response:?}");
        }
        server
    }

    /// Returns a second server in the same state. Later changes to one do not affect the other. The fork has no
    /// watches, no faults, and no audit sink.
    #[must_use]
    pub fn fork(&self) -> Server {
        Server {
            config: self.config,
            store: self.store.clone(),
            identities: self.identities.clone(),
            projector: Arc::clone(&self.projector),
            watches: Watches::default(),
            faults: None,
            audit: None,
        }
    }

    /// Swaps two generated UIDs everywhere, as if they had been drawn in the other order. Explorations use it to
    /// choose what the seed decides otherwise.
    pub fn exchange_uids(&mut self, one: &str, other: &str) {
        self.store.exchange_uids(one, other);
    }

    pub(crate) fn projector(&self) -> MutexGuard<'_, Projector> {
        self.projector.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the part that decides which requests fail from now on.
    pub fn set_faults(&mut self, faults: Option<Box<dyn Faults>>) {
        self.faults = faults;
    }

    /// Sets the sink that receives an audit event for every request from now on.
    pub fn set_audit(&mut self, audit: Option<AuditSink>) {
        self.audit = audit;
    }

    /// The stored objects and their history, read-only.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The revision of the newest write.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.store.revision()
    }

    /// Discards the history up to a revision. Watches and lists of older versions then get `410 Expired`.
    pub fn compact(&mut self, revision: u64) {
        self.store.compact(revision);
    }

    /// Stores an object as if it were in etcd already, without preparation and validation. Missing fields get
    /// their defaults, as when kube-apiserver reads an object.
    ///
    /// # Assumptions
    ///
    /// The object has a UID, and a name and a namespace that fit its resource.
    ///
    /// # Errors
    /// The value is not an object of this resource.
    pub fn put_raw(&mut self, resource: Resource, object: &Value) -> Result<Arc<Value>, ApiError> {
        let mut object = crate::schema::typed(resource, object, FieldValidation::Ignore, &mut Vec::new())
            .map_err(ApiError::bad_request)?;
        let mut projector = self.projector();
        let mut context = crate::rules::Context { rules: self.config.rules, projector: &mut projector };
        crate::rules::default_object(&mut context, resource, &mut object)?;
        drop(projector);
        let namespace = resource.facts().namespaced.then(|| meta(&object, "namespace").to_owned());
        let key = key(namespace.as_deref(), meta(&object, "name"));
        Ok(self.store.write(resource, &key, object))
    }

    /// Handles a request at this time, and returns the response.
    pub fn handle(&mut self, now: Timestamp, request: &Request) -> Response {
        let mut warnings = Vec::new();
        let outcome = match self.faults.as_mut().and_then(|faults| faults.before(now, request)) {
            Some(Fault::Intercept(error)) => return Response { outcome: Err(error), warnings },
            Some(fault) => fault.outcome(),
            None => {
                let outcome = self.dispatch(now, request, &mut warnings);
                let fault = self.faults.as_mut().and_then(|faults| faults.after(now, request, &outcome));
                match fault {
                    // The server does not know that its response is lost.
                    Some(Fault::Drop) => return self.lose(now, request, Response { outcome, warnings }),
                    Some(fault) => {
                        self.forget(&outcome);
                        fault.outcome()
                    }
                    None => outcome,
                }
            }
        };
        let response = Response { outcome, warnings };
        self.record(now, request, &response);
        response
    }

    fn record(&mut self, now: Timestamp, request: &Request, response: &Response) {
        if let Some(audit) = &mut self.audit {
            audit.record(now, request, response);
        }
    }

    /// Records a response that its client never gets.
    fn lose(&mut self, now: Timestamp, request: &Request, response: Response) -> Response {
        self.record(now, request, &response);
        self.forget(&response.outcome);
        Response { outcome: Ok(Reply::Dropped), warnings: response.warnings }
    }

    /// Closes the watch of a lost response, which has no reader.
    fn forget(&mut self, outcome: &Result<Reply, ApiError>) {
        if let Ok(Reply::Watch(id)) = outcome {
            self.watches.close(*id);
        }
    }

    fn dispatch(
        &mut self,
        now: Timestamp,
        request: &Request,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, ApiError> {
        let served =
            request.subresource.is_none_or(|it| request.resource.facts().subresources.contains(&it.name()));
        if !served {
            return Err(ApiError::no_such_path());
        }
        match (&request.verb, request.subresource) {
            (Verb::Create(body), Some(Subresource::Binding)) => self.bind(request, body),
            (Verb::Create(body), Some(Subresource::Eviction)) => self.evict(now, request, body),
            (Verb::Get { resource_version }, None | Some(Subresource::Status)) => {
                self.get(request, *resource_version)
            }
            (Verb::Update(body), None | Some(Subresource::Status | Subresource::Finalize)) => {
                self.put(now, request, body, warnings)
            }
            (Verb::Patch { kind, body }, None | Some(Subresource::Status)) => {
                self.patch(now, request, *kind, body, warnings)
            }
            (Verb::List(options), None) => {
                list::list(&self.store, request.resource, request.namespace.as_deref(), options)
                    .map(Reply::List)
            }
            (Verb::Watch(options), None) => self.watch(now, request, options),
            (Verb::Create(body), None) => self.create(now, request, body, warnings),
            (Verb::Delete(options), None) => self.delete(now, request, options),
            (Verb::DeleteCollection(list, options), None) => {
                self.delete_collection(now, request, list, options)
            }
            (_, Some(_)) => Err(ApiError::method_not_allowed()),
        }
    }

    fn get(&self, request: &Request, resource_version: Option<u64>) -> Result<Reply, ApiError> {
        let asked = resource_version.unwrap_or(0);
        if asked > self.store.revision() {
            return Err(ApiError::too_large_version(asked, self.store.revision()));
        }
        let object = self.store.get(request.resource, &request.key());
        let object = object.ok_or_else(|| ApiError::not_found(request.resource, request.name()))?;
        Ok(Reply::Object { code: 200, object: present(request.resource, object) })
    }

    fn watch(
        &mut self,
        now: Timestamp,
        request: &Request,
        options: &WatchOptions,
    ) -> Result<Reply, ApiError> {
        check_watch(options)?;
        let resource = request.resource;
        let fields = match &request.name {
            // A watch of one object is a watch with a field selector.
            Some(name) => format!("metadata.name={name}"),
            None => options.fields.clone(),
        };
        let selector = Selector::parse(resource, &options.labels, &fields).map_err(ApiError::bad_request)?;
        let prefix =
            request.namespace.as_deref().map_or_else(String::new, |namespace| key(Some(namespace), ""));
        let asked = options.resource_version.unwrap_or(0);
        let wants_state = options.initial_events.unwrap_or(asked == 0);
        if wants_state && asked > self.store.revision() {
            return Err(ApiError::too_large_version(asked, self.store.revision()));
        }
        let mut initial = VecDeque::new();
        let mut cursor = if asked == 0 { self.store.revision() } else { asked };
        if wants_state {
            cursor = self.store.revision();
            let objects = self.store.scan(resource, &prefix).filter(|(_, object)| selector.matches(object));
            initial.extend(
                objects.map(|(_, object)| WatchEvent { kind: "ADDED", object: present(resource, object) }),
            );
            if options.initial_events == Some(true) && options.bookmarks {
                initial.push_back(bookmark(resource, cursor, true));
            }
        } else if let Err(compacted) = self.store.changes_after(resource, cursor).map(drop) {
            let error = too_old(cursor, compacted.oldest);
            initial.push_back(WatchEvent { kind: "ERROR", object: Arc::new(error.status()) });
        }
        let id = self.watches.name();
        let mut info = WatchInfo {
            id,
            resource,
            namespace: request.namespace.clone(),
            user: request.user.clone(),
            user_agent: request.user_agent.clone(),
            cursor,
            gate: Gate::Open,
            coalesces: false,
        };
        if let Some(faults) = &mut self.faults {
            info.gate = faults.watch_gate(&info);
        }
        let (bookmarks, timeout_seconds) = (options.bookmarks, options.timeout_seconds);
        let start = Start { info, prefix, selector, initial, bookmarks, timeout_seconds };
        self.watches.open(now, start, self.config.unread_bytes);
        Ok(Reply::Watch(id))
    }

    /// Takes the next events of a watch, at most `most`.
    pub fn take_events(&mut self, now: Timestamp, id: WatchId, most: usize) -> Taken {
        self.watches.take(&self.store, now, id, Most { events: most, bytes: usize::MAX })
    }

    /// The same, up to a weight.
    pub fn take_some_events(&mut self, now: Timestamp, id: WatchId, most: Most) -> Taken {
        self.watches.take(&self.store, now, id, most)
    }

    /// Opens a list whose items are taken piece by piece.
    #[cfg(feature = "http")]
    pub(crate) fn open_list(&mut self, now: Timestamp, items: VecDeque<Weighed>) -> WatchId {
        self.watches.open_list(now, items, self.config.unread_bytes)
    }

    /// The open watches, which a caller can hold back, release, and close.
    pub fn watches(&mut self) -> &mut Watches {
        &mut self.watches
    }

    /// Refuses a version that makes the stored objects larger, and larger than the bound.
    pub(crate) fn check_space(&self, resource: Resource, key: &str, new: &Value) -> Result<(), ApiError> {
        let (before, after) = (self.store.bytes(), self.store.bytes_with(resource, key, new));
        if after > before && after > self.config.stored_bytes { Err(ApiError::no_space()) } else { Ok(()) }
    }

    /// Refuses a creation in a namespace that does not exist or is being deleted.
    pub(crate) fn check_namespace(&self, request: &Request, creating: &str) -> Result<(), ApiError> {
        let Some(namespace) = request.namespace.as_deref().filter(|_| request.resource.facts().namespaced)
        else {
            return Ok(());
        };
        match self.store.get(Resource::Namespaces, namespace) {
            None if self.config.implicit_namespaces => Ok(()),
            None => Err(ApiError::not_found(Resource::Namespaces, namespace)),
            Some(found) if object::text(found, &["status", "phase"]) == "Terminating" => {
                let why = format!(
                    "unable to create new content in namespace {namespace} because it is being terminated"
                );
                let mut error = ApiError::forbidden(request.resource, creating, &why);
                if let Some(details) = &mut error.details {
                    let message = format!("namespace {namespace} is being terminated");
                    details["causes"] = json!([{"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"}]);
                }
                Err(error)
            }
            Some(_) => Ok(()),
        }
    }
}

/// Refuses invalid combinations of options (`ValidateListOptions`, for a watch).
fn check_watch(options: &WatchOptions) -> Result<(), ApiError> {
    use crate::error::FieldError;
    let refused = |field: &str, why: &str| {
        Err(ApiError::invalid("ListOptions", "meta.k8s.io", "", &[FieldError::forbidden(field, why)]))
    };
    match (options.initial_events, options.version_match) {
        (Some(_), Some(VersionMatch::NotOlderThan)) | (None, None) => Ok(()),
        (Some(_), Some(VersionMatch::Exact) | None) => refused(
            "resourceVersionMatch",
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (None, Some(_)) => refused(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
    }
}

impl Fault {
    fn outcome(self) -> Result<Reply, ApiError> {
        match self {
            Fault::Answer(error) | Fault::Intercept(error) => Err(error),
            Fault::Drop => Ok(Reply::Dropped),
        }
    }
}

impl Api for Server {
    fn handle(&mut self, now: Timestamp, request: &Request) -> Response {
        Server::handle(self, now, request)
    }
}
