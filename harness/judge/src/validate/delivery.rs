//! The agreement between the sender of a request and the API server about it.

use super::observed::Observer;

/// The knowledge of the sender about the response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Response {
    /// The sender got the response.
    #[default]
    Heard,
    /// The sender got no response, so only its caches show it the effect.
    Lost,
}

/// The process that sent a request, when the API server handled it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sender {
    /// It runs.
    #[default]
    Alive,
    /// It may have been replaced. The sign: the actor was silent for a second or more, and sent other requests before
    /// this response.
    MaybeReplaced,
    /// The trace shows that it was started at most a tenth of a second before the request was received. The process before it may
    /// have sent the request.
    JustStarted,
    /// It had been terminated. Its decision is as old as the receipt of the request.
    Replaced,
}

/// The delivery of a request and of its response.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    /// The knowledge of the sender.
    pub response: Response,
    /// The process of the sender.
    pub sender: Sender,
    /// The trace attributes the refusal to an injected fault, so that it is no response of the API server.
    pub injected: bool,
    /// The sender, if the trace states what its caches had shown.
    pub observer: Option<Observer>,
}
