//! Pages beside that of `jobcheck view`, in a browser: the site of the documentation, and reports.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::browser::Browser;
use crate::explore::serve;
use crate::support::{Folder, jobcheck};

/// Waits until an expression in the page is true.
fn wait(browser: &mut Browser, expression: &str) {
    let start = Instant::now();
    while !browser.holds(expression) {
        assert!(start.elapsed() < Duration::from_secs(20), "never: {expression}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_site_finds_a_rule_by_its_id() {
    let Some(mut browser) = Browser::start("the_site_finds_a_rule_by_its_id") else { return };
    let folder = Folder::new();
    let site = folder.path("site");
    jobcheck_site::build(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &site).unwrap();
    browser.open(&site.join("docs/guide/view.html"), "");
    assert_eq!(browser.text("nav [aria-current]"), "Looking at a trace");
    browser.press("/");
    browser.write("ft-03");
    wait(&mut browser, "document.querySelectorAll('#hits a').length > 1");
    assert!(
        browser.text("#hits a").starts_with("FT-03 · FT: finalizer tracking"),
        "{}",
        browser.text("#hits a")
    );
    assert!(browser.text("#count").contains("sections"), "{}", browser.text("#count"));
    browser.press("ArrowDown");
    assert_eq!(browser.value("document.activeElement === document.querySelector('#hits a')"), true);
    browser.press("ArrowUp");
    browser.press("Enter");
    wait(&mut browser, "location.href.endsWith('/docs/reference/requirements/ft.html#ft-03')");
    wait(&mut browser, "document.readyState === 'complete'");
    assert_eq!(browser.text("nav [aria-current]"), "FT: finalizer tracking");
    browser.press("/");
    browser.write("no such <b>words</b>");
    wait(&mut browser, "document.querySelector('#count').textContent === '0 sections'");
    assert_eq!(browser.complaints(), Vec::<Value>::new());
}

/// Writes the page of `jobcheck check` with these arguments.
fn checked(folder: &Folder, code: i32, arguments: &[&str]) -> PathBuf {
    let file = folder.path("check.html");
    let run = jobcheck(["check", "--page", file.to_str().unwrap()].iter().chain(arguments));
    assert!(run.code == code && run.err.contains("check.html is written; open it in a browser"), "{run:?}");
    file
}

/// Demands of a page without a script: it is silent, sends no request, and fits a narrow window.
pub fn is_plain(browser: &mut Browser, file: &Path) {
    browser.open(file, "");
    assert_eq!(browser.value("document.scripts.length"), 0);
    assert_eq!(browser.complaints(), Vec::<Value>::new());
    let light = browser.value("getComputedStyle(document.body).backgroundColor");
    browser.colours("dark");
    assert_ne!(browser.value("getComputedStyle(document.body).backgroundColor"), light);
    browser.colours("light");
    browser.size(420, 800);
    assert_eq!(browser.value("document.documentElement.scrollWidth <= innerWidth"), true);
    browser.size(1400, 900);
}

#[test]
fn the_page_of_check_shows_a_counterexample_with_its_rule_and_its_path() {
    let folder = Folder::new();
    let file = checked(&folder, 1, &["non-indexed", "--without", "FT-03"]);
    let page = std::fs::read_to_string(&file).unwrap();
    for part in [
        "<title>broken: Scope non-indexed</title>",
        "<h2>FT-03: ",
        "<summary>The rule FT-03</summary>",
        "States by depth",
        "class=\"node start path\"",
        "class=\"edge path\"",
        "jobcheck explore non-indexed --without FT-03 --counterexample",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let Some(mut browser) = Browser::start("the_page_of_check_shows_a_counterexample") else { return };
    is_plain(&mut browser, &file);
    let steps = browser.value("document.querySelectorAll('ol.steps > li').length").as_u64().unwrap();
    assert_eq!(browser.value("document.querySelectorAll('.edge.path').length"), steps);
    browser.value("document.querySelector('details summary').click()");
    assert!(browser.text("details[open]").contains("KEP-2307"), "{}", browser.text("details"));
}

#[test]
fn the_page_of_check_has_the_states_of_each_depth() {
    let folder = Folder::new();
    let file = checked(&folder, 0, &["non-indexed", "indexed", "deadline", "--quiet"]);
    let page = std::fs::read_to_string(&file).unwrap();
    let run = jobcheck(["check", "non-indexed", "-ojson"]);
    let scope = &run.json()["scopes"][0];
    let layers: Vec<u64> =
        scope["layers"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect();
    assert_eq!(Some(layers.iter().sum()), scope["states"].as_u64());
    assert_eq!(Some(layers.len() as u64 - 1), scope["depth"].as_u64());
    assert_eq!(layers.iter().max().copied(), scope["widestLayer"].as_u64());
    let second = format!("<title>depth 1: {} states</title>", layers[1]);
    assert!(page.contains(&second) && page.contains("Showing "), "{second}");
    let Some(mut browser) = Browser::start("the_page_of_check_has_the_states_of_each_depth") else { return };
    is_plain(&mut browser, &file);
    let columns =
        browser.value("document.querySelector('td .plot[aria-label^=\"States by depth\"]').children.length");
    assert_eq!(columns, layers.len());
    let shown = browser.value("document.querySelectorAll('.graph')[0].querySelectorAll('.node').length");
    assert!(shown.as_u64().unwrap() > 10, "{shown}");
}

#[test]
fn the_page_of_mutants_has_the_story_of_each_defect() {
    let folder = Folder::new();
    let file = folder.path("mutants.html");
    let run = jobcheck(["mutants", "B18", "B04", "--page", file.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{run:?}");
    let page = std::fs::read_to_string(&file).unwrap();
    for part in [
        "<title>2 of 2 defects are caught</title>",
        "<a href=\"#B18\">B18</a>",
        "<section id=\"B04\">",
        "jobcheck explore --mutant B18",
        "<summary>The rule TC-04</summary>",
        "no event or timer triggers another sync",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let Some(mut browser) = Browser::start("the_page_of_mutants_has_the_story_of_each_defect") else {
        return;
    };
    is_plain(&mut browser, &file);
}

#[test]
fn a_page_that_cannot_be_written_is_an_error_before_the_search() {
    let folder = Folder::new();
    for scope in ["non-indexed", "managers"] {
        let run = jobcheck(["check", scope, "--page", folder.path("no/such.html").to_str().unwrap()]);
        assert!(run.code == 4 && run.out.is_empty() && run.err.contains("there is no directory"), "{run:?}");
    }
}

#[test]
fn explore_marks_what_a_step_changes_and_opens_rules() {
    let Some(mut browser) = Browser::start("explore_marks_what_a_step_changes_and_opens_rules") else {
        return;
    };
    let served = serve(&["--mutant", "B18"]);
    browser.open_url(&format!("http://{}/#{}", served.address, served.fragment));
    wait(&mut browser, "document.querySelectorAll('#broken .alarm').length > 0");
    let last = "document.querySelector('#story li:last-child')";
    assert_eq!(browser.value(&format!("{last}.className")), "breaks");
    let changed = "[...document.querySelectorAll('#world td.changed')].map(it => it.textContent).join('; ')";
    let changed = browser.value(changed);
    // The sync has ended with the last step; its write was refused.
    assert!(changed.as_str().unwrap().starts_with("nonein progress; "), "{changed}");
    browser.value("document.querySelector('#broken .rule').click()");
    wait(&mut browser, "document.querySelector('#rule').open");
    assert!(browser.text("#rule").contains("Why it exists"), "{}", browser.text("#rule"));
    browser.value("document.querySelector('#rule button').click()");

    let hash = |browser: &mut Browser| browser.value("location.hash").as_str().unwrap().to_owned();
    let end = hash(&mut browser);
    browser.press("Backspace");
    wait(&mut browser, "document.querySelectorAll('#broken .alarm').length === 0");
    assert!(end.starts_with(&hash(&mut browser)) && end != hash(&mut browser));
    browser.press("n");
    wait(&mut browser, "document.activeElement.parentElement.classList.contains('breaks')");
    browser.value("document.activeElement.click()");
    wait(&mut browser, "document.querySelectorAll('#broken .alarm').length > 0");
    assert_eq!(hash(&mut browser), end);
    browser.press("g");
    wait(&mut browser, "location.hash === '' && document.querySelector('#story ol') === null");
    assert_eq!(browser.value("document.querySelectorAll('.changed').length"), 0);
    browser.press("c");
    wait(&mut browser, "document.querySelectorAll('#broken .alarm').length > 0");
    let own = format!("http://{}/", served.address);
    let complaints = browser.complaints();
    let foreign = complaints
        .iter()
        .filter(|it| !it["params"]["request"]["url"].as_str().is_some_and(|url| url.starts_with(&own)));
    assert_eq!(foreign.collect::<Vec<_>>(), Vec::<&Value>::new());
}

/// `JOBCHECK_PICTURES=1` takes the pictures of the guide again.
#[test]
fn the_guide_has_pictures_of_these_pages() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide");
    for (page, picture) in [("check", "page.png"), ("explore", "page.png")] {
        let text = std::fs::read_to_string(guide.join(format!("{page}.md"))).unwrap();
        assert!(text.contains(&format!("({page}/{picture})")), "{page}");
    }
    if std::env::var_os("JOBCHECK_PICTURES").is_none() {
        assert!(guide.join("check/page.png").is_file() && guide.join("explore/page.png").is_file());
        return;
    }
    let Some(mut browser) = Browser::start("the_guide_has_pictures_of_these_pages") else { return };
    browser.call("Emulation.setScrollbarsHidden", serde_json::json!({"hidden": true}));
    let folder = Folder::new();
    let file = checked(&folder, 1, &["non-indexed", "--without", "FT-03"]);
    browser.size(1000, 860);
    browser.open(&file, "");
    browser.picture(&guide.join("check/page.png"));
    let served = serve(&["--mutant", "B18"]);
    browser.size(1300, 760);
    browser.colours("dark");
    browser.open_url(&format!("http://{}/#{}", served.address, served.fragment));
    wait(&mut browser, "document.querySelectorAll('#broken .alarm').length > 0");
    browser.picture(&guide.join("explore/page.png"));
}
