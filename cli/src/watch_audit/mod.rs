//! `jobcheck watch-audit`: judges the Jobs of a cluster continuously.
//!
//! | module | content |
//! | --- | --- |
//! | `args` | the arguments |
//! | `watching` | the service with its output, which takes the records of the source |
//! | `events` | Events on Jobs |

mod args;
mod events;
mod watching;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jobcheck_controller_runtime::http::{Pages, Server, parse_bind_address};
use jobcheck_judge::report::Exit;
use jobcheck_record::{
    AccessError, AuditLog, Error, Load, Notice, Sink as _, Token, Webhook, audit_log, webhook,
    whole_audit_log,
};
use jobcheck_serve::tls::Tls;
use jobcheck_traces::ReadError;
use jobcheck_watch::{Output, Service};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

pub use self::args::WatchAuditArgs;
use self::events::Creation;
use self::watching::{Shown, Watching, unwritten};
use crate::global::Global;
use crate::save::{IS_THE_LOG, is_same};
use crate::{memory, output, runtime};

/// The time between two looks at the memory.
const LOOK: Duration = Duration::from_millis(200);
/// The longest time for which the end waits for Events after a signal.
const EVENTS: Duration = Duration::from_secs(5);
/// The same at the end of a log that is read once.
const EVENTS_OF_LOG: Duration = Duration::from_secs(10);

/// Watches until a signal, or the end of the log. Returns the exit code.
pub fn run(args: &WatchAuditArgs, global: &Global) -> Exit {
    let runtime = match runtime::start() {
        Ok(runtime) => runtime,
        Err(exit) => return exit,
    };
    match runtime.block_on(watch(args, global)) {
        Ok(exit) => exit,
        Err(error) => {
            let exit = match error {
                Error::AuditLog { .. }
                | Error::NoAuditLog(_)
                | Error::Token { .. }
                | Error::Certificate(_) => Exit::Unreadable,
                Error::Internal(_) => Exit::Internal,
                _ => Exit::Environment,
            };
            output::error_lines(&error);
            exit
        }
    }
}

async fn watch(args: &WatchAuditArgs, global: &Global) -> Result<Exit, Error> {
    let shown = Arc::new(Shown::default());
    let stop = stop_signals(&shown)?;
    let settings = args.settings();
    end_with(&stop, Arc::clone(&settings.limits.ends));
    let service = Service::open(settings).map_err(|error| Error::Sink(error.to_string()))?;
    if let Some(address) = parse_bind_address(&args.listen).map_err(|error| Error::Sink(error.to_string()))? {
        let listen = |source| Error::Listen { address: address.clone(), source };
        let server = Server::bind(&address, Pages::All).await.map_err(listen)?;
        note(global, &format!("the metrics are http://{}/metrics", server.address()));
        tokio::spawn(server.serve(shown.clone(), stop.clone()));
    }
    let (queue, creation) = match args.events {
        true => {
            let client = args.access().client().await.map_err(AccessError::NoCluster)?;
            let (queue, creation) = Creation::start(client, shown.clone());
            (Some(queue), Some(creation))
        }
        false => (None, None),
    };
    if args.output.as_deref().zip(args.audit.as_deref()).is_some_and(|(out, log)| is_same(out, log)) {
        return Err(Error::Sink(IS_THE_LOG.to_owned()));
    }
    let out = Output::open(args.output.clone()).map_err(|error| unwritten(&error))?;
    reopen_on_hangup(&out)?;
    let watching = Watching::new(service, out, queue, shown.clone(), args.allow_known);
    let ended = read(args, global, watching, &shown, &stop).await;
    if let Some(creation) = creation {
        let is_asked_to_end = !args.once || stop.is_cancelled();
        creation.end(if is_asked_to_end { EVENTS } else { EVENTS_OF_LOG }).await;
    }
    ended
}

/// Reads the source up to its end, or to a signal.
async fn read(
    args: &WatchAuditArgs,
    global: &Global,
    mut watching: Watching,
    shown: &Shown,
    stop: &CancellationToken,
) -> Result<Exit, Error> {
    let mut hear = |notice: Notice<'_>| {
        if let Notice::Note(text) = notice {
            note(global, &text);
        }
    };
    if let Some(address) = &args.audit_webhook {
        let token = args.audit_token_file.as_deref().map(Token::read).transpose()?;
        let tls = args.audit_tls_cert_file.as_ref().zip(args.audit_tls_private_key_file.as_ref());
        let tls = tls.map(|(certificates, key)| Tls::read(certificates, key)).transpose()?;
        let load = limited(args, shown);
        let served = Webhook::listen(address, tls, token).await?.limited(load);
        note(global, &format!("the webhook is {}://{}", served.scheme(), served.address()));
        watching.gap("the webhook was not served before".to_owned())?;
        watching.is_ready();
        webhook(served, &args.namespaces, &mut watching, stop, &mut hear).await?;
    } else if let Some(path) = args.audit.as_ref().filter(|_| args.once) {
        watching.is_ready();
        let read = whole_audit_log(path, &args.namespaces, &mut watching, stop).await;
        return conclude(watching, read);
    } else if let Some(log) = open_log(args, &mut watching)? {
        watching.is_ready();
        audit_log(log, &args.namespaces, &mut watching, stop, &mut hear).await?;
    }
    watching.end(false)
}

/// The end of a complete log. If it cannot be read to its end, the Jobs in the part that was read are judged in part.
fn conclude(mut watching: Watching, read: Result<Vec<ReadError>, Error>) -> Result<Exit, Error> {
    let exit = match read {
        Ok(unread) => {
            unread.iter().for_each(output::error);
            if unread.is_empty() { Exit::Conforms } else { Exit::Unreadable }
        }
        Err(error @ Error::NoAuditLog(_)) => {
            output::error_lines(&error);
            watching.gap("the audit log cannot be read to its end".to_owned())?;
            Exit::Unreadable
        }
        Err(error) => return Err(error),
    };
    Ok(Exit::of_all([exit, watching.end(true)?]))
}

/// The limits of the webhook. As long as the process uses more memory than it may, events are refused.
fn limited(args: &WatchAuditArgs, shown: &Shown) -> Arc<Load> {
    let most = memory::limit(args.max_memory);
    let load = Arc::new(Load::of(most));
    shown.show_load(Arc::clone(&load));
    let watched = Arc::clone(&load);
    tokio::spawn(async move {
        loop {
            watched.set_full(memory::is_above(most));
            tokio::time::sleep(LOOK).await;
        }
    });
    load
}

/// The audit log, at the place where it was left, or at its beginning or end.
fn open_log(args: &WatchAuditArgs, watching: &mut Watching) -> Result<Option<AuditLog>, Error> {
    let Some(path) = &args.audit else { return Ok(None) };
    if let Some(position) = watching.position() {
        let (log, is_whole) = AuditLog::resume(path, &position)?;
        if !is_whole {
            watching.gap("the audit log was rotated more than once while nobody read it".to_owned())?;
        }
        return Ok(Some(log));
    }
    if args.from_start {
        return AuditLog::from_the_beginning(path).map(Some);
    }
    AuditLog::open(path).map(Some)
}

/// Ends a judgement once the process is to end.
fn end_with(stop: &CancellationToken, ends: Arc<AtomicBool>) {
    let stop = stop.clone();
    tokio::spawn(async move {
        stop.cancelled().await;
        ends.store(true, Ordering::Relaxed);
    });
}

/// A token that SIGTERM and SIGINT cancel. SIGHUP opens the output again.
fn stop_signals(shown: &Arc<Shown>) -> Result<CancellationToken, Error> {
    let failed = |error: std::io::Error| Error::Internal(format!("cannot listen to signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    let shown = Arc::clone(shown);
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        cancelled.cancel();
        // The second signal ends the process at once. The folder has everything that was taken.
        let number = tokio::select! {
            _ = terminate.recv() => 15,
            _ = interrupt.recv() => 2,
        };
        shown.events.give_up();
        std::process::exit(128 + number);
    });
    Ok(stop)
}

fn reopen_on_hangup(out: &Output) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::Internal(format!("cannot listen to signals: {error}"));
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
    let reopen = out.reopener();
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            reopen();
        }
    });
    Ok(())
}

fn note(global: &Global, text: &str) {
    if !global.quiet {
        output::note(text);
    }
}
