//! The background of the results in reports: the last lines about a Job, its life, and the names and ends of its pods.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt::Display;

use super::event::Event;
use super::fates::Fates;
use super::life::Life;
use super::names::Names;
use super::verdict::Note;

/// Number of preceding lines that are kept for an explanation.
const STORY_LINES: usize = 24;
/// Number of lines that are kept of a finished Job.
const LINES_AT_REST: usize = 4;

/// The account of a Job.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Account {
    /// The last lines about the Job.
    pub story: VecDeque<Note>,
    /// Keeps these lines.
    pub keeps_story: bool,
    /// Its life, if it is explained. Such a Job is never parked.
    #[serde(skip)]
    pub life: Option<Box<Life>>,
    /// The ends of its pods.
    pub fates: Fates,
    /// The names of its pods.
    pub names: Names,
    /// Numbers of reasons and of warnings that contain names already.
    pub named: (usize, usize),
}

impl Account {
    /// Keeps a line about the Job.
    pub fn tell(&mut self, event: &Event, line: &dyn Display) {
        if !self.keeps_story {
            return;
        }
        if self.story.len() == STORY_LINES {
            self.story.pop_front();
        }
        let line = self.names.write(&line.to_string());
        self.story.push_back(Note::on(event, line));
    }

    /// Frees memory.
    pub fn rest(&mut self) {
        self.story.drain(..self.story.len().saturating_sub(LINES_AT_REST));
        self.story.shrink_to_fit();
    }
}
