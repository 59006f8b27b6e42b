//! Puts the lines of a recording into the envelopes of log systems. The tests of `traces` use this file, too.

use serde_json::{Value, json};

/// An envelope, as a template.
pub struct Wrapping {
    /// The system and the command that write it.
    pub name: String,
    begin: String,
    item: String,
    between: String,
    end: String,
}

/// The envelopes of `traces/tests/data/envelopes.json`. In `begin` and `end`, `$COUNT` is the number of lines. In
/// `item`, a name with a dollar stands for the line:
///
/// | name | content |
/// | --- | --- |
/// | `$EVENT` | as it is |
/// | `$PRETTY` | spread over lines |
/// | `$ITEM` | without kind and version |
/// | `$TEXT`, `$LINE` | as a string, without and with a line break |
///
/// # Panics
///
/// The file has another shape.
#[must_use]
pub fn wrappings() -> Vec<Wrapping> {
    let rows: Vec<Value> = serde_json::from_str(include_str!("../../traces/tests/data/envelopes.json"))
        .unwrap_or_else(|error| panic!("{error}"));
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    let wrapping = |row: &Value| Wrapping {
        name: text(row, "name"),
        begin: text(row, "begin"),
        item: text(row, "item"),
        between: text(row, "between"),
        end: text(row, "end"),
    };
    rows.iter().map(wrapping).collect()
}

impl Wrapping {
    /// The lines in this envelope.
    #[must_use]
    pub fn around(&self, lines: &[String]) -> String {
        let items: Vec<String> = lines.iter().map(|line| self.one(line)).collect();
        let count = |text: &str| text.replace("$COUNT", &items.len().to_string());
        format!("{}{}{}", count(&self.begin), items.join(&self.between), count(&self.end))
    }

    /// Returns `true` if only events of an audit log can be in it.
    #[must_use]
    pub fn is_for_audit_events(&self) -> bool {
        self.item.contains("$ITEM") || self.begin.contains("EventList")
    }

    fn one(&self, line: &str) -> String {
        let text = |line: &str| Value::from(line).to_string();
        let value = || serde_json::from_str::<Value>(line).unwrap_or_default();
        let item = || {
            let mut item = value();
            if let Some(fields) = item.as_object_mut() {
                fields.retain(|name, _| name != "kind" && name != "apiVersion");
            }
            item.to_string()
        };
        self.item
            .replace("$LINE", &text(&format!("{line}\n")))
            .replace("$TEXT", &text(line))
            .replace("$PRETTY", &format!("{:#}", value()))
            .replace("$ITEM", &item())
            .replace("$EVENT", line)
    }
}

/// The lines as a container runtime writes them: long ones in parts, with lines of standard error between them.
#[must_use]
pub fn in_parts(lines: &[String], longest: usize) -> String {
    let mut log = String::new();
    for line in lines {
        let parts: Vec<&[u8]> = line.as_bytes().chunks(longest).collect();
        for (number, part) in parts.iter().enumerate() {
            let tag = if number + 1 == parts.len() { "F" } else { "P" };
            let part = String::from_utf8_lossy(part);
            log.push_str(&format!("2026-11-21T00:28:37.786283123Z stdout {tag} {part}\n"));
            log.push_str("2026-11-21T00:28:37.786283123Z stderr F {\"a\":\n");
        }
    }
    log
}

/// The lines as Docker writes them: long ones in parts.
#[must_use]
pub fn in_docker_parts(lines: &[String], longest: usize) -> String {
    let mut log = String::new();
    for line in lines {
        for part in format!("{line}\n").as_bytes().chunks(longest) {
            let text = String::from_utf8_lossy(part);
            let line = json!({ "log": text, "stream": "stdout", "time": "2026-11-21T00:28:37.786283123Z" });
            log.push_str(&format!("{line}\n"));
        }
    }
    log
}
