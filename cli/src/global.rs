//! The flags that every command accepts.

use clap::{Args, Parser, ValueEnum};

/// The flags that every command accepts.
#[derive(Debug, Args)]
pub struct Global {
    /// When to use colours; NO_COLOR and CLICOLOR_FORCE are honoured
    #[arg(
        long,
        global = true,
        help_heading = "Global options",
        value_enum,
        default_value_t = Color::Auto,
        value_name = "WHEN"
    )]
    pub color: Color,
    /// Print more: every Job, every id, warnings, and pending obligations
    #[arg(short, long, global = true, help_heading = "Global options", conflicts_with = "quiet")]
    pub verbose: bool,
    /// Print one line per trace or search, and no progress
    #[arg(long, global = true, help_heading = "Global options")]
    pub quiet: bool,
}

impl Global {
    /// The flags of a command that another command runs: no colours and no progress.
    pub fn silent() -> Global {
        Global { color: Color::Never, verbose: false, quiet: true }
    }
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// Applies the choice to everything that this process prints.
    pub fn apply(self) {
        let choice = match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// The arguments of a command without any flag: all of them have their defaults.
pub fn defaults<A: Args>() -> A {
    /// The arguments as a command of their own.
    #[derive(Parser)]
    struct Alone<A: Args> {
        #[command(flatten)]
        args: A,
    }
    Alone::parse_from(["jobcheck"]).args
}
