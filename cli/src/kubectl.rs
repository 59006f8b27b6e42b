//! Completion for kubectl, which asks `kubectl_complete-jobcheck` with the words after `kubectl jobcheck`.
//!
//! The answer is that of cobra: a candidate on each line, and a number that stands for what follows.

use clap::{Args, Command};
use jobcheck_judge::report::Exit;

use crate::{args, completions, output};

/// Arguments of the hidden command.
#[derive(Debug, Args)]
pub struct KubectlArgs {
    /// The words, of which the last one is to be completed.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// Nothing else is offered, such as files.
const NO_FILES: u8 = 4;
/// Files are offered as well.
const FILES: u8 = 0;

/// Prints the candidates.
pub fn run(args: &KubectlArgs) -> Exit {
    let root = completions::completed(&args::command(&[]));
    let (before, last) = match args.words.split_last() {
        Some((last, before)) => (before, last.as_str()),
        None => (&[][..], ""),
    };
    let command = reached(&root, before);
    let (candidates, directive) = candidates(command, before.last().map(String::as_str), last);
    let fitting = candidates.into_iter().filter(|candidate| candidate.starts_with(last));
    let lines: Vec<String> = fitting.chain([format!(":{directive}")]).collect();
    output::print(&(lines.join("\n") + "\n"), Exit::Conforms)
}

/// The command to which these words lead.
fn reached<'a>(root: &'a Command, words: &[String]) -> &'a Command {
    words.iter().fold(root, |command, word| command.find_subcommand(word).unwrap_or(command))
}

fn candidates(command: &Command, previous: Option<&str>, last: &str) -> (Vec<String>, u8) {
    let flag = previous.and_then(|word| word.strip_prefix("--"));
    let valued = flag.and_then(|flag| command.get_arguments().find(|arg| arg.get_long() == Some(flag)));
    if let Some(arg) = valued.filter(|arg| arg.get_action().takes_values()) {
        let values = values_of(arg);
        let directive = if values.is_empty() { FILES } else { NO_FILES };
        return (values, directive);
    }
    if last.starts_with('-') {
        let flags = command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(|arg| arg.get_long());
        return (flags.map(|flag| format!("--{flag}")).collect(), NO_FILES);
    }
    let commands: Vec<String> = command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
    if !commands.is_empty() {
        return (commands, NO_FILES);
    }
    let values: Vec<String> = command.get_positionals().flat_map(values_of).collect();
    let directive = if values.is_empty() { FILES } else { NO_FILES };
    (values, directive)
}

fn values_of(arg: &clap::Arg) -> Vec<String> {
    arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates_of(words: &[&str]) -> (Vec<String>, u8) {
        let root = completions::completed(&args::command(&[]));
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let (last, before) = words.split_last().unwrap();
        candidates(reached(&root, before), before.last().map(String::as_str), last)
    }

    #[test]
    fn commands_flags_and_values_are_completed() {
        let (commands, directive) = candidates_of(&["re"]);
        assert!(commands.contains(&"replay".to_owned()) && directive == NO_FILES, "{commands:?}");
        let (flags, _) = candidates_of(&["check", "--su"]);
        assert!(flags.contains(&"--subject".to_owned()), "{flags:?}");
        let (values, directive) = candidates_of(&["check", "--subject", ""]);
        assert!(values.contains(&"controller".to_owned()) && directive == NO_FILES, "{values:?}");
        let (scopes, directive) = candidates_of(&["check", "non"]);
        assert!(scopes.contains(&"non-indexed".to_owned()) && directive == NO_FILES, "{scopes:?}");
        assert_eq!(candidates_of(&["replay", ""]), (Vec::new(), FILES));
    }
}
