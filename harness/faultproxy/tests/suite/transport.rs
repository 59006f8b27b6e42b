//! TLS, tokens, and the shutdown.

use std::time::Duration;

use jobcheck_faultproxy::{FaultProxy, Watched};
use kube::config::AuthInfo;
use kube::{Client, Config};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use crate::support::{PODS, Upstream, Watch, client, config, create, proxied, send, until};

#[tokio::test]
async fn a_proxy_before_a_proxy_speaks_tls_on_both_sides() {
    let upstream = Upstream::new().await;
    let (behind, _, _) = proxied(&upstream).await;
    let before = FaultProxy::of(config(&behind).await).start().await.unwrap();
    let client = client(&before).await;
    let mut watch = Watch::of(&client, &format!("{PODS}?watch=1&resourceVersion=0")).await;
    assert_eq!(create(&client, "a").await, Some(201));
    assert_eq!(watch.next_event().await, "ADDED a");
    assert_eq!((before.open(Watched::Pods), behind.open(Watched::Pods)), (1, 1));
}

#[tokio::test]
async fn a_token_is_required_and_other_tokens_are_passed_on() {
    let upstream = Upstream::new().await;
    let (behind, _, _) = proxied(&upstream).await;
    let before = FaultProxy::of(config(&behind).await).start().await.unwrap();
    let mut bare = config(&before).await;
    bare.auth_info = AuthInfo::default();
    let bare = Client::try_from(bare).unwrap();
    let (code, status) = send(&bare, "GET", PODS, &Value::Null).await.unwrap();
    assert_eq!((code, status["reason"].as_str()), (401, Some("Unauthorized")));
    // The first proxy gets the token of the second one.
    let mut passing = config(&before).await;
    passing.auth_info = config(&behind).await.auth_info;
    let passing = Client::try_from(passing).unwrap();
    assert_eq!(send(&passing, "GET", PODS, &Value::Null).await.unwrap().0, 200);
}

#[tokio::test]
async fn a_missing_api_server_is_reported_at_once() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", taken.local_addr().unwrap());
    drop(taken);
    let error = FaultProxy::of(Config::new(url.parse().unwrap())).start().await.err().unwrap().to_string();
    assert!(error.starts_with(&format!("cannot reach the API server {url}: ")), "{error}");
    assert!(error.contains("refused"), "{error}");
}

#[tokio::test]
async fn a_shutdown_cuts_open_connections() {
    let upstream = Upstream::new().await;
    let (proxy, _, client) = proxied(&upstream).await;
    let mut watch = Watch::of(&client, &format!("{PODS}?watch=1&resourceVersion=0")).await;
    // A client that has sent nothing yet.
    let address = proxy.url().trim_start_matches("https://").to_owned();
    let _silent = TcpStream::connect(&address).await.unwrap();
    until(|| proxy.open(Watched::Pods) == 1).await;
    tokio::time::timeout(Duration::from_secs(60), proxy.stop()).await.expect("an end within a minute");
    assert!(!matches!(watch.next().await, Ok(Some(_))));
    assert_eq!(create(&client, "a").await, None);
    assert!(TcpStream::connect(&address).await.is_err());
}

/// Connections without a handshake take no place from clients, and a client without the token gets nothing else.
#[tokio::test]
async fn silent_and_talkative_strangers_do_not_keep_a_client_out() {
    let upstream = Upstream::new().await;
    let (proxy, _, client) = proxied(&upstream).await;
    let address = proxy.url().trim_start_matches("https://").to_owned();
    let mut strangers = Vec::new();
    for number in 0..600 {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        if number % 2 == 0 {
            // The beginning of a handshake, and plain HTTP.
            let sent: &[u8] =
                if number % 4 == 0 { b"\x16\x03\x01\x02\x00\x01" } else { b"GET / HTTP/1.1\r\n\r\n" };
            stream.write_all(sent).await.unwrap();
        }
        strangers.push(stream);
    }
    let created = tokio::time::timeout(Duration::from_secs(20), create(&client, "a")).await;
    assert_eq!(created.expect("a response within 20 s"), Some(201));
    assert_eq!(upstream.pods(), ["a"]);
}
