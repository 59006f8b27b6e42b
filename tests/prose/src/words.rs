//! Private words of the project's past, and the glossary's word for each (`docs/reference/glossary.md`).

/// A word that is not used any more, and what to write.
const REPLACED: &[(&str, &str)] = &[
    ("tell", "report, show, print"),
    ("tells", "reports, shows, prints"),
    ("told", "reported, shown"),
    ("telling", "reporting"),
    ("stray", "ownerless pod"),
    ("strays", "ownerless pods"),
    ("fate", "termination, outcome"),
    ("fates", "outcomes"),
    ("fortune", "outcome"),
    ("namesake", "recreated Job"),
    ("namesakes", "recreated Jobs"),
    ("mishap", "fault"),
    ("mishaps", "faults"),
    ("setback", "fault"),
    ("setbacks", "faults"),
    ("usurp", "elect a second leader"),
    ("departure", "mutation, deviation"),
    ("departures", "mutations, deviations"),
    ("debt", "obligation"),
    ("debts", "obligations"),
    ("owes", "has an obligation"),
    ("owed", "outstanding"),
    ("doubt", "reason why it is inconclusive"),
    ("doubts", "reasons why it is inconclusive"),
    ("twin", "second specification"),
];

/// Phrases of the same kind.
const PHRASES: &[(&str, &str)] = &[
    ("let go", "remove the finalizer, release"),
    ("lets go", "removes the finalizer, releases"),
    ("gives up", "releases (a pod), stops"),
    ("given up", "released, stopped"),
    ("give up", "release, stop"),
    ("at rest", "at quiescence"),
    ("comes to", "is, results in"),
    ("came to", "resulted in"),
    ("stands in", "is in"),
    ("stands at", "is at"),
    ("goes on", "continues"),
    ("is said", "is reported"),
    ("of whom", "name the subject"),
    ("who is dead", "a terminated process"),
    ("beside each other", "side by side"),
];

/// What is wrong with the words of a sentence.
#[must_use]
pub fn problems(sentence: &str) -> Vec<String> {
    let lower = sentence.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|it| !it.is_empty()).collect();
    let line = format!(" {} ", words.join(" "));
    REPLACED
        .iter()
        .chain(PHRASES)
        .filter(|(word, _)| line.contains(&format!(" {word} ")))
        .map(|(word, instead)| format!("\"{word}\" ({instead}): {sentence}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::problems;

    #[test]
    fn a_private_word_is_found_and_a_longer_one_is_not() {
        assert_eq!(problems("The report tells it.").len(), 1);
        assert_eq!(problems("The lease is given up.").len(), 1);
        assert!(problems("Tellers and strayed cats are no words of ours.").is_empty());
    }
}
