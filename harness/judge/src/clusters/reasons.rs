//! The reasons why a Job is not compared with its copies, or only in part.

use jobcheck_spec::Req;

/// The requirements that are about counts and times of all copies that a Job has ever had.
pub(super) const ON_THE_PAST: [Req; 5] = [Req::MR20, Req::MR23, Req::MR30, Req::MR31, Req::MR33];
/// The reasons why a Job is not compared.
pub(super) const AMBIGUOUS: &str =
    "a copy may be of this Job or of another one with its name, since clocks differ. They cannot be compared";
pub(super) const MISSING: &str = "a write of the Job or of a copy may be missing, or may have been stored with a server error. It may be what \
                       contradicts the contract, so that they cannot be compared";
pub(super) const NO_COPY: &str = "the traces show no copy of the Job, so that its status cannot be compared";
pub(super) const NO_MANAGER: &str = "the trace of the manager has no write of jobs/status for a Job with its manager, so that nothing shows when it worked";
pub(super) const HOLE: &str =
    "a write is missing in the trace of a worker, so the removal of a copy may be missing, too";
pub(super) const ENDED: &str = "the trace of a worker ends before the Job counts more than its copies do, so that the counters cannot be compared";
pub(super) const UNSEEN: &str = "the trace of a worker has no request of the account that creates copies, so that its policy may leave out their deletion";
pub(super) const LATE: &str = "the traces do not show the creation of the Job or of a copy. Earlier copies may explain what contradicts the \
                    contract, so that they cannot be compared";
pub(super) const HIDDEN: &str =
    "the audit level hides a write of the Job or of a copy, so that they cannot be compared";
