//! The profile mirror, with the example `between_clusters`.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jobcheck_report::types::Outcome;

use super::{Restartable, Site, assert_found, each, example, start};
use crate::support::controller;

const PROFILE: [&str; 6] = ["--profile", "mirror", "--cluster", "manager=hub", "--cluster", "worker=one"];

/// A network to a server, which is cut as long as a file exists.
struct Network {
    cut: PathBuf,
    address: String,
}

impl Network {
    fn to(server: &str, cut: PathBuf) -> Network {
        let (listener, server) = (TcpListener::bind("127.0.0.1:0").unwrap(), server.to_owned());
        let address = listener.local_addr().unwrap().to_string();
        let file = cut.clone();
        std::thread::spawn(move || {
            for here in listener.incoming().flatten().filter(|_| !file.exists()) {
                let Ok(there) = TcpStream::connect(&server) else { continue };
                let back = (there.try_clone().unwrap(), here.try_clone().unwrap());
                for (from, to) in [(here, there), back] {
                    let file = file.clone();
                    std::thread::spawn(move || forward(from, to, &file));
                }
            }
        });
        Network { cut, address }
    }
}

/// Copies bytes until an end is closed, or the network is cut.
fn forward(mut from: TcpStream, mut to: TcpStream, cut: &Path) {
    from.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut bytes = [0; 65_536];
    while !cut.exists() {
        match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) if to.write_all(&bytes[..count]).is_ok() => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Ok(_) | Err(_) => break,
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[test]
fn a_mirror_that_follows_the_protocol_passes_the_whole_profile() {
    let site = Site::new(&["hub", "one"]);
    let _executor = controller(&site.kubeconfigs[1]);
    let worker = std::fs::read_to_string(&site.kubeconfigs[1]).unwrap();
    let server = site.clusters.one("one")["server"].as_str().unwrap().to_owned();
    let address = server.strip_prefix("http://").unwrap();
    let network = Network::to(address, site.folder.path("cut"));
    let worker = site.folder.write("worker", worker.replace(address, &network.address));
    let (manager, managed_by) = (&*site.kubeconfigs[0], "example.com/mirror");
    let mirror = Restartable::start(
        &site.folder,
        &example("between_clusters"),
        &["--manager", manager, "--worker", worker.to_str().unwrap(), "--managed-by", managed_by],
    );
    let cut = network.cut.display();
    let hooks = [mirror.hook(), format!("disconnect=touch {cut}"), format!("reconnect=rm {cut}")];
    let mut arguments = vec!["--managed-by", managed_by, "--patience", "15s", "--skew", "0"];
    arguments.extend(hooks.iter().flat_map(|hook| ["--hook", hook]));
    let run = site.conform("out", &[&PROFILE[..], &arguments].concat());
    assert_eq!(run.code, 0, "{run:?}");
    // The example does not scale copies.
    site.assert_passes("out", &[("mirror/scale", Outcome::Inconclusive)]);
    assert!(site.report("out").scenarios.iter().all(|it| it.traces.len() == 2));
}

#[test]
fn a_mirror_with_a_defect_fails_for_the_requirement_that_it_breaks() {
    let site = Site::new(&["hub", "one"]);
    let _executor = controller(&site.kubeconfigs[1]);
    let cases = [
        ("completes-early", "success", "MR-01"),
        ("loses-indexes", "indexed", "MR-02"),
        ("copies-wholesale", "redispatch-after-failure", "MR-03"),
        ("starts-in-the-past", "success", "MR-04"),
        ("starts-suspended", "created-suspended", "MR-05"),
        ("drops-conditions", "condition-of-others", "MR-06"),
        ("leaves-out-interim", "success", "MR-07"),
        ("hot-loop", "success", "MR-09"),
        ("restless", "rest", "MR-10"),
        ("ends-active", "success", "MR-11"),
        ("counts-too-many", "success", "MR-12"),
        ("ignores-suspend", "suspend-resume", "MR-13"),
        ("has-no-times", "success", "MR-14"),
        ("hides-active", "success", "MR-20"),
        ("never-finishes", "success", "MR-21"),
        ("reports-late", "copy-deleted-at-its-end", "MR-22"),
        ("finds-by-name", "recreated", "MR-23"),
        ("copies-wholesale", "redispatch-after-success", "MR-24"),
        ("keeps-copies", "delete", "MR-25"),
        ("deletes-by-name", "name-taken", "MR-25"),
        ("reports-late", "ttl", "MR-22"),
        ("stuck-suspended", "suspend-resume", "MR-27"),
    ];
    each(&cases, |case| assert_caught(&site, *case));
    // This one takes the Jobs of all others.
    assert_caught(&site, ("writes-strangers", "strangers", "MR-15"));
}

/// Asserts that a mirror with this defect fails its scenario for the requirement that it breaks.
fn assert_caught(site: &Site, (defect, scenario, broken): (&str, &str, &str)) {
    let [manager, worker] = &site.kubeconfigs[..] else { panic!("two clusters") };
    let managed_by = format!("example.com/{defect}-{scenario}");
    let arguments =
        ["--manager", manager, "--worker", worker, "--managed-by", &managed_by, "--defect", defect];
    let _mirror = start("between_clusters", &arguments);
    // MR-12 is a recommendation.
    let strict: &[&str] = if broken == "MR-12" { &["--strict"] } else { &[] };
    let more = ["--managed-by", &managed_by, "--patience", "8s", "--skew", "0", scenario];
    let out = format!("{defect}-{scenario}");
    let run = site.conform(&out, &[&PROFILE[..], &more, strict].concat());
    assert_found(&run, &site.report(&out), broken);
}
