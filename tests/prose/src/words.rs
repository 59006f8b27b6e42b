//! Words that the project no longer uses, and the word of the glossary for each (`docs/reference/glossary.md`).

/// Words that are no longer used, each with its replacement.
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

/// Phrases that are no longer used, each with its replacement.
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

/// Returns a problem for each word or phrase of a sentence that is no longer used.
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
    fn a_replaced_word_is_reported_and_a_longer_word_is_not() {
        assert_eq!(problems("The report tells it.").len(), 1);
        assert_eq!(problems("The lease is given up.").len(), 1);
        assert!(problems("Tellers and strayed cats are no words of ours.").is_empty());
    }
}
