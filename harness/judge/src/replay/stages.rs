//! Reads a trace and computes the content of its records ahead of the judge.
//!
//! | threads | stages |
//! | --- | --- |
//! | 1 | each batch is read, mapped, and judged before the next one |
//! | 2 | one thread reads and maps, the caller judges |
//! | 3 or more | one thread reads, one maps, the caller judges |
//!
//! The judge takes the records in the same order in each case.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle, scope};

use jobcheck_traces::{DetachedRecord, FileInfo, Input, ReadError, Reader};

use crate::validate::{Content, Contents};

/// Maximum number of records in a batch.
const RECORDS: usize = 256;
/// The length of documents, in bytes, with which a batch is full.
const BYTES: usize = 1 << 20;
/// Number of batches that wait between two stages.
const WAITING: usize = 4;

/// A record with its content, or an error.
pub(super) type Item = Result<(DetachedRecord, Content), ReadError>;

/// Consecutive items of a trace.
struct Batch<T> {
    items: Vec<T>,
    /// The progress of the reader behind them.
    progress: (u64, Option<u64>),
}

/// Passes each item of a trace to `take`, and the progress to `progress`, until that returns false or `stop` is true. Returns facts about the
/// inputs.
pub(super) fn read(
    inputs: &[Input],
    (threads, stop): (usize, &Arc<AtomicBool>),
    take: &mut dyn FnMut(Item),
    progress: &mut dyn FnMut(u64, Option<u64>) -> bool,
) -> Vec<FileInfo> {
    let mut reader = Reader::open_until(inputs, stop);
    let mut contents = Contents::default();
    let mut judge = |batch: Batch<Item>| {
        batch.items.into_iter().for_each(&mut *take);
        progress(batch.progress.0, batch.progress.1)
    };
    if threads <= 1 {
        while let Some(batch) = next_batch(&mut reader) {
            if !judge(mapped(&mut contents, batch)) {
                break;
            }
        }
        return files(&reader);
    }
    scope(|scope| {
        let (sender, batches) = sync_channel(WAITING);
        let reading = if threads == 2 {
            scope.spawn(move || {
                pump(sender, || next_batch(&mut reader).map(|batch| mapped(&mut contents, batch)));
                files(&reader)
            })
        } else {
            let (read, unmapped) = sync_channel(WAITING);
            spawn_mapping(scope, contents, unmapped, sender);
            scope.spawn(move || {
                pump(read, || next_batch(&mut reader));
                files(&reader)
            })
        };
        // The other threads end when nobody takes their batches.
        let _ = batches.into_iter().all(judge);
        joined(reading)
    })
}

fn spawn_mapping<'scope>(
    scope: &'scope Scope<'scope, '_>,
    mut contents: Contents,
    from: Receiver<Batch<Result<DetachedRecord, ReadError>>>,
    to: SyncSender<Batch<Item>>,
) {
    scope.spawn(move || {
        let mut from = from.into_iter();
        pump(to, || from.next().map(|batch| mapped(&mut contents, batch)));
    });
}

/// Sends batches until there are no more, or nobody takes them.
fn pump<T>(to: SyncSender<Batch<T>>, mut next: impl FnMut() -> Option<Batch<T>>) {
    while let Some(batch) = next() {
        if to.send(batch).is_err() {
            return;
        }
    }
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

fn files(reader: &Reader) -> Vec<FileInfo> {
    reader.files().cloned().collect()
}

/// Reads the next batch; `None` at the end.
fn next_batch(reader: &mut Reader) -> Option<Batch<Result<DetachedRecord, ReadError>>> {
    let (mut items, mut bytes) = (Vec::with_capacity(RECORDS), 0);
    while items.len() < RECORDS && bytes < BYTES {
        let Some(item) = reader.next_detached().transpose() else { break };
        bytes += item.as_ref().map_or(0, DetachedRecord::length);
        items.push(item);
    }
    (!items.is_empty()).then(|| Batch { items, progress: reader.progress() })
}

fn mapped(contents: &mut Contents, batch: Batch<Result<DetachedRecord, ReadError>>) -> Batch<Item> {
    let with_content = |detached: DetachedRecord| {
        let content = contents.of(&detached.record());
        (detached, content)
    };
    let mut with_content = with_content;
    let items = batch.items.into_iter().map(|item| item.map(&mut with_content)).collect();
    Batch { items, progress: batch.progress }
}
