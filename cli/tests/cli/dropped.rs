//! The page of `library/wasm`, on which audit logs can be dropped, in a browser.
//!
//! With `JOBCHECK_WASM=FILE`, the module is the real one (`just wasm`). Otherwise it is one that returns the name and the
//! content that it was given, so that the page itself is tested in each build.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::browser::Browser;
use crate::support::{Folder, root};

/// A WebAssembly module whose page is the name and the content of the last file.
fn echo() -> Vec<u8> {
    const PLACE: [u8; 3] = [0x41, 0x80, 0x20]; // i32.const 4096
    let section = |id: u8, content: Vec<u8>| [vec![id, content.len() as u8], content].concat();
    let export = |name: &str, kind: u8, number: u8| {
        [vec![name.len() as u8], name.as_bytes().to_vec(), vec![kind, number]].concat()
    };
    let body = |code: Vec<u8>| [vec![code.len() as u8 + 2, 0], code, vec![0x0b]].concat();
    let input = [vec![0x20, 0, 0x20, 1, 0x6a, 0x24, 0], PLACE.to_vec()].concat();
    [
        b"\0asm\x01\0\0\0".to_vec(),
        // The types (i32, i32) -> i32 and () -> i32; three functions; one page of memory; one variable.
        section(1, vec![2, 0x60, 2, 0x7f, 0x7f, 1, 0x7f, 0x60, 0, 1, 0x7f]),
        section(3, vec![3, 0, 1, 1]),
        section(5, vec![1, 0, 1]),
        section(6, vec![1, 0x7f, 1, 0x41, 0, 0x0b]),
        section(
            7,
            [
                vec![4],
                export("memory", 2, 0),
                export("jobcheck_input", 0, 0),
                export("jobcheck_view", 0, 1),
                export("jobcheck_report", 0, 2),
            ]
            .concat(),
        ),
        section(10, [vec![3], body(input), body(vec![0x23, 0]), body(PLACE.to_vec())].concat()),
    ]
    .concat()
}

/// Writes the page with a module inside.
fn page(folder: &Folder, module: &Path) -> PathBuf {
    let made = Command::new(root().join("library/wasm/page")).arg(module).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let page = folder.path("judge.html");
    std::fs::write(&page, made.stdout).unwrap();
    page
}

fn until(browser: &mut Browser, expression: &str) {
    for _ in 0..6000 {
        if browser.holds(expression) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("{expression}: {}", browser.text("#said"));
}

#[test]
fn a_dropped_log_is_judged_in_the_page() {
    let Some(mut browser) = Browser::start("a_dropped_log_is_judged_in_the_page") else { return };
    let folder = Folder::new();
    let real = std::env::var_os("JOBCHECK_WASM").map(|module| root().join(module));
    let is_real = real.is_some();
    let module = real.unwrap_or_else(|| {
        let module = folder.path("echo.wasm");
        std::fs::write(&module, echo()).unwrap();
        module
    });
    let page = page(&folder, &module);
    browser.open(&page, "");
    assert!(browser.text("main").contains("Nothing leaves this page"));
    let (file, seen) = if is_real {
        let log = "traces/corpus/invalid/FT-03--released-before-recorded.audit.jsonl";
        (root().join(log), "document.title.startsWith('violates: FT-03--')")
    } else {
        let file = folder.path("an-é.log");
        std::fs::write(&file, "<title>dropped</title><p>content").unwrap();
        (file, "document.title === 'dropped' && document.body.textContent === 'an-é.logdroppedcontent'")
    };
    browser.choose("#files", &[&file]);
    until(&mut browser, seen);
    if is_real {
        assert!(browser.text("body").contains("FT-03"));
        browser.press("?");
        assert_eq!(browser.complaints(), Vec::<serde_json::Value>::new());
    }
}

#[test]
fn files_that_cannot_be_judged_are_named() {
    let Some(mut browser) = Browser::start("files_that_cannot_be_judged_are_named") else { return };
    let folder = Folder::new();
    let (broken, log) = (folder.path("broken.wasm"), folder.path("a.log"));
    std::fs::write(&broken, "no module").unwrap();
    std::fs::write(&log, "{}").unwrap();
    let page = page(&folder, &broken);
    browser.open(&page, "");
    browser.choose("#files", &[&log]);
    until(
        &mut browser,
        "document.getElementById('said').textContent.startsWith('These files cannot be judged here')",
    );

    let huge = folder.path("huge.log");
    std::fs::File::create(&huge).unwrap().set_len(600_000_000).unwrap();
    browser.choose("#files", &[&huge]);
    until(&mut browser, "document.getElementById('said').textContent.startsWith('These files have 600 MB')");
}

#[test]
fn the_page_needs_a_module() {
    let output = Command::new(root().join("library/wasm/page")).arg("missing.wasm").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("usage: library/wasm/page MODULE"));
}
