//! The HTTP status codes with which a request can fail.

use serde::{Deserialize, Serialize};

/// The HTTP status with which a valid request fails.
///
/// An API server may send each of them to a valid request, and none makes a false statement about the object. 404 is
/// only for `create`. 409 and 422 are only for writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub enum FailureCode {
    /// 403, the answer of a webhook or a quota.
    Forbidden,
    /// 404 to a creation: the namespace does not exist any more.
    NotFound,
    /// 409: the quota or the object was modified at the same time, or a webhook denies the request with this code.
    Conflict,
    /// 422, the answer of an admission policy.
    Invalid,
    /// 429, with a `Retry-After`.
    TooManyRequests,
    /// 500.
    InternalError,
    /// 504.
    Timeout,
}

impl FailureCode {
    const ALL: [FailureCode; 7] = [
        FailureCode::Forbidden,
        FailureCode::NotFound,
        FailureCode::Conflict,
        FailureCode::Invalid,
        FailureCode::TooManyRequests,
        FailureCode::InternalError,
        FailureCode::Timeout,
    ];

    /// Returns the status as a number.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            FailureCode::Forbidden => 403,
            FailureCode::NotFound => 404,
            FailureCode::Conflict => 409,
            FailureCode::Invalid => 422,
            FailureCode::TooManyRequests => 429,
            FailureCode::InternalError => 500,
            FailureCode::Timeout => 504,
        }
    }
}

impl From<FailureCode> for u16 {
    fn from(code: FailureCode) -> u16 {
        code.code()
    }
}

impl TryFrom<u16> for FailureCode {
    type Error = String;

    fn try_from(code: u16) -> Result<FailureCode, String> {
        let named = |it: &FailureCode| it.code() == code;
        FailureCode::ALL.into_iter().find(named).ok_or_else(|| {
            format!("a scenario cannot fail a request with {code}: write 403, 404, 409, 422, 429, 500 or 504")
        })
    }
}
