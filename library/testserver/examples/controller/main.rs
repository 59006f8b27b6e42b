//! The small controller under test: `cargo run -p jobcheck-testserver --example controller`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "an example prints its result")]

mod reconcile;

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use jobcheck_testserver::{Faults, Manages, TestServer, Verdict};
use k8s_openapi::api::{batch::v1::Job, core::v1::Pod};
use k8s_openapi::jiff::Timestamp;
use kube::runtime::{Controller, controller::Action, watcher::Config};
use kube::{Api, Client, api::PostParams};
use reconcile::{Context, reconcile};
use serde_json::json;

/// Runs one Job to its end, with the faults of this seed.
async fn tested(managed_by: Option<&str>, is_hasty: bool, seed: u64) -> Verdict {
    let faults = Faults { conflicts: 50, errors: 100, lost_responses: 50, ..Faults::none() };
    let manages = managed_by.map_or(Manages::Unmanaged, |_| Manages::Pods);
    let server = TestServer::builder().seed(seed).faults(faults).manages(manages).start();
    let (clock, client) = (server.clock(), Client::new(server.service(), "default"));
    let now = move || Timestamp::try_from(clock()).unwrap().strftime("%FT%TZ").to_string();
    let context = Arc::new(Context { client: client.clone(), now: Box::new(now), is_hasty });
    let retry = |_: Arc<Job>, _: &kube::Error, _| Action::requeue(Duration::from_secs(1));
    let jobs = Controller::new(Api::<Job>::default_namespaced(client.clone()), Config::default());
    let controller = jobs.owns(Api::<Pod>::default_namespaced(client), Config::default());
    let running = tokio::spawn(controller.run(reconcile, retry, context).for_each(|_| async {}));

    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}});
    let spec = json!({"managedBy": managed_by, "template": template});
    let job: Job = serde_json::from_value(json!({"metadata": {"name": "pi"}, "spec": spec})).unwrap();
    let user = Api::<Job>::default_namespaced(Client::new(server.service_of("alice"), "default"));
    user.create(&PostParams::default(), &job).await.unwrap();
    server.finished("default", "pi").await.unwrap_or_else(|late| panic!("{late}"));
    running.abort();
    server.verdict()
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    for managed_by in [None, Some("example.com/small")] {
        for seed in 0..20 {
            tested(managed_by, false, seed).await.check();
        }
        let wrong = tested(managed_by, true, 0).await;
        assert!(wrong.violated().contains(&"FT-03".to_owned()), "{wrong}");
        println!("{wrong}");
    }
}
