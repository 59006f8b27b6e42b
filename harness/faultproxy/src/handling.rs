//! What becomes of a request.

use serde_json::{Value, json};
use tokio::sync::oneshot;

/// What becomes of a request.
#[derive(Debug)]
pub enum Handling {
    /// It is handled, and answered.
    Forward,
    /// It is answered so, and never reaches the API server.
    Refuse(Refusal),
    /// It is answered with this `Status`, and never reaches the API server.
    RefuseWith(Value),
    /// Its connection is cut, and it never reaches the API server.
    Cut,
    /// It is handled, and this takes the place of the answer.
    AnswerWith(Refusal),
    /// It is handled, and its connection is cut.
    LoseAnswer,
    /// It waits until it is let go, and is handled then, whether its sender is still there or not.
    Hold(Held),
}

/// An answer that an API server gives to what it does not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 409.
    Conflict,
    /// 410: the version asked for is forgotten.
    Expired,
    /// 422.
    Invalid,
    /// 429, with the advice to come again after a second.
    TooManyRequests,
    /// 500.
    InternalError,
    /// 504: it may have been handled, or not.
    Timeout,
}

impl Refusal {
    /// The HTTP status.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Refusal::Forbidden => 403,
            Refusal::NotFound => 404,
            Refusal::Conflict => 409,
            Refusal::Expired => 410,
            Refusal::Invalid => 422,
            Refusal::TooManyRequests => 429,
            Refusal::InternalError => 500,
            Refusal::Timeout => 504,
        }
    }

    /// `StatusReason` of k8s.io/apimachinery: clients decide by it, not by the code.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Refusal::Forbidden => "Forbidden",
            Refusal::NotFound => "NotFound",
            Refusal::Conflict => "Conflict",
            Refusal::Expired => "Expired",
            Refusal::Invalid => "Invalid",
            Refusal::TooManyRequests => "TooManyRequests",
            Refusal::InternalError => "InternalError",
            Refusal::Timeout => "Timeout",
        }
    }

    /// The `Status` that says it.
    pub(crate) fn status(self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "answered by the fault proxy", "reason": self.reason(), "code": self.code(),
        });
        if self == Refusal::TooManyRequests {
            status["details"] = json!({ "retryAfterSeconds": 1 });
        }
        status
    }
}

/// A request that waits.
#[derive(Debug)]
pub struct Held {
    go: oneshot::Receiver<()>,
    landed: oneshot::Sender<u16>,
}

/// Lets a request go that waits. Dropped, it lets the request be forgotten, and its connection is cut.
#[derive(Debug)]
pub struct Late {
    go: oneshot::Sender<()>,
    landed: oneshot::Receiver<u16>,
}

/// The two ends of a request that is to wait.
#[must_use]
pub fn held() -> (Held, Late) {
    let (go, going) = oneshot::channel();
    let (land, landed) = oneshot::channel();
    (Held { go: going, landed: land }, Late { go, landed })
}

impl Held {
    /// Waits; whether it is to go on, and where to tell the code of the answer.
    pub(crate) async fn wait(self) -> Option<oneshot::Sender<u16>> {
        self.go.await.ok().map(|()| self.landed)
    }
}

impl Late {
    /// Lets it go, and waits for the code of its answer; none if it never came to the API server, or was not answered.
    pub async fn land(self) -> Option<u16> {
        self.go.send(()).ok()?;
        self.landed.await.ok()
    }
}
