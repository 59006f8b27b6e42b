//! What a process knows of a pod because it wrote it itself (judging.md 1).

use jobcheck_spec::pod::Pod;

/// What the manager did to a pod, as far as it knows of it without its cache.
#[derive(Clone, Debug)]
pub enum OwnWrite {
    /// It created the pod.
    Gain(Box<Pod>),
    /// It made itself the pod's controller.
    Adopt(Box<Pod>),
    /// It removed the tracking finalizer.
    Release,
    /// It deleted the pod.
    Delete,
    /// It gave up being the pod's controller.
    GiveUp,
    /// It was told that there is no such pod any more.
    Miss,
}

impl OwnWrite {
    /// The pod with this write, if it lacks it.
    #[must_use]
    pub fn fold(&self, pod: Option<Pod>) -> Option<Pod> {
        match self {
            OwnWrite::Gain(gained) => pod.or_else(|| Some((**gained).clone())),
            OwnWrite::Adopt(adopted) => {
                pod.filter(|pod| pod.controlled).or_else(|| Some((**adopted).clone()))
            }
            OwnWrite::Release => pod.map(|pod| Pod { finalizer: false, ..pod }),
            OwnWrite::Delete => pod.map(|pod| Pod { deleting: true, ..pod }),
            OwnWrite::GiveUp => None,
            // What was to be deleted is gone; of another it learns no more than that nothing holds it.
            OwnWrite::Miss => pod.filter(|pod| !pod.is_active()).map(|pod| Pod { finalizer: false, ..pod }),
        }
    }

    /// Whether a sync does it before it looks at its pods (FT-25, FT-26), or to pods that it looks at no more: what
    /// the finalizers that it removes held is recorded.
    #[must_use]
    pub fn precedes_the_count(&self) -> bool {
        match self {
            OwnWrite::Adopt(_) | OwnWrite::GiveUp | OwnWrite::Release => true,
            OwnWrite::Gain(_) | OwnWrite::Delete | OwnWrite::Miss => false,
        }
    }
}
