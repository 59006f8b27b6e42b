//! `jobcheck record`: records the Jobs and pods of a cluster as a native trace.

mod args;
mod progress;

use std::hash::RandomState;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jobcheck_judge::replay::rules;
use jobcheck_judge::report::Exit;
use jobcheck_record::{
    AccessError, AuditLog, Error, Load, Notice, Tally, Target, Token, Trace, WatchConfig, Webhook, audit_log,
    version, watches, webhook,
};
use jobcheck_serve::tls::Tls;
use jobcheck_traces::{Header, Redactor};
use tokio_util::sync::CancellationToken;

use crate::signals;

pub use self::args::RecordArgs;
use self::progress::{Progress, summary};
use crate::global::Global;
use crate::save::{IS_THE_LOG, is_same};
use crate::text::quoted;
use crate::{memory, output, runtime};

/// Records until the recording ends. Returns the exit code.
pub fn run(args: &RecordArgs, global: &Global) -> Exit {
    if args.audit.as_deref().is_some_and(|log| is_same(&args.output, log)) {
        output::error(IS_THE_LOG);
        return Exit::Unreadable;
    }
    let runtime = match runtime::start() {
        Ok(runtime) => runtime,
        Err(exit) => return exit,
    };
    match runtime.block_on(until_stopped(args, global)) {
        Ok(Some(tally)) => announce(args, &tally),
        Ok(None) => {
            output::error("interrupted: nothing was recorded");
            Exit::Environment
        }
        Err(error) => failed(&error),
    }
}

fn failed(error: &Error) -> Exit {
    let exit = match error {
        Error::Exists(_)
        | Error::AuditLog { .. }
        | Error::NoAuditLog(_)
        | Error::Token { .. }
        | Error::Certificate(_) => Exit::Unreadable,
        Error::Internal(_) | Error::Sink(_) => Exit::Internal,
        Error::Access(_) | Error::Permission { .. } | Error::Output { .. } | Error::Listen { .. } => {
            Exit::Environment
        }
    };
    output::error_lines(error);
    exit
}

/// Prints the extent of the recording, and the command that judges it.
fn announce(args: &RecordArgs, tally: &Tally) -> Exit {
    let exit = if tally.gaps == 0 { Exit::Conforms } else { Exit::Inconclusive };
    let file = quoted(&args.output.to_string_lossy());
    let line = format!("recorded {}; judge it: jobcheck replay {file}\n", summary(tally));
    if args.target() == Target::Stdout {
        output::print_to_stderr(&format!("recorded {}\n", summary(tally)));
        return exit;
    }
    output::print(&line, exit)
}

/// Records. Returns the extent, or `None` if the signal came before the recording had begun.
async fn until_stopped(args: &RecordArgs, global: &Global) -> Result<Option<Tally>, Error> {
    let internal = |error: std::io::Error| Error::Internal(format!("cannot listen to signals: {error}"));
    let stop = signals::listen().map_err(internal)?;
    let progress = Progress::new(!global.quiet);
    let source = tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(None),
        source = Source::open(args, &progress) => source?,
    };
    // Scripts take the existence of the file as a sign that the recording has begun.
    let mut trace = Trace::begin(&args.target(), source.header())?;
    if args.redact {
        trace = trace.redacted(Redactor::new(RandomState::new()));
    }
    if let Some(time) = args.time {
        let stop = stop.clone();
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            stop.cancel();
        });
    }
    let full = watch_memory(args, &stop);
    source.record(args, &mut trace, &stop, &mut |news| progress.hear(&news)).await?;
    if let Some(reason) = full.get() {
        trace.cut(reason.clone())?;
    }
    trace.end().map(Some)
}

/// The time between two looks at the memory.
const LOOK: Duration = Duration::from_secs(1);

/// Ends the recording once the process uses more memory than it may: a list of an API server has no greatest length. The
/// reason is set then.
fn watch_memory(args: &RecordArgs, stop: &CancellationToken) -> Arc<OnceLock<String>> {
    let full = Arc::new(OnceLock::new());
    let Some(most) = memory::limit(args.max_memory) else { return full };
    let (reason, stop) = (Arc::clone(&full), stop.clone());
    tokio::spawn(async move {
        while !stop.is_cancelled() {
            if memory::used().is_some_and(|used| used > most) {
                let _ = reason.set(format!("the limit of {} MB of memory was reached", most / 1_000_000));
                stop.cancel();
            }
            tokio::time::sleep(LOOK).await;
        }
    });
    full
}

/// The source of a recording.
enum Source {
    Watches { client: kube::Client, what: WatchConfig, header: Header },
    Audit(AuditLog, Header),
    Webhook(Webhook, Header),
}

impl Source {
    async fn open(args: &RecordArgs, progress: &Progress) -> Result<Source, Error> {
        if let Some(file) = &args.audit {
            return Ok(Source::Audit(AuditLog::open(file)?, header(None)));
        }
        if let Some(address) = &args.audit_webhook {
            let token = args.audit_token_file.as_deref().map(Token::read).transpose()?;
            let path = if token.is_some() { "TOKEN" } else { "" };
            let tls = args.audit_tls_cert_file.as_ref().zip(args.audit_tls_private_key_file.as_ref());
            let tls = tls.map(|(certificates, key)| Tls::read(certificates, key)).transpose()?;
            let load = Arc::new(Load::of(memory::limit(args.max_memory)));
            let webhook = Webhook::listen(address, tls, token).await?.limited(load);
            let url = format!("{}://{}/{path}", webhook.scheme(), webhook.address());
            progress.note(&format!("the webhook is {url}"));
            return Ok(Source::Webhook(webhook, header(None)));
        }
        let client = args.access().client().await.map_err(AccessError::NoCluster)?;
        let waiting =
            |why: &str| progress.note(&format!("the API server is overloaded, and is asked again: {why}"));
        let version = version(&client, waiting).await.map_err(AccessError::NoCluster)?;
        let namespaces = match (args.all_namespaces, &args.namespaces[..]) {
            (true, _) => Vec::new(),
            (false, []) => vec![client.default_namespace().to_owned()],
            (false, given) => given.to_vec(),
        };
        let what = WatchConfig { namespaces, labels: args.selector.clone() };
        what.check(&client).await?;
        for name in what.missing(&client).await {
            progress.note(&format!("there is no namespace {name} yet; it is recorded once it exists"));
        }
        let header = header(Some(version).filter(|it| rules(it).is_ok()));
        Ok(Source::Watches { client, what, header })
    }

    fn header(&self) -> &Header {
        match self {
            Source::Watches { header, .. } | Source::Audit(_, header) | Source::Webhook(_, header) => header,
        }
    }

    async fn record(
        self,
        args: &RecordArgs,
        trace: &mut Trace,
        stop: &CancellationToken,
        hear: &mut dyn FnMut(Notice<'_>),
    ) -> Result<(), Error> {
        match self {
            Source::Watches { client, what, .. } => watches(&client, &what, trace, stop, hear).await,
            Source::Audit(log, _) => audit_log(log, &args.namespaces, trace, stop, hear).await,
            Source::Webhook(address, _) => webhook(address, &args.namespaces, trace, stop, hear).await,
        }
    }
}

fn header(kubernetes: Option<String>) -> Header {
    let producer = Some(format!("jobcheck {}, record", env!("CARGO_PKG_VERSION")));
    Header { kubernetes, producer, ..Header::new() }
}
