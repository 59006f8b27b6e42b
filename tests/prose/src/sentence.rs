//! Rules about one sentence: its length, and its first word.

/// The maximum number of words in a sentence.
pub const MOST_WORDS: usize = 25;

/// Words that no sentence may open with, because the subject then comes late.
pub const OPENINGS: [&str; 6] = ["Of", "What", "Whether", "Where", "Who", "How"];

/// Returns the problems of a sentence. A question may open with any word.
#[must_use]
pub fn problems(sentence: &str) -> Vec<String> {
    let words: Vec<&str> =
        sentence.split_whitespace().filter(|it| it.chars().any(char::is_alphanumeric)).collect();
    let mut problems = Vec::new();
    if words.len() > MOST_WORDS {
        problems.push(format!("{} words in a sentence, at most {MOST_WORDS}: {sentence}", words.len()));
    }
    let first = words.first().map_or("", |it| it.trim_matches(|c: char| !c.is_alphanumeric()));
    if OPENINGS.contains(&first) && !sentence.ends_with('?') {
        problems.push(format!("the sentence opens with {first}: {sentence}"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{MOST_WORDS, problems};

    #[test]
    fn a_sentence_with_too_many_words_is_reported() {
        let fits = vec!["word"; MOST_WORDS].join(" ");
        assert!(problems(&fits).is_empty());
        assert_eq!(problems(&format!("{fits} more")).len(), 1);
    }

    #[test]
    fn a_forbidden_opening_is_reported_except_in_a_question() {
        assert_eq!(problems("What a process knows is lost.").len(), 1);
        assert!(problems("What is a premise?").is_empty());
        assert!(problems("Somebody asks what it is.").is_empty());
    }
}
