//! The disturbances of the processes: cut watches, expired versions, other tokens, other certificates, other leaders, and
//! jumps of the clock.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use jobcheck_apiserver::http::{Clock, SharedServer};
use jobcheck_apiserver::request::{PatchKind, Request, Verb};
use jobcheck_apiserver::resource::Resource;
use jobcheck_apiserver::watch::WatchId;
use jobcheck_serve::tls::{Authority, Tls};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// The clock of this machine, shifted by some seconds.
#[derive(Clone, Default)]
pub struct ShiftedClock(Arc<AtomicI64>);

impl Clock for ShiftedClock {
    fn now(&self) -> Timestamp {
        Timestamp::now() + SignedDuration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

/// The tokens of the client, one after the other, in a file.
pub struct Tokens {
    pub file: PathBuf,
    current: usize,
}

/// The Jobs between two cuts of all watches. A process waits up to a second before it connects again, so that more cuts
/// would be most of the run.
const MOST_JOBS_PER_CUT: u64 = 380;
/// A short run has this many cuts, so that it has each disturbance.
const LEAST_CUTS: u64 = 8;
/// The history is compacted with every fifth cut. A compaction without cut watches would expire none: they have seen
/// everything.
const CUTS_PER_COMPACTION: u64 = 5;
/// The seconds of a jump of the clock.
const JUMP: i64 = 3;
/// The number of tokens.
const TOKENS: usize = 100_000;

impl Tokens {
    pub fn begin(folder: &Path) -> anyhow::Result<Tokens> {
        let tokens = Tokens { file: folder.join("token"), current: 0 };
        fs::write(&tokens.file, "token-0")?;
        Ok(tokens)
    }

    /// All tokens with their user.
    pub fn all(&self) -> BTreeMap<String, String> {
        let user = "system:serviceaccount:kube-system:job-controller";
        (0..TOKENS).map(|number| (format!("token-{number}"), user.to_owned())).collect()
    }

    fn renew(&mut self) -> anyhow::Result<()> {
        self.current = (self.current + 1) % TOKENS;
        fs::write(&self.file, format!("token-{}", self.current))?;
        Ok(())
    }
}

/// The certificate of the API server, which is renewed under connections that are open.
#[derive(Clone)]
pub struct Certificates {
    authority: Arc<Authority>,
    tls: Tls,
    /// True if a client has connected with the current certificate.
    is_seen: Arc<AtomicBool>,
    /// The number of certificates with which a client has connected.
    seen: Arc<AtomicU64>,
}

impl Certificates {
    pub fn begin() -> anyhow::Result<Certificates> {
        let authority = Authority::new()?;
        let tls = authority.certificate()?;
        Ok(Certificates {
            authority: Arc::new(authority),
            tls,
            is_seen: Arc::default(),
            seen: Arc::default(),
        })
    }

    /// The certificate of the authority, as PEM.
    pub fn authority(&self) -> &str {
        self.authority.pem()
    }

    pub async fn accept(
        self,
        stream: TcpStream,
    ) -> Option<impl AsyncRead + AsyncWrite + Unpin + Send + 'static> {
        let accepted = self.tls.accept(stream).await;
        if accepted.is_some() && !self.is_seen.swap(true, Ordering::Relaxed) {
            self.seen.fetch_add(1, Ordering::Relaxed);
        }
        accepted
    }

    fn renew(&self) -> anyhow::Result<()> {
        self.authority.renew(&self.tls)?;
        self.is_seen.store(false, Ordering::Relaxed);
        Ok(())
    }
}

/// The disturbances, each with its own period.
pub struct Disturbances {
    server: SharedServer,
    clock: ShiftedClock,
    tokens: Tokens,
    certificates: Certificates,
    begun: Instant,
    /// The number of watches that were cut, and of stolen leases.
    pub cut: u64,
    pub stolen: u64,
    /// The number of times at which all watches were cut.
    cuts: u64,
    jobs_per_cut: u64,
    jumps: i64,
}

impl Disturbances {
    pub fn new(
        server: &SharedServer,
        clock: ShiftedClock,
        tokens: Tokens,
        certificates: Certificates,
        jobs: u64,
    ) -> Disturbances {
        let server = server.clone();
        Disturbances {
            server,
            clock,
            tokens,
            certificates,
            begun: Instant::now(),
            cut: 0,
            cuts: 0,
            jobs_per_cut: (jobs / LEAST_CUTS).clamp(1, MOST_JOBS_PER_CUT),
            stolen: 0,
            jumps: 0,
        }
    }

    /// The number of certificates of the API server with which a client has connected.
    pub fn certificates(&self) -> u64 {
        self.certificates.seen.load(Ordering::Relaxed)
    }

    /// The number of compactions.
    pub fn compactions(&self) -> u64 {
        self.cuts / CUTS_PER_COMPACTION
    }

    /// The number of jumps of the clock, each with another token and another certificate.
    pub fn jumps(&self) -> u64 {
        self.jumps.unsigned_abs()
    }

    /// Does what is due. `gone`: the number of Jobs so far.
    pub fn step(&mut self, gone: u64) -> anyhow::Result<()> {
        let seconds = self.begun.elapsed();
        let is_due = |times: u64, every: Duration| {
            seconds > every.saturating_mul(u32::try_from(times + 1).unwrap_or(u32::MAX))
        };
        if gone / self.jobs_per_cut > self.cuts {
            self.cuts += 1;
            let is_compacted = self.cuts.is_multiple_of(CUTS_PER_COMPACTION);
            self.cut += self.server.with(|server, _| {
                let ids: Vec<WatchId> = server.watches().infos().map(|info| info.id).collect();
                ids.iter().for_each(|id| server.watches().close(*id));
                if is_compacted {
                    let revision = server.revision();
                    server.compact(revision);
                }
                ids.len() as u64
            });
        }
        if is_due(self.stolen, Duration::from_secs(60)) {
            self.stolen += 1;
            self.steal();
        }
        if is_due(self.jumps.unsigned_abs(), Duration::from_secs(37)) {
            self.jumps += 1;
            self.tokens.renew()?;
            self.certificates.renew()?;
            // Forward, then back. The judge grants a difference of 5 s between the clocks of a cluster.
            self.clock.0.store(JUMP * (self.jumps % 2), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Another process takes the Lease, and does not renew it.
    fn steal(&self) {
        self.server.with(|server, now| {
            let leases = server.store().scan(Resource::Leases, "");
            let names: Vec<String> =
                leases.filter_map(|(_, it)| it["metadata"]["name"].as_str().map(str::to_owned)).collect();
            for name in names {
                let body = json!({"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 1}});
                let verb = Verb::Patch { kind: PatchKind::Merge, body };
                server.handle(now, &Request::new(Resource::Leases, Some("default"), Some(&name), verb));
            }
        });
    }
}
