//! The first questions to an API server, which may be overloaded.

use std::future::Future;
use std::time::Duration;

use thiserror::Error;
use tokio::time::{Instant, sleep, timeout};

use crate::error::with_causes;

/// The time for which a question is repeated that an overloaded API server does not answer.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// The time in which a response must arrive.
pub const RESPONSE_TIME: Duration = Duration::from_secs(20);
/// The delay after the first failure. It doubles with each further one, up to the maximum.
const DELAY: Duration = Duration::from_secs(1);
const DELAY_MAX: Duration = Duration::from_secs(10);

/// The reason why a question has no answer.
#[derive(Debug, Error)]
pub enum Unanswered {
    /// There was no response in time.
    #[error("no response within {} s", RESPONSE_TIME.as_secs())]
    Silent,
    /// The response was an error.
    #[error("{}", with_causes(.0))]
    Failed(kube::Error),
}

/// Asks a question until it is answered, for [`PATIENCE`] while the API server responds with 429 or 5xx. Otherwise a
/// process that starts during an overload would end, and its restarts would add to the overload.
///
/// `waiting` receives the reason before each delay.
///
/// # Errors
///
/// There was no response within [`RESPONSE_TIME`], or the last response is an error.
pub async fn patiently<T, F>(
    mut ask: impl FnMut() -> F,
    mut waiting: impl FnMut(&str),
) -> Result<T, Unanswered>
where
    F: Future<Output = kube::Result<T>>,
{
    let end = Instant::now() + PATIENCE;
    let mut delay = DELAY;
    loop {
        let error = match timeout(RESPONSE_TIME, ask()).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error,
            Err(_) => return Err(Unanswered::Silent),
        };
        let wait = delay.max(asked_delay(&error)).min(DELAY_MAX);
        if !is_overload(&error) || Instant::now() + wait > end {
            return Err(Unanswered::Failed(error));
        }
        waiting(&with_causes(&error));
        sleep(wait).await;
        delay *= 2;
    }
}

fn is_overload(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 429 || status.code >= 500)
}

/// The delay that the API server asks for.
fn asked_delay(error: &kube::Error) -> Duration {
    let kube::Error::Api(status) = error else { return Duration::ZERO };
    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    Duration::from_secs(seconds.into())
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn failure(code: u16) -> kube::Error {
        kube::Error::Api(Status::failure("busy", "").with_code(code).boxed())
    }

    /// Answers after this number of failures. Returns the result, the number of questions, and the time.
    async fn asked(failures: usize, code: u16) -> (Result<(), Unanswered>, usize, Duration) {
        let (begin, mut asked, mut told) = (Instant::now(), 0, 0);
        let ask = || {
            asked += 1;
            let answer = if asked > failures { Ok(()) } else { Err(failure(code)) };
            async { answer }
        };
        let result = patiently(ask, |_| told += 1).await;
        assert_eq!(told, asked - 1);
        (result, asked, begin.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn an_overloaded_server_is_asked_again_for_a_minute() {
        for code in [429, 500, 503] {
            let (result, questions, _) = asked(5, code).await;
            assert!(result.is_ok() && questions == 6, "{code}: {result:?} {questions}");
            let (result, questions, time) = asked(usize::MAX, code).await;
            assert!(result.unwrap_err().to_string().contains("busy"));
            assert!(
                (5..20).contains(&questions) && time > PATIENCE / 2 && time <= PATIENCE,
                "{questions} {time:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_final() {
        for code in [400, 401, 403, 404] {
            assert_eq!(asked(1, code).await.1, 1, "{code}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_delay_that_the_server_asks_for_is_bounded() {
        let mut status = *Status::failure("busy", "").with_code(429).boxed();
        status.details = Some(kube::core::response::StatusDetails {
            name: String::new(),
            group: String::new(),
            kind: String::new(),
            uid: String::new(),
            causes: Vec::new(),
            retry_after_seconds: u32::MAX,
        });
        let begin = Instant::now();
        let mut answers = vec![Ok(()), Err(kube::Error::Api(Box::new(status)))];
        patiently(|| std::future::ready(answers.pop().unwrap()), |_| {}).await.unwrap();
        assert_eq!(begin.elapsed(), DELAY_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn a_frozen_server_is_an_error() {
        let begin = Instant::now();
        let never = || std::future::pending::<kube::Result<()>>();
        let error = patiently(never, |_| {}).await.unwrap_err();
        assert_eq!(
            (error.to_string(), begin.elapsed()),
            ("no response within 20 s".to_owned(), RESPONSE_TIME)
        );
    }
}
