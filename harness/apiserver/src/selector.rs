//! Label and field selectors in the syntax of kubectl and client-go.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::object::text;
use crate::resource::Resource;

/// The selection of a list or a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<FieldTerm>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exists,
    Absent,
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Above(i64),
    Below(i64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldTerm {
    path: Field,
    value: String,
    equal: bool,
}

/// A field for which a field selector exists, as a path into the stored object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Text(&'static [&'static str]),
    /// A number. 0 if it is absent.
    Number(&'static [&'static str]),
    /// A truth value. False if it is absent.
    Flag(&'static [&'static str]),
}

/// The longest selector, in bytes, and its most requirements. kube-apiserver has no such limits, but a watch keeps its selector, so
/// that many watches would fill the memory.
const LONGEST: usize = 8 << 10;
const MOST: usize = 256;

impl Selector {
    /// Parses both selectors. An empty text selects everything.
    ///
    /// # Errors
    /// A selector is invalid. The error is upstream's message for code 400. Or it is longer than this server allows.
    pub fn parse(resource: Resource, labels: &str, fields: &str) -> Result<Selector, String> {
        for text in [labels, fields] {
            if text.len() > LONGEST || text.matches(',').count() >= MOST {
                return Err(format!(
                    "a selector has more than {MOST} parts or {LONGEST} bytes, which this server refuses"
                ));
            }
        }
        Ok(Selector { labels: parse_labels(labels)?, fields: parse_fields(resource, fields)? })
    }

    /// Returns true if an object in its stored form is selected.
    #[must_use]
    pub fn matches(&self, object: &Value) -> bool {
        self.labels.iter().all(|it| it.matches(object)) && self.fields.iter().all(|it| it.matches(object))
    }

    /// Returns true if everything is selected.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }
}

impl Requirement {
    fn matches(&self, object: &Value) -> bool {
        let value = object["metadata"]["labels"].get(&self.key).and_then(Value::as_str);
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.test {
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::In(values) => value.is_some_and(|value| values.contains(value)),
            Test::NotIn(values) => !value.is_some_and(|value| values.contains(value)),
            Test::Above(bound) => number().is_some_and(|number| number > *bound),
            Test::Below(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

impl FieldTerm {
    fn matches(&self, object: &Value) -> bool {
        let at = |path: &[&str]| crate::object::at(object, path);
        let is_equal = match self.path {
            Field::Text(path) => text(object, path) == self.value,
            Field::Number(path) => {
                let number = at(path).and_then(Value::as_i64).unwrap_or(0);
                number.to_string() == self.value
            }
            Field::Flag(path) => {
                let flag = at(path).and_then(Value::as_bool).unwrap_or(false);
                flag.to_string() == self.value
            }
        };
        is_equal == self.equal
    }
}

fn parse_labels(text: &str) -> Result<Vec<Requirement>, String> {
    let mut found = Vec::new();
    for term in split_outside_parentheses(text) {
        let term = term.trim();
        if !term.is_empty() {
            found.push(parse_label(term).ok_or_else(|| format!("unable to parse requirement: {term}"))?);
        }
    }
    Ok(found)
}

/// Splits at commas outside parentheses.
fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_i32);
    for (place, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push(&text[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn parse_label(term: &str) -> Option<Requirement> {
    if let Some(key) = term.strip_prefix('!') {
        return requirement(key, Test::Absent);
    }
    for (operator, equal) in [("!=", false), ("==", true), ("=", true)] {
        if let Some((key, value)) = term.split_once(operator) {
            let value = value.trim();
            if !is_label_value(value) {
                return None;
            }
            let values = BTreeSet::from([value.to_owned()]);
            return requirement(key, if equal { Test::In(values) } else { Test::NotIn(values) });
        }
    }
    for (operator, above) in [('>', true), ('<', false)] {
        if let Some((key, value)) = term.split_once(operator) {
            let bound = value.trim().parse().ok()?;
            return requirement(key, if above { Test::Above(bound) } else { Test::Below(bound) });
        }
    }
    let Some((head, list)) = term.split_once('(') else {
        return requirement(term, Test::Exists);
    };
    let values: BTreeSet<String> =
        list.trim_end().strip_suffix(')')?.split(',').map(|value| value.trim().to_owned()).collect();
    let mut words = head.split_whitespace();
    let (key, operator) = (words.next()?, words.next()?);
    let fits = words.next().is_none() && values.iter().all(|value| is_label_value(value));
    match (operator, fits) {
        ("in", true) => requirement(key, Test::In(values)),
        ("notin", true) => requirement(key, Test::NotIn(values)),
        _ => None,
    }
}

fn requirement(key: &str, test: Test) -> Option<Requirement> {
    let key = key.trim();
    crate::names::is_qualified_name(key).then(|| Requirement { key: key.to_owned(), test })
}

fn is_label_value(value: &str) -> bool {
    crate::names::is_label_value(value)
}

fn parse_fields(resource: Resource, text: &str) -> Result<Vec<FieldTerm>, String> {
    let mut found = Vec::new();
    for term in split_unescaped(text) {
        if term.is_empty() {
            continue;
        }
        let (name, value, equal) = field_parts(&term)
            .ok_or_else(|| format!("invalid field selector: \"{text}\"; can't understand '{term}'"))?;
        let path = field(resource, name).ok_or_else(|| format!("field label not supported: {name}"))?;
        found.push(FieldTerm { path, value: unescaped(value), equal });
    }
    Ok(found)
}

fn field_parts(term: &str) -> Option<(&str, &str, bool)> {
    let place = term.find(['=', '!'])?;
    let (name, rest) = term.split_at(place);
    for (operator, equal) in [("!=", false), ("==", true), ("=", true)] {
        if let Some(value) = rest.strip_prefix(operator) {
            return Some((name.trim(), value, equal));
        }
    }
    None
}

/// Splits at commas that are not escaped with a backslash.
fn split_unescaped(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for character in text.chars() {
        if character == ',' && !escaped {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(character);
        }
        escaped = character == '\\' && !escaped;
    }
    parts
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(if character == '\\' { characters.next().unwrap_or('\\') } else { character });
    }
    plain
}

/// The fields for which a resource has field selectors (`AddFieldLabelConversionFunc`, SP-12).
fn field(resource: Resource, name: &str) -> Option<Field> {
    let facts = resource.facts();
    match name {
        "metadata.name" => return Some(Field::Text(&["metadata", "name"])),
        "metadata.namespace" if facts.namespaced => return Some(Field::Text(&["metadata", "namespace"])),
        _ => {}
    }
    match resource {
        Resource::Jobs if name == "status.successful" => Some(Field::Number(&["status", "succeeded"])),
        Resource::Pods => pod_field(name),
        Resource::Events | Resource::NewEvents => event_field(name),
        Resource::Namespaces if matches!(name, "name" | "status.phase") => {
            let path: &[&str] = if name == "name" { &["metadata", "name"] } else { &["status", "phase"] };
            Some(Field::Text(path))
        }
        Resource::Nodes if name == "spec.unschedulable" => Some(Field::Flag(&["spec", "unschedulable"])),
        _ => None,
    }
}

fn pod_field(name: &str) -> Option<Field> {
    let path: &[&str] = match name {
        "spec.nodeName" => &["spec", "nodeName"],
        "spec.restartPolicy" => &["spec", "restartPolicy"],
        "spec.schedulerName" => &["spec", "schedulerName"],
        "spec.serviceAccountName" => &["spec", "serviceAccountName"],
        "spec.hostNetwork" => return Some(Field::Flag(&["spec", "hostNetwork"])),
        "status.phase" => &["status", "phase"],
        "status.podIP" => &["status", "podIP"],
        "status.nominatedNodeName" => &["status", "nominatedNodeName"],
        _ => return None,
    };
    Some(Field::Text(path))
}

fn event_field(name: &str) -> Option<Field> {
    let path: &[&str] = match name {
        "involvedObject.kind" | "regarding.kind" => &["involvedObject", "kind"],
        "involvedObject.namespace" | "regarding.namespace" => &["involvedObject", "namespace"],
        "involvedObject.name" | "regarding.name" => &["involvedObject", "name"],
        "involvedObject.uid" | "regarding.uid" => &["involvedObject", "uid"],
        "involvedObject.apiVersion" | "regarding.apiVersion" => &["involvedObject", "apiVersion"],
        "involvedObject.resourceVersion" | "regarding.resourceVersion" => {
            &["involvedObject", "resourceVersion"]
        }
        "involvedObject.fieldPath" | "regarding.fieldPath" => &["involvedObject", "fieldPath"],
        "reason" => &["reason"],
        "type" => &["type"],
        "source" => &["source", "component"],
        "reportingComponent" | "reportingController" => &["reportingComponent"],
        _ => return None,
    };
    Some(Field::Text(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn selects(labels: &str, fields: &str) -> bool {
        let pod = json!({
            "metadata": {"name": "p", "labels": {"a": "1", "b/c": "x"}},
            "spec": {"nodeName": "n,1"}, "status": {"phase": "Running"},
        });
        Selector::parse(Resource::Pods, labels, fields).unwrap().matches(&pod)
    }

    #[test]
    fn labels_are_selected_by_every_operator() {
        for yes in
            ["", "a", "a=1", "a==1,b/c=x", "a!=2", "z!=1", "a in (0, 1)", "a notin (2)", "!z", "a>0", "a<2"]
        {
            assert!(selects(yes, ""), "{yes}");
        }
        for no in ["z", "a=2", "a==1,b/c=y", "a!=1", "a in (0)", "a notin (1,2)", "!a", "a>1", "a<1", "a="] {
            assert!(!selects(no, ""), "{no}");
        }
        for bad in ["a in 1", "a ~ 1", "a in (1", "=1", "a b", "a=_", "a,!"] {
            assert!(Selector::parse(Resource::Pods, bad, "").is_err(), "{bad}");
        }
    }

    #[test]
    fn fields_are_selected_where_they_are_indexed() {
        assert!(selects("", "spec.nodeName=n\\,1,status.phase!=Failed"));
        assert!(!selects("", "status.phase==Failed"));
        assert!(selects("", "spec.hostNetwork=false"));
        let error = Selector::parse(Resource::Pods, "", "spec.foo=1").unwrap_err();
        assert_eq!(error, "field label not supported: spec.foo");
        assert!(Selector::parse(Resource::Nodes, "", "metadata.namespace=a").is_err());
        assert!(Selector::parse(Resource::Pods, "", "metadata.name").is_err());
        let job = Selector::parse(Resource::Jobs, "", "status.successful=0").unwrap();
        assert!(job.matches(&json!({"status": {}})) && !job.matches(&json!({"status": {"succeeded": 1}})));
    }

    /// A watch keeps its selector.
    #[test]
    fn a_selector_has_a_greatest_length() {
        let most = vec!["a"; MOST].join(",");
        assert!(Selector::parse(Resource::Jobs, &most, "").is_ok());
        for (labels, fields) in [
            (format!("{most},a"), String::new()),
            ("a".repeat(LONGEST + 1), String::new()),
            (String::new(), "a=b,".repeat(MOST)),
        ] {
            let why = Selector::parse(Resource::Jobs, &labels, &fields).unwrap_err();
            assert!(why.contains("256 parts"), "{why}");
        }
    }
}
