//! `jobcheck cluster`: starts and stops local clusters for kubectl and controllers.

mod args;
mod json;
mod progress;
mod text;

use std::ffi::OsString;
use std::future::Future;

use jobcheck_cluster::down::{down, sweep};
use jobcheck_cluster::status::{self, Health, Status};
use jobcheck_cluster::{
    Cluster, Controllers, Error, Home, Log, Name, Plane, Programs, Spec, Up, Work, embedded, log_file,
    program, set_work, up,
};
use jobcheck_judge::report::Exit;

use crate::signals;

pub use self::args::ClusterArgs;
use self::args::{ClusterCommand, DownArgs, EnvArgs, ServeArgs, StatusArgs, UpArgs, With, WorkArgs};
pub use self::progress::Progress;
use crate::global::Global;
use crate::output;
use crate::runtime;

/// Runs a command for clusters. Returns the exit code.
pub fn run(args: &ClusterArgs, global: &Global) -> Exit {
    let runtime = match runtime::start() {
        Ok(runtime) => runtime,
        Err(exit) => return exit,
    };
    let done = runtime.block_on(async {
        match &args.command {
            ClusterCommand::Up(args) => start(args, global).await,
            ClusterCommand::Down(args) => stop(args),
            ClusterCommand::Env(args) => env(args).await,
            ClusterCommand::Pause(args) => work(args, Work::Pause),
            ClusterCommand::Resume(args) => work(args, Work::Resume),
            ClusterCommand::Status(args) => show(args).await,
            ClusterCommand::Serve(args) => serve(args).await,
        }
    });
    done.unwrap_or_else(|error| {
        output::error_lines(&error);
        match error {
            Error::Differs { .. } | Error::NoComponent { .. } => Exit::Unreadable,
            Error::Internal(_) => Exit::Internal,
            _ => Exit::Environment,
        }
    })
}

async fn start(args: &UpArgs, global: &Global) -> Result<Exit, Error> {
    let home = Home::find()?;
    remove_orphans(&home)?;
    let stop = signals::listen()
        .map_err(|source| Error::Start { program: "the signal handler".to_owned(), source })?;
    let starting = async {
        let progress = Progress::new(!global.quiet);
        let spec = spec(&home, args, &progress).await?;
        progress.show(&format!("starting cluster {}", spec.name));
        up(&home, &spec).await
    };
    let started = tokio::select! {
        started = starting => started?,
        () = stop.cancelled() => {
            output::error(format!("interrupted: cluster {} is not started", args.name));
            return Ok(Exit::Environment);
        }
    };
    if let Up::Started(cluster) = &started
        && cluster.has_replaced()
    {
        output::note(format!("the previous cluster {} had lost a process, and was removed", args.name));
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
            output::note(format!("cluster {} already runs and is not changed", args.name));
            Ok(announce(&home, &args.name, false).await)
        }
        (Up::Running(state), true) => {
            let found = format!("{} of another process", state.kind);
            Err(Error::Differs { name: args.name.to_string(), found })
        }
    }
}

/// Removes the clusters that have no process, or whose owner is gone.
fn remove_orphans(home: &Home) -> Result<(), Error> {
    for name in sweep(home)? {
        output::note(format!(
            "cluster {name} was removed: it no longer ran, or the process that started it has ended"
        ));
    }
    Ok(())
}

async fn spec(home: &Home, args: &UpArgs, progress: &Progress) -> Result<Spec, Error> {
    let plane = if args.embedded {
        Plane::Embedded { command: server_command()?, with_token: args.token }
    } else {
        let built =
            program::built(&home.builds(), args.kubernetes, &mut |message| progress.note(message)).await?;
        let controllers = match args.with {
            None => Controllers::None,
            Some(With::Collectors) => Controllers::Collectors,
            Some(With::BuiltIn) => Controllers::BuiltIn,
        };
        let (api_server, controller_manager) =
            (args.kube_apiserver.clone(), args.kube_controller_manager.clone());
        let programs = Programs { built, api_server, controller_manager };
        Plane::Real { programs, controllers }
    };
    let (name, version) = (args.name.clone(), args.kubernetes);
    Ok(Spec { name, plane, version, port: args.port, timeout: args.timeout })
}

/// The command that runs this program as the server of a cluster.
fn server_command() -> Result<Vec<OsString>, Error> {
    let this =
        std::env::current_exe().map_err(|source| Error::Start { program: "jobcheck".to_owned(), source })?;
    Ok(vec![this.into(), "cluster".into(), "serve".into()])
}

/// Prints the addresses of the cluster, and the commands to use it.
async fn announce(home: &Home, name: &Name, is_foreground: bool) -> Exit {
    match status::one(home, name).await {
        Some(status) => output::print(&text::announcement(&status, is_foreground), Exit::Conforms),
        None => {
            output::error(format!("cluster {name} was stopped by another process"));
            Exit::Environment
        }
    }
}

/// Keeps the cluster until it must stop, or a component ends.
async fn stay(mut cluster: Cluster, stop: impl Future<Output = ()>) -> Result<Exit, Error> {
    let failed = tokio::select! {
        () = stop => None,
        component = cluster.failure() => Some(component),
    };
    if let Some(component) = &failed {
        let log = Log::end_of(&log_file(cluster.folder(), component));
        output::error(format!("{component} ended{log}"));
    }
    cluster.stop()?;
    Ok(if failed.is_some() { Exit::Environment } else { Exit::Conforms })
}

fn stop(args: &DownArgs) -> Result<Exit, Error> {
    let home = Home::find()?;
    let names = if args.all { home.names()? } else { vec![args.name.clone()] };
    let mut stopped = String::new();
    for name in &names {
        if down(&home, name)? {
            stopped.push_str(&format!("cluster {name} is stopped\n"));
        }
    }
    remove_orphans(&home)?;
    if stopped.is_empty() {
        let name = if args.all { String::new() } else { format!(" {}", args.name) };
        output::note(format!("there is no cluster{name}"));
    }
    Ok(output::print_text(&stopped, Exit::Conforms))
}

async fn env(args: &EnvArgs) -> Result<Exit, Error> {
    let home = Home::find()?;
    match status::one(&home, &args.name).await {
        Some(status) if status.health == Health::Ready => {
            Ok(output::print(&text::environment(&status, args.shell), Exit::Conforms))
        }
        Some(status) => {
            output::error(format!("cluster {} is {}", args.name, text::describe(&status.health)));
            Ok(Exit::Environment)
        }
        None => Ok(missing(&args.name)),
    }
}

fn work(args: &WorkArgs, work: Work) -> Result<Exit, Error> {
    let process = set_work(&Home::find()?, &args.name, &args.component, work)?;
    let word = match work {
        Work::Pause => "is paused",
        Work::Resume => "works",
    };
    let text = format!("{} of cluster {} {word} (process {})\n", args.component, args.name, process.pid);
    Ok(output::print_text(&text, Exit::Conforms))
}

fn missing(name: &Name) -> Exit {
    output::error(format!("there is no cluster {name}: start it with jobcheck cluster up --name {name}"));
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
    let rendered = args.output.render(|| text::table(&found), || json::report(&found, exit));
    Ok(output::print_report(rendered, args.output, exit))
}

async fn serve(args: &ServeArgs) -> Result<Exit, Error> {
    let stop = signals::listen()
        .map_err(|source| Error::Start { program: "the signal handler".to_owned(), source })?;
    let ServeArgs { ref folder, port, kubernetes: version, token: with_token } = *args;
    embedded::serve(embedded::Serve { folder, port, version, with_token }, stop.cancelled()).await?;
    Ok(Exit::Conforms)
}
