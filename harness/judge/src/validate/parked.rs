//! Finished Jobs as bytes.
//!
//! The bytes are those of every part of a [`Track`], so that nothing is lost. Jobs from one template differ little: they
//! are compressed with the first of them as a sample.

use std::sync::{Arc, LazyLock};

use jobcheck_spec::job::{Job, JobMetadata, JobSpec, JobStatus, Text};
use jobcheck_spec::{Time, Uid};
use lz4_flex::block::{compress_prepend_size_with_dict, decompress_size_prepended_with_dict};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::track::Track;

/// Maximum number of samples.
const SAMPLES: usize = 1024;

/// Stands for the stored Job in the bytes of a parked Job. Its UID is empty, and that of a parked Job is not.
static STORED: LazyLock<Arc<Job>> = LazyLock::new(|| {
    Arc::new(Job {
        uid: Uid::EMPTY,
        name: "".into(),
        namespace: "".into(),
        generation: 0,
        created: Time(0),
        deleting: false,
        finalizers: Vec::new(),
        metadata: METADATA.clone(),
        probes_digest: 0,
        spec: SPEC.clone(),
        status: JobStatus::default(),
    })
});
/// Stands for a specification, or for metadata, that is that of the stored Job.
static SPEC: LazyLock<Arc<JobSpec>> = LazyLock::new(Arc::default);
static METADATA: LazyLock<Arc<JobMetadata>> = LazyLock::new(Arc::default);

/// The parts that the previous version of a Job shares with the stored one.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Shared {
    spec: bool,
    metadata: bool,
}

impl Track {
    /// Returns `true` if the Job has reached its end, and etcd still holds it.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.stored.as_ref().is_some_and(|job| job.status.is_finished())
    }

    /// Returns `true` if hardly anything will happen to the Job. A Job with a long report is not parked.
    pub fn is_parkable(&self) -> bool {
        let is_reported = !self.results.violations.is_empty()
            || !self.results.withheld.is_empty()
            || self.account.life.is_some();
        self.is_finished() && !self.history.holds_finalizers() && !is_reported && self.id.uid != Uid::EMPTY
    }

    /// Replaces what is shared with the stored Job by what stands for it, so that it is written once.
    fn fold(&mut self) -> Shared {
        let mut shared = Shared::default();
        let Some(stored) = &self.stored else { return shared };
        self.process.frontier.replace_jobs(|job| {
            if Arc::ptr_eq(job, stored) {
                *job = STORED.clone();
            }
        });
        if let Some((replaced, _)) = &mut self.times.replaced {
            shared.spec = Arc::ptr_eq(&replaced.spec, &stored.spec);
            shared.metadata = Arc::ptr_eq(&replaced.metadata, &stored.metadata);
            share(replaced, shared, &SPEC, &METADATA);
        }
        shared
    }

    /// Undoes [`Track::fold`].
    fn unfold(&mut self, shared: Shared) {
        let Some(stored) = &self.stored else { return };
        self.process.frontier.replace_jobs(|job| {
            if job.uid == Uid::EMPTY {
                *job = stored.clone();
            }
        });
        if let Some((replaced, _)) = &mut self.times.replaced {
            share(replaced, shared, &stored.spec, &stored.metadata);
        }
    }
}

fn share(job: &mut Arc<Job>, shared: Shared, spec: &Arc<JobSpec>, metadata: &Arc<JobMetadata>) {
    let job = Arc::make_mut(job);
    if shared.spec {
        job.spec = spec.clone();
    }
    if shared.metadata {
        job.metadata = metadata.clone();
    }
}

/// The content of the bytes. The name comes first, so that it can be read alone.
type Parts<T> = (Text, Text, usize, Shared, T);

/// A parked Job.
#[derive(Debug)]
pub struct Parked {
    /// The compressed bytes, behind the number of their sample.
    bytes: Box<[u8]>,
}

/// The parts that parked Jobs have in common.
#[derive(Debug, Default)]
pub struct Shelf {
    /// The bytes of a Job of each template.
    samples: Vec<Vec<u8>>,
    /// The numbers of the samples by the digest of the template.
    of_template: FxHashMap<u64, u16>,
}

/// Length of the number of a sample.
const NUMBER: usize = size_of::<u16>();

impl Shelf {
    /// Parks a Job that has received this number of notices.
    pub fn park(&mut self, track: &mut Track, received: usize) -> Parked {
        let template = track.stored.as_ref().map_or(0, |job| job.spec.template.fixed_digest);
        let shared = track.fold();
        let parts: Parts<&Track> =
            (track.id.namespace.clone(), track.id.name.clone(), received, shared, track);
        let plain = postcard::to_stdvec(&parts).expect("the lengths of all parts are known");
        let sample = self.sample(template, &plain);
        let compressed = compress_prepend_size_with_dict(&plain, self.bytes_of(sample));
        Parked { bytes: [&sample.to_le_bytes(), &*compressed].concat().into() }
    }

    /// The number of the sample for a template. These bytes become one if there is none yet.
    fn sample(&mut self, template: u64, plain: &[u8]) -> u16 {
        let next = u16::try_from(self.samples.len()).unwrap_or(u16::MAX);
        if self.samples.len() >= SAMPLES {
            return self.of_template.get(&template).copied().unwrap_or(next);
        }
        *self.of_template.entry(template).or_insert_with(|| {
            self.samples.push(plain.to_vec());
            next
        })
    }

    /// The bytes of a sample; none if there is no room for one.
    fn bytes_of(&self, sample: u16) -> &[u8] {
        self.samples.get(usize::from(sample)).map_or(&[], Vec::as_slice)
    }

    fn plain(&self, parked: &Parked) -> Vec<u8> {
        let (number, compressed) = parked.bytes.split_at(NUMBER);
        let sample = self.bytes_of(u16::from_le_bytes([number[0], number[1]]));
        decompress_size_prepended_with_dict(compressed, sample).expect("bytes of this module")
    }

    /// The namespace and name of a parked Job.
    #[must_use]
    pub fn name(&self, parked: &Parked) -> (Text, Text) {
        postcard::take_from_bytes(&self.plain(parked)).expect("bytes of this module").0
    }

    /// The Job as it was, and the number of notices that it has received.
    #[must_use]
    pub fn unpark(&self, parked: &Parked) -> (usize, Box<Track>) {
        let (_, _, received, shared, mut track): Parts<Box<Track>> =
            postcard::from_bytes(&self.plain(parked)).expect("bytes of this module");
        track.unfold(shared);
        (received, track)
    }
}
