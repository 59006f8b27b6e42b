//! The conversion of OpenMetrics to the Prometheus text format 0.0.4, which every scraper accepts.
//!
//! prometheus-client 0.25 writes OpenMetrics only. There the header of a family of counters lacks the suffix `_total` of
//! its samples. A reader of the older format would take the samples for another, untyped metric. The library also lists
//! the series of a family in the order of a hash map; here they are sorted.

/// Converts a complete exposition.
#[must_use]
pub fn from_open_metrics(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut header: Vec<&str> = Vec::new();
    let mut samples: Vec<&str> = Vec::new();
    for line in text.lines() {
        if line.starts_with('#') {
            if !samples.is_empty() {
                family(&mut out, &header, &mut samples);
                header.clear();
            }
            // A family without samples has only a header, which is dropped.
            if line.starts_with("# HELP ") {
                header.clear();
            }
            header.push(line);
        } else {
            samples.push(line);
        }
    }
    family(&mut out, &header, &mut samples);
    out
}

fn family(out: &mut String, header: &[&str], samples: &mut Vec<&str>) {
    if samples.is_empty() {
        return;
    }
    let kind =
        header.iter().find_map(|line| line.strip_prefix("# TYPE ")).and_then(|rest| rest.split(' ').nth(1));
    let is_counter = kind == Some("counter");
    for line in header {
        let mut words = line.splitn(4, ' ');
        let (Some(mark), Some(keyword), Some(name)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        if keyword != "HELP" && keyword != "TYPE" {
            continue;
        }
        let suffix = if is_counter { "_total" } else { "" };
        let rest = words.next().unwrap_or_default();
        out.push_str(&format!("{mark} {keyword} {name}{suffix} {rest}\n"));
    }
    // The sort is stable, so the lines of one histogram series stay together and in order.
    samples.sort_by_cached_key(|line| series(line));
    for sample in samples.drain(..) {
        out.push_str(sample);
        out.push('\n');
    }
}

/// Returns the labels of a sample without the bound of a bucket.
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
