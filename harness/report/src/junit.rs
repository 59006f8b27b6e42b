//! JUnit XML, the form of test reports that CI systems read.

use std::fmt::Write;
use std::time::Duration;

use crate::text::uncoloured;

/// A report.
pub struct Report {
    /// The command that made it.
    pub name: &'static str,
    /// The suites.
    pub suites: Vec<Suite>,
}

/// A suite of cases.
#[derive(Default)]
pub struct Suite {
    /// The name.
    pub name: String,
    /// Facts about the suite, as names and values.
    pub properties: Vec<(&'static str, String)>,
    /// The cases.
    pub cases: Vec<Case>,
}

/// A case.
#[derive(Default)]
pub struct Case {
    /// The name.
    pub name: String,
    /// The class, by which CI systems group cases.
    pub class: Option<String>,
    /// The time that it took.
    pub time: Option<Duration>,
    /// Facts about the case, as names and values.
    pub properties: Vec<(&'static str, String)>,
    /// The outcome.
    pub outcome: Outcome,
    /// Text for standard output.
    pub output: Option<String>,
    /// Text for standard error.
    pub warnings: Option<String>,
}

/// The outcome of a case.
#[derive(Default)]
pub enum Outcome {
    /// It passed.
    #[default]
    Passed,
    /// It failed: a requirement or an expectation is broken.
    Failed(Problem),
    /// It has no verdict.
    Errored(Problem),
    /// It was not run, for this reason.
    Skipped(String),
}

/// A failure or an error.
pub struct Problem {
    /// The kind, such as the id of a requirement.
    pub kind: String,
    /// The message, in one line.
    pub message: String,
    /// The evidence.
    pub detail: Option<String>,
}

impl Case {
    /// A case without a verdict.
    pub fn errored(name: impl Into<String>, kind: &str, message: impl Into<String>) -> Case {
        let problem = Problem { kind: kind.to_owned(), message: message.into(), detail: None };
        Case { name: name.into(), outcome: Outcome::Errored(problem), ..Case::default() }
    }
}

impl Report {
    /// The report as an XML document.
    pub fn render(&self) -> String {
        let mut document = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        self.element().write(0, &mut document);
        document
    }

    fn element(&self) -> Element {
        let cases: Vec<&Case> = self.suites.iter().flat_map(|suite| &suite.cases).collect();
        let [tests, skipped, failures, errors] = counts(&cases);
        Element::new("testsuites")
            .with("name", self.name)
            .with("tests", tests)
            .with("skipped", skipped)
            .with("failures", failures)
            .with("errors", errors)
            .containing(self.suites.iter().map(Suite::element))
    }
}

impl Suite {
    fn element(&self) -> Element {
        let cases: Vec<&Case> = self.cases.iter().collect();
        let [tests, skipped, failures, errors] = counts(&cases);
        Element::new("testsuite")
            .with("name", &self.name)
            .with("tests", tests)
            .with("skipped", skipped)
            .with("errors", errors)
            .with("failures", failures)
            .containing(properties(&self.properties))
            .containing(self.cases.iter().map(Case::element))
    }
}

impl Case {
    fn element(&self) -> Element {
        let mut case = Element::new("testcase").with("name", &self.name);
        if let Some(class) = &self.class {
            case = case.with("classname", class);
        }
        if let Some(time) = self.time {
            case = case.with("time", format!("{:.3}", time.as_secs_f64()));
        }
        let output = self.output.as_ref().map(|text| Element::new("system-out").holding(text));
        let warnings = self.warnings.as_ref().map(|text| Element::new("system-err").holding(text));
        case.containing(properties(&self.properties))
            .containing(self.outcome.element())
            .containing(output)
            .containing(warnings)
    }
}

impl Outcome {
    fn element(&self) -> Option<Element> {
        let (name, problem) = match self {
            Outcome::Passed => return None,
            Outcome::Skipped(why) => return Some(Element::new("skipped").with("message", why)),
            Outcome::Failed(problem) => ("failure", problem),
            Outcome::Errored(problem) => ("error", problem),
        };
        let element = Element::new(name).with("message", &problem.message).with("type", &problem.kind);
        Some(match &problem.detail {
            Some(detail) => element.holding(detail),
            None => element,
        })
    }
}

/// The numbers of all, skipped, failed and errored cases.
fn counts(cases: &[&Case]) -> [String; 4] {
    let of = |fits: fn(&Outcome) -> bool| cases.iter().filter(|case| fits(&case.outcome)).count().to_string();
    [
        cases.len().to_string(),
        of(|it| matches!(it, Outcome::Skipped(_))),
        of(|it| matches!(it, Outcome::Failed(_))),
        of(|it| matches!(it, Outcome::Errored(_))),
    ]
}

fn properties(all: &[(&'static str, String)]) -> Option<Element> {
    let property =
        |(name, value): &(&str, String)| Element::new("property").with("name", *name).with("value", value);
    (!all.is_empty()).then(|| Element::new("properties").containing(all.iter().map(property)))
}

/// An XML element: attributes, then a text or other elements.
struct Element {
    name: &'static str,
    attributes: String,
    text: Option<String>,
    children: Vec<Element>,
}

impl Element {
    fn new(name: &'static str) -> Element {
        Element { name, attributes: String::new(), text: None, children: Vec::new() }
    }

    fn with(mut self, name: &str, value: impl AsRef<str>) -> Element {
        let _ = write!(self.attributes, " {name}=\"{}\"", escaped(value.as_ref()).replace('\n', "&#10;"));
        self
    }

    fn holding(mut self, text: &str) -> Element {
        self.text = Some(escaped(text));
        self
    }

    fn containing(mut self, children: impl IntoIterator<Item = Element>) -> Element {
        self.children.extend(children);
        self
    }

    fn write(&self, depth: usize, out: &mut String) {
        let Element { name, attributes, text, children } = self;
        let margin = " ".repeat(4 * depth);
        let _ = match (text, &children[..]) {
            (Some(text), _) => writeln!(out, "{margin}<{name}{attributes}>{text}</{name}>"),
            (None, []) => writeln!(out, "{margin}<{name}{attributes}/>"),
            (None, children) => {
                let _ = writeln!(out, "{margin}<{name}{attributes}>");
                children.iter().for_each(|child| child.write(depth + 1, out));
                writeln!(out, "{margin}</{name}>")
            }
        };
    }
}

/// A text without colours. Characters with a meaning in XML become references. Invisible ones, among them all that XML
/// forbids, are escaped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in uncoloured(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\'' => out.push_str("&apos;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_counts_its_cases_and_escapes_its_texts() {
        let failed = |detail: Option<&str>| {
            let (kind, message) = ("FT-02".to_owned(), "expected <3> & \"4\"".to_owned());
            Outcome::Failed(Problem { kind, message, detail: detail.map(str::to_owned) })
        };
        let case = |name: &str, outcome| Case { name: name.to_owned(), outcome, ..Case::default() };
        let timed = Case {
            class: Some("jobcheck".to_owned()),
            time: Some(Duration::from_millis(1500)),
            properties: vec![("file", "a.yaml".to_owned())],
            output: Some("\u{1b}[1mbold\u{1b}[0m\u{7}".to_owned()),
            ..case("timed", Outcome::Passed)
        };
        let suite = Suite {
            name: "sim".to_owned(),
            cases: vec![
                timed,
                case("broken", failed(Some("line\nline"))),
                case("later", Outcome::Skipped("no cluster".to_owned())),
                Case::errored("open", "inconclusive", "a gap"),
            ],
            ..Suite::default()
        };
        let empty = Suite { name: "none".to_owned(), ..Suite::default() };
        let report = Report { name: "jobcheck run", suites: vec![suite, empty] };
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="jobcheck run" tests="4" skipped="1" failures="1" errors="1">
    <testsuite name="sim" tests="4" skipped="1" errors="1" failures="1">
        <testcase name="timed" classname="jobcheck" time="1.500">
            <properties>
                <property name="file" value="a.yaml"/>
            </properties>
            <system-out>bold\u{7}</system-out>
        </testcase>
        <testcase name="broken">
            <failure message="expected &lt;3&gt; &amp; &quot;4&quot;" type="FT-02">line
line</failure>
        </testcase>
        <testcase name="later">
            <skipped message="no cluster"/>
        </testcase>
        <testcase name="open">
            <error message="a gap" type="inconclusive"/>
        </testcase>
    </testsuite>
    <testsuite name="none" tests="0" skipped="0" errors="0" failures="0"/>
</testsuites>
"#;
        assert_eq!(report.render(), expected);
    }
}
