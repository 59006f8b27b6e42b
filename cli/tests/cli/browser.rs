//! A browser without a window, which a test drives through the DevTools protocol: JSON over two pipes.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Folder, not_run};

/// The names of browsers that take the flags below. The distribution's package `chromium-headless-shell` has the first.
const BROWSERS: [&str; 5] =
    ["chromium-headless-shell", "headless_shell", "chromium", "chromium-browser", "google-chrome"];

/// A browser with one page.
pub struct Browser {
    child: Child,
    /// Without it, the browser ends.
    input: Option<File>,
    output: BufReader<File>,
    session: String,
    last: u64,
    /// The reports of the page: messages of the console, exceptions, requests.
    pub events: VecDeque<Value>,
    _folder: Folder,
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

/// The browser of this machine.
fn installed() -> Option<&'static str> {
    let paths = std::env::var_os("PATH")?;
    let is_there = |name: &&str| std::env::split_paths(&paths).any(|folder| folder.join(name).is_file());
    BROWSERS.into_iter().find(|name| is_there(name))
}

impl Browser {
    /// Starts the browser. `None` if this machine has none; one line reports that.
    pub fn start(test: &str) -> Option<Browser> {
        let Some(program) = installed() else {
            not_run(&format!(
                "{test}: this machine has no browser; install chromium-headless-shell or chromium"
            ));
            return None;
        };
        let folder = Folder::new();
        let (to, from) = (folder.path("to"), folder.path("from"));
        for pipe in [&to, &from] {
            assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
        }
        // The browser reads commands from descriptor 3, and writes to 4.
        let child = Command::new("sh")
            .args(["-c", "exec timeout -s KILL 300 \"$0\" \"$@\" 3<\"$TO\" 4>\"$FROM\"", program])
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-pipe",
                "--no-first-run",
            ])
            .args(["--disable-background-networking", "--disable-component-update", "--mute-audio"])
            .arg(format!("--user-data-dir={}", folder.path("profile").display()))
            .envs([("TO", &to), ("FROM", &from)])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Each waits for the shell to open the other side.
        let input = Some(File::options().write(true).open(&to).unwrap());
        let output = BufReader::new(File::open(&from).unwrap());
        let mut browser = Browser {
            child,
            input,
            output,
            session: String::new(),
            last: 0,
            events: VecDeque::new(),
            _folder: folder,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Runtime", "Log", "Network", "Page"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.size(1400, 900);
        Some(browser)
    }

    /// Calls a method, and returns its result. Events that arrive meanwhile are kept.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        let answer = self.ask(method, parameters);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Calls a method, and returns its answer, which may be an error.
    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        self.input.as_mut().unwrap().write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let answer = self.receive();
            if answer["id"] == self.last {
                return answer;
            }
            self.events.push_back(answer);
        }
    }

    fn receive(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.output.read_until(0, &mut bytes).unwrap();
        bytes.pop();
        serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{error}: the browser has ended"))
    }

    /// Opens a file, with a fragment such as `#step=3`, and waits until it is loaded.
    pub fn open(&mut self, file: &Path, fragment: &str) {
        self.events.clear();
        let url = format!("file://{}{fragment}", file.display());
        self.call("Page.navigate", json!({"url": "about:blank"}));
        self.call("Page.navigate", json!({"url": url}));
        while self.value("document.readyState + location.protocol") != "completefile:" {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Opens an address of this machine, and waits until it is loaded.
    pub fn open_url(&mut self, url: &str) {
        self.events.clear();
        self.call("Page.navigate", json!({"url": url}));
        while self.value("document.readyState + location.protocol") != "completehttp:" {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let found = self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        assert!(found["exceptionDetails"].is_null(), "{expression}: {found}");
        found["result"]["value"].clone()
    }

    /// Returns whether an expression is true in the page. It is not while the browser goes to another page.
    pub fn holds(&mut self, expression: &str) -> bool {
        let answer = self.ask("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        answer["result"]["result"]["value"] == true
    }

    /// The text of the element that a selector finds.
    pub fn text(&mut self, selector: &str) -> String {
        let text = self.value(&format!("document.querySelector({selector:?})?.textContent ?? ''"));
        text.as_str().unwrap().to_owned()
    }

    /// Presses a key, as a person does.
    pub fn press(&mut self, key: &str) {
        let text = if key.len() == 1 { key } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key, "text": text}));
        }
    }

    /// Types a text.
    pub fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Chooses files in the input that a selector finds.
    pub fn choose(&mut self, selector: &str, files: &[&Path]) {
        let expression = format!("document.querySelector({selector:?})");
        let found = self.call("Runtime.evaluate", json!({"expression": expression}));
        let input = &found["result"]["objectId"];
        self.call("DOM.setFileInputFiles", json!({"files": files, "objectId": input}));
    }

    /// Sets the size of the window.
    pub fn size(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Prefers light or dark colours.
    pub fn colours(&mut self, scheme: &str) {
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        self.call("Emulation.setEmulatedMedia", json!({"features": [feature]}));
    }

    /// Writes a picture of the window to a file.
    pub fn picture(&mut self, file: &Path) {
        let found = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let text = found["data"].as_str().unwrap();
        let mut decoder = Command::new("base64")
            .arg("-d")
            .stdin(Stdio::piped())
            .stdout(File::create(file).unwrap())
            .spawn()
            .unwrap();
        decoder.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(decoder.wait().unwrap().success());
    }

    /// Exceptions, messages and refusals of the policy since the page was opened, and requests for anything but the file.
    pub fn complaints(&mut self) -> Vec<Value> {
        self.value("1");
        let is_complaint = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded" => true,
            "Network.requestWillBeSent" => {
                let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                !url.starts_with("file:") && url != "about:blank"
            }
            _ => false,
        };
        self.events.iter().filter(is_complaint).cloned().collect()
    }
}
