//! From OpenMetrics, which the library writes, to the text format that everybody reads.
//!
//! OpenMetrics names a family of counters without the ending `_total` of its samples, so a reader of the older format
//! would take the samples for another, untyped metric; and the library lists the series of a family in the order of a
//! hash map.

/// Rewrites a whole exposition.
#[must_use]
pub fn from_open_metrics(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut head: Vec<&str> = Vec::new();
    let mut samples: Vec<&str> = Vec::new();
    for line in text.lines() {
        if line.starts_with('#') {
            if !samples.is_empty() {
                family(&mut out, &head, &mut samples);
                head.clear();
            }
            // A family without samples has only a head.
            if line.starts_with("# HELP ") {
                head.clear();
            }
            head.push(line);
        } else {
            samples.push(line);
        }
    }
    family(&mut out, &head, &mut samples);
    out
}

fn family(out: &mut String, head: &[&str], samples: &mut Vec<&str>) {
    if samples.is_empty() {
        return;
    }
    let kind =
        head.iter().find_map(|line| line.strip_prefix("# TYPE ")).and_then(|rest| rest.split(' ').nth(1));
    let is_counter = kind == Some("counter");
    for line in head {
        let mut words = line.splitn(4, ' ');
        let (Some(mark), Some(what), Some(name)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        if what != "HELP" && what != "TYPE" {
            continue;
        }
        let ending = if is_counter { "_total" } else { "" };
        let rest = words.next().unwrap_or_default();
        out.push_str(&format!("{mark} {what} {name}{ending} {rest}\n"));
    }
    // The lines of one histogram series belong together and are in order already: only whole series move.
    samples.sort_by_cached_key(|line| series(line));
    for sample in samples.drain(..) {
        out.push_str(sample);
        out.push('\n');
    }
}

/// The labels of a sample apart from the bound of a bucket.
fn series(sample: &str) -> String {
    let labels = sample.find('{').and_then(|start| sample.rfind('}').map(|end| &sample[start + 1..end]));
    match labels.unwrap_or_default() {
        labels if labels.starts_with("le=\"") => {
            labels.split_once("\",").map(|(_, rest)| rest).unwrap_or_default().to_owned()
        }
        labels => labels.split(",le=\"").next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_their_suffix_in_the_header_and_series_are_sorted() {
        let open = "# HELP jobs Jobs seen.\n# TYPE jobs counter\njobs_total{a=\"2\"} 1\njobs_total{a=\"1\"} 5\n\
                    # HELP empty None.\n# TYPE empty gauge\n\
                    # HELP t Time.\n# TYPE t histogram\n# UNIT t seconds\n\
                    t_sum{a=\"z\"} 3.0\nt_count{a=\"z\"} 1\nt_bucket{le=\"1.0\",a=\"z\"} 0\nt_bucket{le=\"+Inf\",a=\"z\"} 1\n\
                    t_sum{a=\"b\"} 3.0\nt_count{a=\"b\"} 1\nt_bucket{le=\"+Inf\",a=\"b\"} 1\n# EOF\n";
        assert_eq!(
            from_open_metrics(open),
            "# HELP jobs_total Jobs seen.\n# TYPE jobs_total counter\njobs_total{a=\"1\"} 5\njobs_total{a=\"2\"} 1\n\
             # HELP t Time.\n# TYPE t histogram\nt_sum{a=\"b\"} 3.0\nt_count{a=\"b\"} 1\nt_bucket{le=\"+Inf\",a=\"b\"} 1\n\
             t_sum{a=\"z\"} 3.0\nt_count{a=\"z\"} 1\nt_bucket{le=\"1.0\",a=\"z\"} 0\nt_bucket{le=\"+Inf\",a=\"z\"} 1\n"
        );
    }

    #[test]
    fn empty_input_has_empty_output() {
        assert_eq!(from_open_metrics("# EOF\n"), "");
    }
}
