//! The effects of a process's own writes on its knowledge of a pod (`docs/reference/judging.md`, *View and truth*).

use jobcheck_spec::pod::Pod;
use serde::{Deserialize, Serialize};

/// A write of the manager to a pod that it knows about without its cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum OwnWrite {
    /// It created the pod.
    Create(Box<Pod>),
    /// It adopted the pod.
    Adopt(Box<Pod>),
    /// It removed the tracking finalizer.
    RemoveFinalizer,
    /// It deleted the pod.
    Delete,
    /// It released the pod.
    Release,
    /// A request returned 404, so the pod is gone.
    Miss,
}

impl OwnWrite {
    /// The pod with this write.
    #[must_use]
    pub fn fold(&self, pod: Option<Pod>) -> Option<Pod> {
        match self {
            OwnWrite::Create(created) => pod.or_else(|| Some((**created).clone())),
            OwnWrite::Adopt(adopted) => {
                pod.filter(|pod| pod.controlled).or_else(|| Some((**adopted).clone()))
            }
            OwnWrite::RemoveFinalizer => pod.map(|pod| Pod { finalizer: false, ..pod }),
            OwnWrite::Delete => pod.map(|pod| Pod { deleting: true, ..pod }),
            OwnWrite::Release => None,
            // An active pod that was to be deleted is gone. For any other pod the process learns only that it holds no
            // finalizer.
            OwnWrite::Miss => pod.filter(|pod| !pod.is_active()).map(|pod| Pod { finalizer: false, ..pod }),
        }
    }

    /// Returns `true` for writes that a sync makes before it counts its pods (FT-25, FT-26), and for finalizer
    /// removals, since these pods are recorded already.
    #[must_use]
    pub fn precedes_the_count(&self) -> bool {
        match self {
            OwnWrite::Adopt(_) | OwnWrite::Release | OwnWrite::RemoveFinalizer => true,
            OwnWrite::Create(_) | OwnWrite::Delete | OwnWrite::Miss => false,
        }
    }
}
