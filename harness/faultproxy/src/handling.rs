//! The handling of requests.

use serde_json::{Value, json};
use tokio::sync::oneshot;

/// The handling of a request.
#[derive(Debug)]
pub enum Handling {
    /// The request is forwarded, and the client gets the response.
    Forward,
    /// The client gets this refusal. The request never reaches the API server.
    Refuse(Refusal),
    /// The client gets this `Status`. The request never reaches the API server.
    RefuseWith(Value),
    /// The connection is cut. The request never reaches the API server.
    Cut,
    /// The request is forwarded. The client gets this refusal instead of the response.
    RespondWith(Refusal),
    /// The request is forwarded. Then the connection is cut, so that the response is lost.
    LoseResponse,
    /// The request waits for [`HeldRequest::deliver`] and is forwarded then, also if its sender has disconnected.
    Hold(Hold),
}

/// A refusal as API servers send it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Code 403.
    Forbidden,
    /// Code 404.
    NotFound,
    /// Code 409.
    Conflict,
    /// Code 410: the requested version was compacted.
    Expired,
    /// Code 422.
    Invalid,
    /// Code 429, with a retry after one second.
    TooManyRequests,
    /// Code 500.
    InternalError,
    /// Code 504: the request may or may not have been carried out.
    Timeout,
}

impl Refusal {
    /// The HTTP code.
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

    /// The `StatusReason` of k8s.io/apimachinery. Clients decide by it, not by the code.
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

    /// The refusal as a `Status`.
    pub(crate) fn status(self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "injected by the fault proxy", "reason": self.reason(), "code": self.code(),
        });
        if self == Refusal::TooManyRequests {
            status["details"] = json!({ "retryAfterSeconds": 1 });
        }
        status
    }
}

/// The proxy's end of a held request.
#[derive(Debug)]
pub struct Hold {
    go: oneshot::Receiver<()>,
    delivered: oneshot::Sender<u16>,
}

/// The caller's end of a held request. If it is dropped, the request is discarded and its connection is cut.
#[derive(Debug)]
pub struct HeldRequest {
    go: oneshot::Sender<()>,
    delivered: oneshot::Receiver<u16>,
}

/// Returns the two ends of a request that will be held.
#[must_use]
pub fn hold() -> (Hold, HeldRequest) {
    let (go, going) = oneshot::channel();
    let (land, delivered) = oneshot::channel();
    (Hold { go: going, delivered: land }, HeldRequest { go, delivered })
}

impl Hold {
    /// Waits for the delivery. Returns the channel for the code of the response, or `None` if the request is
    /// discarded.
    pub(crate) async fn wait(self) -> Option<oneshot::Sender<u16>> {
        self.go.await.ok().map(|()| self.delivered)
    }
}

impl HeldRequest {
    /// Delivers the request, and returns the code of the response. `None` if the request did not reach the API
    /// server, or got no response.
    pub async fn deliver(self) -> Option<u16> {
        self.go.send(()).ok()?;
        self.delivered.await.ok()
    }
}
