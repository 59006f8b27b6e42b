//! `jobcheck man`: the manual pages.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use jobcheck_judge::report::Exit;

use crate::text::of_path;
use crate::{args, output};

/// Arguments of `jobcheck man`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ManArgs {
    /// Write the pages to this folder. It is made if it does not exist.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

const AFTER_HELP: &str = "\
There is a page for each command, such as jobcheck-replay(1).

Examples:
  jobcheck man /usr/local/share/man/man1
  jobcheck man pages && man -l pages/jobcheck-replay.1

Exit codes:
  0  the pages are written
  2  wrong usage
  4  a page cannot be written
  5  internal error: please report it";

/// Writes the pages.
pub fn run(args: &ManArgs, arguments: &[OsString]) -> Exit {
    let command = args::command(arguments);
    match write(&command, &args.folder) {
        Ok(pages) => {
            output::print(&format!("{pages} pages are in {}\n", of_path(&args.folder)), Exit::Conforms)
        }
        Err(error) => {
            output::error(format!("cannot write the pages to {}: {error}", of_path(&args.folder)));
            Exit::Environment
        }
    }
}

/// Writes the page of a command and of each of its commands. Returns their number.
fn write(command: &Command, folder: &Path) -> io::Result<usize> {
    fs::create_dir_all(folder)?;
    let mut built = command.clone().disable_help_subcommand(true);
    built.build();
    pages(&built, folder)
}

fn pages(command: &Command, folder: &Path) -> io::Result<usize> {
    // A page is called jobcheck-replay, and shows `jobcheck replay`.
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name.clone()).render(&mut page)?;
    fs::write(folder.join(format!("{name}.1")), page)?;
    let visible = command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help");
    visible.map(|it| pages(it, folder)).sum::<io::Result<usize>>().map(|others| others + 1)
}
