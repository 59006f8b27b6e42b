//! With what a request fails.

use serde::{Deserialize, Serialize};

/// The HTTP status of a request that fails though nothing is wrong with it: one that an API server may answer, and that says
/// nothing untrue of the object. 404 is for `create` alone; 409 and 422 are for writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub enum FailureCode {
    /// 403, as a webhook or a quota answers.
    Forbidden,
    /// 404 to a creation: the namespace is gone.
    NotFound,
    /// 409: the quota, or the object, was written again and again meanwhile.
    Conflict,
    /// 422, as an admission policy or a webhook answers.
    Invalid,
    /// 429, with the advice to come again.
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

    /// The status.
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
            format!("no request fails with {code} here: write 403, 404, 409, 422, 429, 500 or 504")
        })
    }
}
