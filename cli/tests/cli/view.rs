//! `jobcheck view`: the page, and the page in a browser.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::support::{Folder, Run, binary, finish, jobcheck, lines, recording, replay};

/// The example of the guide: a finalizer is removed too early, on line 10.
fn released() -> PathBuf {
    recording("x")
        .parent()
        .unwrap()
        .with_file_name("invalid")
        .join("FT-03--released-before-recorded.audit.jsonl")
}

fn view(arguments: &[&str], file: &Path) -> Run {
    let arguments = arguments.iter().map(std::ffi::OsStr::new).chain([file.as_os_str()]);
    finish(binary().arg("view").args(arguments), b"")
}

/// Writes a page. Returns its name.
fn page(folder: &Folder, name: &str, arguments: &[&str]) -> PathBuf {
    let file = folder.path(name);
    let run = jobcheck(["view", "-o", file.to_str().unwrap()].iter().chain(arguments));
    assert!(run.out.is_empty() && run.err.contains("is written; open it in a browser"), "{run:?}");
    file
}

/// The data in a page.
fn data(html: &str) -> Value {
    let (_, rest) = html.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// A recording with this number of further changes of a pod, which alternates between ready and not ready.
fn long(steps: u64) -> Vec<String> {
    fn spread(value: &mut Value) {
        match value {
            Value::Object(members) => members.iter_mut().for_each(|(key, value)| match value.as_str() {
                Some(version) if key == "resourceVersion" => *value = json!(format!("{version}000000")),
                _ => spread(value),
            }),
            Value::Array(items) => items.iter_mut().for_each(spread),
            _ => {}
        }
    }
    let mut events: Vec<Value> =
        lines("nonindexed-success.audit").iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    events.iter_mut().for_each(spread);
    let at = events.iter().position(|it| it["responseObject"]["status"]["phase"] == "Running").unwrap();
    let running = events[at].clone();
    let copy = |number: u64| {
        let mut event = running.clone();
        let version: u64 =
            running["responseObject"]["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        event["auditID"] = json!(format!("00000000-0000-0000-0000-{number:012}"));
        event["responseObject"]["metadata"]["resourceVersion"] = json!((version + number).to_string());
        event["responseObject"]["metadata"]["labels"]["turn"] = json!(number.to_string());
        for condition in event["responseObject"]["status"]["conditions"].as_array_mut().unwrap() {
            if condition["type"] == "Ready" && number.is_multiple_of(50) {
                condition["status"] = json!("False");
            }
        }
        event
    };
    let copies: Vec<Value> = (1..=steps).map(copy).collect();
    events.splice(at + 1..at + 1, copies);
    events.iter().map(Value::to_string).collect()
}

#[test]
fn a_page_has_the_verdict_of_replay_and_the_step_of_the_violation() {
    let run = view(&[], &released());
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    let data = data(&run.out);
    let finding = &data["jobs"][0]["findings"][0];
    assert_eq!((&finding["requirement"], &finding["line"]), (&json!("FT-03"), &json!(10)));
    let step = &data["steps"][usize::try_from(finding["step"].as_u64().unwrap()).unwrap()];
    assert_eq!(
        (&step["line"], &step["what"]),
        (&json!(10), &json!("removes the tracking finalizer of pod job-dplbc"))
    );
    assert!(
        data["rules"]["FT-03"]["reason"].as_str().unwrap().contains("its result is lost"),
        "{}",
        data["rules"]["FT-03"]
    );
    assert_eq!(view(&[], &recording("nonindexed-success.audit")).code, 0);
}

#[test]
fn a_page_is_one_file_that_asks_for_nothing() {
    let run = view(&[], &released());
    let (_, policy) = run.out.split_once("http-equiv=\"Content-Security-Policy\" content=\"").unwrap();
    let policy = policy.split('"').next().unwrap();
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-") && !policy.contains("unsafe"),
        "{policy}"
    );
    for foreign in ["src=", "href=", "url(", "@import", "<link", "<iframe", " style=\""] {
        assert!(!run.out.contains(foreign), "{foreign}");
    }
}

/// Without a script, in a sandbox and in print, the findings are there.
#[test]
fn the_findings_are_a_table_without_javascript() {
    let run = view(&[], &released());
    let table = run.out.split("<section id=\"findings\"").nth(1).unwrap().split("</section>").next().unwrap();
    for part in [
        "<td>FT-03</td>",
        "a pod that is recorded in the stored status",
        "job-dplbc in phase Succeeded",
        ":10</code>",
    ] {
        assert!(table.contains(part), "{part} is missing in {table}");
    }
}

#[test]
fn names_and_messages_stay_text() {
    const HOSTILE: &str = "</script><script>document.title='hit'</script><img src=x onerror=\"document.title='hit'\">\u{202e}\u{2028}\u{1b}[2J";
    let text = std::fs::read_to_string(released()).unwrap();
    let hostile = serde_json::to_string(HOSTILE).unwrap();
    let text = text.replace("job-dplbc", &format!("job-dplbc{}", hostile.trim_matches('"')));
    let text = text.replace(
        "system:kube-controller-manager\"",
        &format!("system:kube-controller-manager{}\"", hostile.trim_matches('"')),
    );
    let folder = Folder::new();
    let file = folder.write("<img src=x onerror=alert(1)>.jsonl", text);
    let run = view(&[], &file);
    assert_eq!(run.code, 1, "{}", run.err);
    assert_eq!(run.out.matches("</script").count(), 2);
    let tags = run.out.split("<script>").next().unwrap();
    assert!(!tags.contains("<img"), "markup of the trace is markup of the page");
    let is_hostile = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{2028}' | '\u{202e}');
    assert!(!run.out.chars().any(is_hostile));
    let names: Vec<String> =
        data(&run.out)["objects"].as_array().unwrap().iter().map(|it| it["name"].to_string()).collect();
    assert!(names.contains(&serde_json::to_string(&format!("job-dplbc{HOSTILE}")).unwrap()), "{names:?}");

    let Some(mut browser) = Browser::start("names_and_messages_stay_text") else { return };
    let page = folder.write("hostile.html", &run.out);
    browser.open(&page, "");
    browser.press("G");
    for _ in 0..20 {
        browser.press("k");
    }
    browser.press("n");
    browser.press("p");
    assert!(browser.text("#detail").contains("\\u{202e}"), "{}", browser.text("#detail"));
    assert_eq!(browser.value("document.querySelectorAll('img').length"), 0);
    assert_ne!(browser.value("document.title"), "hit");
    assert_eq!(browser.complaints(), Vec::<Value>::new());
}

#[test]
fn what_is_left_out_is_said() {
    let folder = Folder::new();
    let file = folder.write_lines("long.jsonl", &long(500));
    let run = view(&["--steps=100"], &file);
    let data = data(&run.out);
    let all = data["jobs"][0]["steps"][0].as_u64().unwrap();
    assert_eq!(data["steps"].as_array().unwrap().len(), 100);
    assert_eq!((&data["jobs"][0]["steps"][1], data["leftOut"].as_u64()), (&json!(100), Some(all - 100)));
}

#[test]
fn replay_writes_the_page_too() {
    let folder = Folder::new();
    let file = folder.path("page.html");
    let run = replay(["--html".as_ref(), file.as_os_str(), released().as_os_str()]);
    assert!(run.code == 1 && run.first_line().starts_with("violates"), "{run:?}");
    assert_eq!(data(&std::fs::read_to_string(&file).unwrap())["verdict"], "violates");
    let lost = replay(["--html".as_ref(), folder.path("no/such.html").as_os_str(), released().as_os_str()]);
    assert!(lost.code == 4 && lost.err.contains("there is no directory"), "{lost:?}");
    assert_eq!(view(&["-o", folder.path("no/such.html").to_str().unwrap()], &released()).code, 4);
}

/// The program that opens a page is one of the desktop.
#[cfg(target_os = "linux")]
#[test]
fn a_page_is_opened_in_the_browser() {
    let folder = Folder::new();
    let (opener, opened) = (folder.path("xdg-open"), folder.path("opened"));
    std::fs::write(&opener, format!("#!/bin/sh\necho \"$1\" > '{}'\n", opened.display())).unwrap();
    assert!(std::process::Command::new("chmod").arg("+x").arg(&opener).status().unwrap().success());
    let path = format!("{}:{}", folder.path("").display(), std::env::var("PATH").unwrap());
    let file = folder.path("page.html");
    let arguments =
        ["view".as_ref(), "--open".as_ref(), "-o".as_ref(), file.as_os_str(), released().as_os_str()]
            .map(std::ffi::OsStr::to_owned);
    let run = finish(binary().env("PATH", path).args(&arguments), b"");
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(std::fs::read_to_string(&opened).unwrap().trim(), file.to_str().unwrap());
    let without = finish(binary().env("PATH", folder.path("nothing")).args(&arguments), b"");
    assert!(without.code == 4 && without.err.contains("cannot open the page with xdg-open"), "{without:?}");
}

#[test]
fn standard_input_is_read_once_and_shown() {
    let run = finish(binary().args(["view", "-"]), &std::fs::read(released()).unwrap());
    assert_eq!((run.code, data(&run.out)["steps"].as_array().unwrap().len()), (1, 17));
    let none = view(&["--job=no-such-job"], &released());
    assert!(
        none.code == 3 && none.out.contains("The traces show no Job that was asked for."),
        "{}",
        none.err
    );
    let broken = finish(binary().args(["view", "-"]), b"nonsense");
    assert_eq!(broken.code, 2, "{broken:?}");
}

#[test]
fn the_page_opens_at_the_violation_and_is_driven_by_keys() {
    let Some(mut browser) = Browser::start("the_page_opens_at_the_violation_and_is_driven_by_keys") else {
        return;
    };
    let folder = Folder::new();
    let file = page(&folder, "page.html", &[released().to_str().unwrap()]);
    browser.open(&file, "");
    let detail = browser.text("#detail");
    for part in [
        "removes the tracking finalizer of pod job-dplbc",
        "Breaks FT-03",
        "expecteda pod that is recorded in the stored status",
        "KEP-2307",
        "What it should have done",
    ] {
        assert!(detail.contains(part), "{part} is missing in {detail}");
    }
    let hash = |browser: &mut Browser| browser.value("location.hash").as_str().unwrap().to_owned();
    assert_eq!(hash(&mut browser), "#job=0&step=9");
    for (key, step) in [
        ("n", 10),
        ("n", 11),
        ("n", 9),
        ("p", 11),
        ("k", 10),
        ("j", 11),
        ("j", 12),
        ("p", 11),
        ("g", 0),
        ("G", 16),
    ] {
        browser.press(key);
        assert_eq!(hash(&mut browser), format!("#job=0&step={step}"), "{key}");
        let shown = browser.text(".row.chosen .place");
        assert_eq!(shown, (step + 1).to_string(), "{key}");
    }
    browser.press("/");
    browser.write("finalizer after succeeded");
    assert_eq!(browser.value("document.activeElement.id"), "find");
    let found = browser.text("#shown");
    assert!(found.starts_with("showing 4 of 17 steps"), "{found}");
    browser.press("Escape");
    browser.press("?");
    assert_eq!(browser.value("document.querySelector('#help').open"), true);
    browser.press("Escape");
    browser.value(
        "[...document.querySelectorAll('button')].find(it => it.textContent === 'Copy as Markdown').click()",
    );
    let copied = browser.value("document.querySelector('#copied-text').value");
    assert!(copied.as_str().unwrap().contains("jobcheck replay --job t-nonindexed"), "{copied}");
    browser.press("Escape");
    browser.open(&file, "#job=0&step=3&kind=status");
    assert_eq!(browser.value("document.querySelectorAll('.row').length"), 4);
    assert!(browser.text("#detail").contains("active02"), "{}", browser.text("#detail"));
    browser.open(&file, "#job=0&step=9&lane=o2");
    assert!(browser.text("#shown").starts_with("showing 4 of 17 steps"), "{}", browser.text("#shown"));
    let lane = browser.value("document.querySelector('#lane').selectedOptions[0].textContent");
    assert_eq!(lane, "pod job-dplbc");
    assert_eq!(browser.complaints(), Vec::<Value>::new());
}

/// A worker without the Job is left out of the report. The others keep their roles.
#[test]
fn a_job_of_two_clusters_has_the_names_of_its_copies_and_an_end() {
    let name = |name: &str| {
        recording("x").parent().unwrap().with_file_name("third-party").join(format!("{name}.audit.jsonl.gz"))
    };
    let role = |role: &str, file: &str| format!("--cluster={role}={}", name(file).display());
    let clusters =
        [role("manager", "kueue-manager"), role("worker", "kueue-mk-a"), role("worker", "kueue-mk-b")];
    let on_second = jobcheck(["view", "--job=success-032857"].map(str::to_owned).iter().chain(&clusters));
    let second = data(&on_second.out);
    let roles: Vec<&Value> = second["traces"].as_array().unwrap().iter().map(|it| &it["role"]).collect();
    assert_eq!(roles, ["manager", "worker 2"]);
    assert_eq!(second["jobs"].as_array().unwrap().iter().filter(|job| job["label"] == "the copy").count(), 1);
    let wedged = jobcheck(
        ["view", "--job=remote-deleted-after-failure-032857"].map(str::to_owned).iter().chain(&clusters),
    );
    let end = data(&wedged.out)["steps"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (&end["kind"], &end["what"]),
        (
            &json!("end"),
            &json!(
                "end of the trace: the Job on the manager is unfinished, copy 1 on worker 1 is gone, copy 2 on worker 1 is Complete"
            )
        )
    );
    shows_refusals_and_cuts(&wedged.out);
    for part in [
        "refused with 422: failed 1 → 0, Suspended",
        "<strong>73 requests</strong> get this answer",
        "copy 2 on worker 1: Complete since",
    ] {
        assert!(wedged.out.contains(part), "{part}");
    }
}

/// The page of a refused status write: its repetitions, the end of the trace, and commands for all clusters.
fn shows_refusals_and_cuts(html: &str) {
    let Some(mut browser) = Browser::start("shows_refusals_and_cuts") else { return };
    let folder = Folder::new();
    let file = folder.write("page.html", html);
    let steps = data(html)["steps"].as_array().unwrap().clone();
    let at = |line: u64, kind: &str| {
        steps.iter().position(|step| step["line"] == line && step["kind"] == kind).unwrap()
    };
    browser.open(&file, &format!("#job=0&step={}", at(192, "status")));
    let detail = browser.text("#detail");
    assert!(detail.contains("The same refusal as line 190, 73 in all."), "{detail}");
    assert!(detail.contains("status.failed10"), "{detail}");
    browser.open(&file, &format!("#job=0&step={}", at(638, "end")));
    let detail = browser.text("#detail");
    for part in ["Breaks MR-24", "The Job and its copies at the end", "managercopy 1 (removed)copy 2"] {
        assert!(detail.contains(part), "{part} is missing in {detail}");
    }
    let press = "[...document.querySelectorAll('button')].find(it => it.textContent === 'Copy as a cut trace').click()";
    browser.value(press);
    let copied = browser.value("document.querySelector('#copied-text').value");
    assert!(
        copied.as_str().unwrap().contains("--cluster manager=cut-0.jsonl --cluster worker=cut-1.jsonl"),
        "{copied}"
    );
    browser.press("Escape");
    browser.open(&file, "#job=0&step=999999");
    assert!(browser.text("#shown").contains("the page has no step 999999"), "{}", browser.text("#shown"));
    assert!(browser.text("#detail").contains("Breaks MR-09"));
    browser.open(&file, "#job=0&step=0");
    assert!(!browser.text("#detail").contains("null"), "{}", browser.text("#detail"));
    assert_eq!(browser.complaints(), Vec::<Value>::new());
}

#[test]
fn two_traces_are_aligned_up_to_their_first_difference() {
    let Some(mut browser) = Browser::start("two_traces_are_aligned_up_to_their_first_difference") else {
        return;
    };
    let folder = Folder::new();
    let (bad, good) = (released(), recording("nonindexed-success.audit"));
    let file = page(&folder, "both.html", &["--group=each", bad.to_str().unwrap(), good.to_str().unwrap()]);
    browser.open(&file, "#job=0&with=1");
    let first = browser.text(".row.first");
    assert!(
        first.contains("removes the tracking finalizer") || first.contains("writes the status"),
        "{first}"
    );
    assert!(browser.text("#shown").contains("the first at line 10"), "{}", browser.text("#shown"));
    assert!(browser.text("#detail").contains("Both Jobs at this step"), "{}", browser.text("#detail"));
    browser.open(&file, "#job=1&with=1");
    assert!(browser.text("#shown").starts_with("18 steps"), "{}", browser.text("#shown"));
    assert_eq!(browser.complaints(), Vec::<Value>::new());
}

#[test]
fn ten_thousand_steps_are_smooth() {
    let Some(mut browser) = Browser::start("ten_thousand_steps_are_smooth") else { return };
    let folder = Folder::new();
    let trace = folder.write_lines("long.jsonl", &long(10_000));
    let file = page(&folder, "long.html", &[trace.to_str().unwrap()]);
    let began = Instant::now();
    browser.open(&file, "#fold=no");
    assert!(browser.text("#shown").starts_with("10018 steps"), "{}", browser.text("#shown"));
    assert!(browser.value("document.querySelectorAll('.row').length").as_u64().unwrap() < 80);
    browser.press("G");
    for _ in 0..20 {
        browser.press("k");
    }
    browser.press("/");
    browser.write("ready false");
    assert!(browser.text("#shown").starts_with("showing 202 of 10018 steps"), "{}", browser.text("#shown"));
    let took = began.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    browser.open(&file, "");
    assert!(browser.value("document.querySelectorAll('.row.folded').length").as_u64().unwrap() > 0);
    assert_eq!(browser.complaints(), Vec::<Value>::new());
}

/// A sandbox runs no script. The table must be there, and the empty timeline must not.
#[test]
fn without_scripts_the_page_is_a_table() {
    let Some(mut browser) = Browser::start("without_scripts_the_page_is_a_table") else { return };
    let folder = Folder::new();
    let file = page(&folder, "page.html", &[released().to_str().unwrap()]);
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    browser.open(&file, "");
    assert_eq!(browser.value("document.querySelector('#app').hidden"), true);
    assert_eq!(browser.value("document.querySelectorAll('#findings tbody tr').length"), 2);
    let brief = browser.text("#story");
    for part in [
        "job-controller removes the tracking finalizer of pod job-dplbc",
        "FT-03, 2 times",
        "later: Complete since",
    ] {
        assert!(brief.contains(part), "{part} is missing in {brief}");
    }
}

/// `JOBCHECK_PICTURES=1` takes the pictures of the guide.
#[test]
fn the_pictures_of_the_guide_are_of_this_page() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/view");
    let text = std::fs::read_to_string(guide.with_extension("md")).unwrap();
    if std::env::var_os("JOBCHECK_PICTURES").is_none() {
        for name in ["light.png", "dark.png"] {
            assert!(text.contains(&format!("(view/{name})")) && guide.join(name).is_file(), "{name}");
        }
        return;
    }
    let Some(mut browser) = Browser::start("the_pictures_of_the_guide_are_of_this_page") else { return };
    let folder = Folder::new();
    let released = "traces/corpus/invalid/FT-03--released-before-recorded.audit.jsonl";
    let kueue = "traces/corpus/third-party/kueue-manager.audit.jsonl.gz";
    for (scheme, height, trace) in [("light", 1180, released), ("dark", 1250, kueue)] {
        let root = guide.join("../../..");
        let run = finish(binary().current_dir(root).args(["view", trace]), b"");
        let file = folder.write("page.html", run.out);
        browser.size(1200, height);
        browser.call("Emulation.setScrollbarsHidden", json!({"hidden": true}));
        browser.colours(scheme);
        browser.open(&file, "");
        browser.picture(&guide.join(format!("{scheme}.png")));
    }
}
