//! `jobcheck cluster`: local clusters to aim kubectl and controllers at.

mod args;
mod json;
mod progress;
mod text;

use std::ffi::OsString;
use std::future::Future;

use anstream::eprintln;
use jobcheck_cluster::down::{down, sweep};
use jobcheck_cluster::status::{self, Health, Status};
use jobcheck_cluster::{
    Cluster, Controllers, Error, Home, Log, Name, Plane, Spec, Up, embedded, log_file, program, up,
};
use jobcheck_controller::runtime::signals;
use jobcheck_judge::report::Exit;

pub use self::args::ClusterArgs;
use self::args::{ClusterCommand, DownArgs, EnvArgs, Format, ServeArgs, StatusArgs, UpArgs, With};
pub use self::progress::Progress;
use crate::args::Global;
use crate::output;

/// Does it; returns what it comes to.
pub fn run(args: &ClusterArgs, global: &Global) -> Exit {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start threads: {error}");
            return Exit::Environment;
        }
    };
    let done = runtime.block_on(async {
        match &args.command {
            ClusterCommand::Up(args) => start(args, global).await,
            ClusterCommand::Down(args) => stop(args),
            ClusterCommand::Env(args) => env(args).await,
            ClusterCommand::Status(args) => show(args).await,
            ClusterCommand::Serve(args) => serve(args).await,
        }
    });
    done.unwrap_or_else(|error| {
        eprintln!("error: {}", error.to_string().lines().map(output::clean).collect::<Vec<_>>().join("\n"));
        match error {
            Error::Differs { .. } => Exit::Unreadable,
            Error::Internal(_) => Exit::Internal,
            _ => Exit::Environment,
        }
    })
}

async fn start(args: &UpArgs, global: &Global) -> Result<Exit, Error> {
    let home = Home::find()?;
    clear_what_is_left(&home)?;
    let stop = signals::listen()
        .map_err(|source| Error::Start { program: "listening to signals".to_owned(), source })?;
    let starting = async {
        let progress = Progress::new(!global.quiet);
        let spec = spec(&home, args, &progress).await?;
        progress.show(&format!("starting cluster {}", spec.name));
        up(&home, &spec).await
    };
    let started = tokio::select! {
        started = starting => started?,
        () = stop.cancelled() => {
            eprintln!("error: interrupted: cluster {} is not started", args.name);
            return Ok(Exit::Environment);
        }
    };
    if let Up::Started(cluster) = &started
        && cluster.has_replaced()
    {
        eprintln!("note: a process of the former cluster {} was gone: the rest of it is cleared", args.name);
    }
    match (started, args.foreground) {
        (Up::Started(cluster), false) => {
            cluster.detach()?;
            Ok(announce(&home, &args.name, false).await)
        }
        (Up::Started(cluster), true) => {
            let printed = announce(&home, &args.name, true).await;
            if printed != Exit::Conforms {
                return Ok(printed);
            }
            stay(cluster, stop.cancelled()).await
        }
        (Up::Running(_), false) => {
            eprintln!("note: cluster {} runs already: it is left as it is", args.name);
            Ok(announce(&home, &args.name, false).await)
        }
        (Up::Running(state), true) => {
            let found = format!("{}, not of this process", state.kind);
            Err(Error::Differs { name: args.name.to_string(), found })
        }
    }
}

/// Ends what dead processes left behind, whatever its name.
fn clear_what_is_left(home: &Home) -> Result<(), Error> {
    for name in sweep(home)? {
        eprintln!(
            "note: cluster {name} was left by a process that is gone, or did not run any more: it is cleared"
        );
    }
    Ok(())
}

async fn spec(home: &Home, args: &UpArgs, progress: &Progress) -> Result<Spec, Error> {
    let plane = if args.embedded {
        Plane::Embedded { command: server_command()? }
    } else {
        let program = program::built(&home.builds(), args.kubernetes, &mut |what| progress.say(what)).await?;
        let controllers = match args.with {
            None => Controllers::None,
            Some(With::Collectors) => Controllers::Collectors,
            Some(With::BuiltIn) => Controllers::BuiltIn,
        };
        Plane::Real { program, controllers }
    };
    let (name, version) = (args.name.clone(), args.kubernetes);
    Ok(Spec { name, plane, version, port: args.port, timeout: args.timeout })
}

/// This program, as the server of a cluster.
fn server_command() -> Result<Vec<OsString>, Error> {
    let this =
        std::env::current_exe().map_err(|source| Error::Start { program: "jobcheck".to_owned(), source })?;
    Ok(vec![this.into(), "cluster".into(), "serve".into()])
}

/// Tells where the cluster is, and how it is used.
async fn announce(home: &Home, name: &Name, is_foreground: bool) -> Exit {
    match status::one(home, name).await {
        Some(status) => output::print(&text::announcement(&status, is_foreground), Exit::Conforms),
        None => {
            eprintln!("error: cluster {name} was stopped by another process");
            Exit::Environment
        }
    }
}

/// Holds the cluster until it is to stop, or a component ends.
async fn stay(mut cluster: Cluster, stop: impl Future<Output = ()>) -> Result<Exit, Error> {
    let failed = tokio::select! {
        () = stop => None,
        component = cluster.failure() => Some(component),
    };
    if let Some(component) = &failed {
        let log = Log::end_of(&log_file(cluster.folder(), component));
        eprintln!("error: {component} ended{log}");
    }
    cluster.stop()?;
    Ok(if failed.is_some() { Exit::Environment } else { Exit::Conforms })
}

fn stop(args: &DownArgs) -> Result<Exit, Error> {
    let home = Home::find()?;
    let names = if args.all { home.names()? } else { vec![args.name.clone()] };
    let mut told = String::new();
    for name in &names {
        if down(&home, name)? {
            told.push_str(&format!("cluster {name} is stopped\n"));
        }
    }
    clear_what_is_left(&home)?;
    if told.is_empty() {
        let which = if args.all { String::new() } else { format!(" {}", args.name) };
        eprintln!("note: there is no cluster{which}");
    }
    Ok(output::print(&told, Exit::Conforms))
}

async fn env(args: &EnvArgs) -> Result<Exit, Error> {
    let home = Home::find()?;
    match status::one(&home, &args.name).await {
        Some(status) if status.health == Health::Ready => {
            Ok(output::print(&text::environment(&status), Exit::Conforms))
        }
        Some(status) => {
            eprintln!("error: cluster {} is {}", args.name, text::told(&status.health));
            Ok(Exit::Environment)
        }
        None => Ok(missing(&args.name)),
    }
}

fn missing(name: &Name) -> Exit {
    eprintln!("error: there is no cluster {name}: start it with jobcheck cluster up --name {name}");
    Exit::Environment
}

async fn show(args: &StatusArgs) -> Result<Exit, Error> {
    let home = Home::find()?;
    let found: Vec<Status> = match &args.name {
        None => status::all(&home).await?,
        Some(name) => match status::one(&home, name).await {
            Some(status) => vec![status],
            None => return Ok(missing(name)),
        },
    };
    let all_ready = found.iter().all(|it| it.health == Health::Ready);
    let exit = if all_ready { Exit::Conforms } else { Exit::Environment };
    let printed = match args.output {
        Format::Text => text::table(&found),
        Format::Json => json::report(&found, exit).map_err(|error| Error::Internal(error.to_string()))?,
    };
    Ok(output::print(&printed, exit))
}

async fn serve(args: &ServeArgs) -> Result<Exit, Error> {
    let stop = signals::listen()
        .map_err(|source| Error::Start { program: "listening to signals".to_owned(), source })?;
    embedded::serve(&args.folder, args.port, args.kubernetes, stop.cancelled()).await?;
    Ok(Exit::Conforms)
}
