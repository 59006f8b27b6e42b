//! A token bucket, and the client-side rate limit with it (`--qps`, `--burst`).
//!
//! The arithmetic is that of client-go's flow control: the bucket starts full, has at most `burst` tokens, and gains
//! `qps` tokens per second. Requests wait for their token in the order of their arrival.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};
use tower::{Layer, Service};

/// Tokens that are refilled over time. Reservations can make their number negative.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    /// The tokens per second.
    rate: f64,
    /// The maximum number of tokens.
    burst: f64,
    /// The number of tokens at the time `at`. A negative number counts reserved tokens.
    tokens: f64,
    /// None before the first use.
    at: Option<Instant>,
}

impl TokenBucket {
    /// Returns a full bucket. There is no limit if `rate` is 0 or less.
    #[must_use]
    pub fn new(rate: f64, burst: u32) -> TokenBucket {
        let burst = f64::from(burst.max(1));
        TokenBucket { rate, burst, tokens: burst, at: None }
    }

    /// Takes a token.
    ///
    /// # Errors
    ///
    /// There is no token. The error is the time until the next one.
    pub fn take(&mut self, now: Instant) -> Result<(), Duration> {
        self.refill(now);
        if self.is_unlimited() || self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        Err(self.time_for(1.0 - self.tokens))
    }

    /// Reserves a token. Returns the time until it is available.
    pub fn reserve(&mut self, now: Instant) -> Duration {
        self.refill(now);
        if self.is_unlimited() {
            return Duration::ZERO;
        }
        self.tokens -= 1.0;
        self.time_for((-self.tokens).max(0.0))
    }

    fn is_unlimited(&self) -> bool {
        self.rate.is_nan() || self.rate <= 0.0
    }

    fn refill(&mut self, now: Instant) {
        let elapsed = self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.at = Some(now);
        if self.is_unlimited() {
            self.tokens = self.burst;
        } else {
            self.tokens = (self.tokens + elapsed.as_secs_f64() * self.rate).min(self.burst);
        }
    }

    /// Returns the time in which so many tokens are gained, rounded up to a microsecond.
    fn time_for(&self, tokens: f64) -> Duration {
        let micros = (tokens / self.rate * 1e6).ceil().clamp(0.0, 1e15);
        Duration::from_micros(micros as u64)
    }
}

/// One rate limit for all services of this layer.
#[derive(Clone, Debug)]
pub struct RateLimitLayer {
    bucket: Arc<Mutex<TokenBucket>>,
}

impl RateLimitLayer {
    /// Returns a limit of `qps` requests per second and `burst` requests at once. There is no limit if `qps` is 0 or less.
    #[must_use]
    pub fn new(qps: f64, burst: u32) -> RateLimitLayer {
        RateLimitLayer { bucket: Arc::new(Mutex::new(TokenBucket::new(qps, burst))) }
    }
}

impl<S> Layer<S> for RateLimitLayer {
    type Service = RateLimited<S>;

    fn layer(&self, inner: S) -> RateLimited<S> {
        RateLimited { inner, bucket: Arc::clone(&self.bucket), waiting: None, permitted: false }
    }
}

/// A service whose requests wait for a token.
///
/// The wait is in `poll_ready`. The buffer of kube polls for one request after the other, so requests keep their order,
/// and an abandoned request takes no token.
#[derive(Debug)]
pub struct RateLimited<S> {
    inner: S,
    bucket: Arc<Mutex<TokenBucket>>,
    waiting: Option<Pin<Box<Sleep>>>,
    permitted: bool,
}

impl<S: Clone> Clone for RateLimited<S> {
    /// Clones the service without its permit: each service waits for its own token.
    fn clone(&self) -> Self {
        RateLimited {
            inner: self.inner.clone(),
            bucket: Arc::clone(&self.bucket),
            waiting: None,
            permitted: false,
        }
    }
}

impl<S, R> Service<R> for RateLimited<S>
where
    S: Service<R>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        while !self.permitted {
            if let Some(waiting) = &mut self.waiting {
                ready!(waiting.as_mut().poll(context));
                self.waiting = None;
            }
            // The bucket of a poisoned lock is valid: its two numbers always agree.
            let taken = self.bucket.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now());
            match taken {
                Ok(()) => self.permitted = true,
                Err(wait) => self.waiting = Some(Box::pin(tokio::time::sleep(wait))),
            }
        }
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: R) -> S::Future {
        self.permitted = false;
        self.inner.call(request)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tower::{ServiceBuilder, ServiceExt, service_fn};

    use super::*;

    #[test]
    fn a_bucket_starts_full_and_refills_at_its_rate() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(10.0, 3);
        for _ in 0..3 {
            assert_eq!(bucket.take(start), Ok(()));
        }
        assert_eq!(bucket.take(start), Err(Duration::from_millis(100)));
        let later = start + Duration::from_millis(100);
        assert_eq!(bucket.take(later), Ok(()));
        assert_eq!(bucket.take(later), Err(Duration::from_millis(100)));
        // It never holds more than the burst.
        let much_later = start + Duration::from_secs(60);
        assert_eq!((0..10).filter(|_| bucket.take(much_later).is_ok()).count(), 3);
    }

    #[test]
    fn reservations_may_exceed_the_tokens() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(2.0, 1);
        assert_eq!(bucket.reserve(start), Duration::ZERO);
        assert_eq!(bucket.reserve(start), Duration::from_millis(500));
        assert_eq!(bucket.reserve(start), Duration::from_secs(1));
        assert_eq!(bucket.reserve(start + Duration::from_secs(10)), Duration::ZERO);
    }

    #[test]
    fn a_rate_of_zero_is_no_limit() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(0.0, 1);
        for _ in 0..1_000 {
            assert_eq!(bucket.take(start), Ok(()));
            assert_eq!(bucket.reserve(start), Duration::ZERO);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn requests_pass_in_order_at_the_rate() {
        let start = Instant::now();
        let service = service_fn(move |number: u32| async move {
            Ok::<_, Infallible>((number, start.elapsed().as_millis()))
        });
        let mut limited = ServiceBuilder::new().layer(RateLimitLayer::new(10.0, 2)).service(service);
        let mut seen = Vec::new();
        for number in 0..5 {
            seen.push(limited.ready().await.unwrap().call(number).await.unwrap());
        }
        // Timers of tokio are in milliseconds, rounded up.
        let waits: Vec<u128> = seen.iter().map(|(_, at)| at / 10 * 10).collect();
        assert_eq!(waits, [0, 0, 100, 200, 300]);
    }

    #[tokio::test(start_paused = true)]
    async fn polling_readiness_twice_takes_one_token() {
        let service = service_fn(|(): ()| async { Ok::<_, Infallible>(Instant::now()) });
        let mut limited = ServiceBuilder::new().layer(RateLimitLayer::new(1.0, 2)).service(service);
        let start = Instant::now();
        limited.ready().await.unwrap();
        limited.ready().await.unwrap();
        limited.ready().await.unwrap().call(()).await.unwrap();
        assert_eq!(limited.ready().await.unwrap().call(()).await.unwrap(), start);
    }
}
