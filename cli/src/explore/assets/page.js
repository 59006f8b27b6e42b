"use strict";
const id = name => document.getElementById(name);

// An element with attributes, and children that are elements or texts. Everything is put in as text, never as markup.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "click") element.addEventListener("click", value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== ""));
  return element;
}

const path = () => location.hash.slice(1);
const go = to => { location.hash = to; };
let start = "", rules = new Set();

// A text in which each id of a rule is a button that opens its text.
function linked(text) {
  return String(text).split(/\b([A-Z]{1,2}-?\d{1,2})\b/).map((part, at) => at % 2 && rules.has(part)
    ? make("button", { type: "button", class: "rule", title: "The text of " + part, click: event => { event.stopPropagation(); openRule(part); } }, part)
    : part);
}

// Markdown as text: code stays code, links become their words.
function prose(text) {
  return text.split(/\n\n+/).filter(Boolean).map(part => {
    if (/^\s*[|\-]/.test(part)) return make("pre", {}, part);
    const plain = part.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/\*\*/g, "");
    return make("p", {}, plain.split(/(`[^`]+`)/).map(it => it.startsWith("`") ? make("code", {}, it.slice(1, -1)) : linked(it)));
  });
}

async function openRule(name) {
  const response = await fetch("/api/rule?id=" + encodeURIComponent(name));
  if (!response.ok) return;
  const rule = await response.json();
  const part = (title, text) => text ? [make("h3", {}, title), ...prose(text)] : [];
  id("rule-title").textContent = rule.id;
  id("rule-text").replaceChildren(...prose(rule.sentence), ...prose(rule.details), ...part("Why it exists", rule.reason),
    ...part("An example of a violation", rule.example), ...part("Source", rule.source));
  if (!id("rule").open) id("rule").showModal();
}

// The changes that the caches miss, the decision of the sync, and the verdicts of the server and the specification.
const notes = line => line.notes.map(note => make("span", { class: "status" }, linked(note)));

function verdict(step) {
  if (step.verdict.kind === "admitted") return make("span", { class: "verdict-line good" }, "the specification admits it");
  if (step.verdict.kind !== "breaks") return null;
  return make("span", { class: "verdict-line bad" }, linked("breaks " + step.verdict.requirement + ": " + step.verdict.sentence));
}

const breaks = step => step.verdict.kind === "breaks" || step.breaks.length > 0;

function offer(step) {
  const kind = breaks(step) ? "breaks" : step.verdict.kind;
  return make("div", { class: "step " + kind },
    make("button", { type: "button", click: () => go(step.path) }, make("span", { class: "who" }, step.who + " "), step.what),
    verdict(step),
    step.continues ? make("span", { class: "verdict-line bad" }, "continues the cycle") : null,
    step.breaks.map(it => make("span", { class: "verdict-line bad" },
      linked("breaks " + (it.requirement ? it.requirement + ": " : "") + it.property + " (" + it.why + ")"))));
}

// A step of the path, below the mark if the cycle begins with it. A step that broke something stands out.
function taken(line, number, mark) {
  const before = mark && mark.after === number ? make("span", { class: "mark" }, mark.words) : null;
  return make("li", { class: line.breaks ? "breaks" : null }, before, make("a", { href: "#" + line.path, title: "Go back to here" },
    make("span", { class: "who" }, line.who + " "), line.what),
    notes(line));
}

// The value of a cell, and its value before the last step if that was another one.
function cell(value, old) {
  const text = String(value ?? "");
  if (old === undefined || String(old ?? "") === text) return make("td", {}, linked(text));
  return make("td", { class: "changed" }, linked(text), make("span", { class: "old" }, String(old ?? "") || "nothing"));
}

// Rows of names and values. `old` are the rows before the last step, or undefined.
function rows(pairs, old) {
  const before = old && new Map(old);
  const is = value => value !== null && value !== "" && value !== undefined;
  const shown = pairs.filter(([key, value]) => is(value) || (before && is(before.get(key))));
  return make("table", { class: "pairs" }, shown.map(([key, value]) =>
    make("tr", {}, make("th", { scope: "row" }, key), cell(value, before ? before.get(key) ?? "" : undefined))));
}

const podCells = pod => [pod.name, pod.index ?? "", pod.phase, pod.ready ? "yes" : "", pod.deleting ? "yes" : "", pod.finalizer ? "yes" : "gone", pod.recorded];

function podTable(pods, old) {
  const before = old && new Map(old.map(pod => [pod.name, podCells(pod)]));
  const gone = old ? old.filter(pod => !pods.some(it => it.name === pod.name)) : [];
  if (!pods.length && !gone.length) return make("p", { class: "dim" }, "no pods");
  const head = ["pod", "index", "phase", "ready", "deleted", "finalizer", "recorded"];
  return make("table", { class: "pods" },
    make("thead", {}, make("tr", {}, head.map(name => make("th", { scope: "col" }, name)))),
    make("tbody", {},
      pods.map(pod => {
        const known = before && before.get(pod.name);
        return make("tr", { class: before && !known ? "changed" : null }, podCells(pod).map((value, at) => cell(value, known ? known[at] : undefined)));
      }),
      gone.map(pod => make("tr", { class: "gone" }, podCells(pod).map(value => make("td", {}, String(value)))))));
}

function processPairs(it) {
  const list = names => names.join(", ");
  const queue = it.queued ? (it.waits ? "in the queue, until its caches show its own writes" : "in the queue") : "";
  return [
    ["sync", it.syncing ? "in progress" : "none"],
    ["its requests", it.next.join("; ")],
    ["status write", it.conflicts && it.syncing ? "would conflict: the Job has changed" : ""],
    ["key", queue || (it.wake !== null ? "requeued at " + it.wake + " s" : "not in the queue")],
    ["Pod cache lacks", it.podCacheLacks.length ? "changes of " + list(it.podCacheLacks) : "nothing"],
    ["Job cache", it.jobCacheLags ? "lags by " + it.jobCacheLags + ", shows " + it.jobCacheShows : "up to date"],
    ["orphan queue", list(it.orphans)],
    ["memory", it.memory.join("; ")],
  ];
}

const managerPairs = it => [
  ["Pod cache lacks", it.podCacheLacks.length ? "changes of " + it.podCacheLacks.join(", ") : "nothing"],
  ["Job cache", it.jobCacheShows ? "shows " + it.jobCacheShows : "up to date"]];

const faultsOf = job => Object.entries(job.faults).filter(([, count]) => count).map(([name, count]) => name + ": " + count).join(", ");
const lifeOf = job => job.gone ? " (deleted)" : job.deleting ? " (being deleted)" : "";
const specPairs = job => job.spec ? job.spec.concat([["status", job.status]]) : [];

function jobOf(job, old) {
  const changed = old && lifeOf(old) !== lifeOf(job);
  const box = make("div", {}, make("h2", { class: changed ? "changed" : null }, "Job " + job.name + lifeOf(job)));
  if (job.spec) box.append(rows(specPairs(job), old && specPairs(old)));
  box.append(make("h2", {}, "Pods in etcd"), podTable(job.pods, old && old.pods));
  if (job.manager) box.append(make("h2", {}, "The manager's caches"), rows(managerPairs(job.manager), old && old.manager ? managerPairs(old.manager) : undefined));
  job.processes.forEach((it, number) => {
    const before = old && old.processes[number];
    box.append(make("h2", {}, "Controller" + (job.processes.length > 1 ? " " + (number + 1) : "")), rows(processPairs(it), before ? processPairs(before) : undefined));
  });
  if (job.late) box.append(make("p", { class: "bad" }, "Delayed request of a terminated process: " + job.late));
  if (faultsOf(job)) box.append(make("p", { class: "dim" }, "Faults so far: " + faultsOf(job)));
  return box;
}

function brokenBox(it) {
  return make("div", { class: "alarm" }, make("h2", {}, linked((it.requirement ? it.requirement + ": " : "") + it.property)), make("p", {}, linked(it.why)));
}

async function show() {
  const asked = path();
  const response = await fetch("/api/state?path=" + encodeURIComponent(asked));
  const state = await response.json();
  if (asked !== path()) return;
  if (!response.ok) { id("broken").replaceChildren(make("p", { class: "alarm" }, state.error)); return; }
  const lines = state.story.map((line, number) => taken(line, number, state.mark));
  id("story").replaceChildren(lines.length ? make("ol", {}, lines) : make("p", { class: "dim" }, "The Jobs have been created. No step has been taken."));
  if (state.mark && state.mark.after === lines.length) id("story").append(make("p", { class: "mark" }, state.mark.words));
  id("clock").textContent = "State after " + state.story.length + (state.story.length === 1 ? " step, at " : " steps, at ") + state.now + " s";
  id("broken").replaceChildren(...state.broken.map(brokenBox));
  id("world").replaceChildren(...state.jobs.map((job, number) => jobOf(job, state.previous ? state.previous[number] : undefined)));
  id("next").replaceChildren(...(state.next.length ? state.next.map(offer) : [make("p", { class: "dim" }, "No step is enabled: this is the end of the path.")]));
  id("back").disabled = !asked;
  id("restart").disabled = !asked;
}

const back = () => go(path().split(".").slice(0, -1).join("."));
const example = () => { if (start) go(start); };
id("back").onclick = back;
id("restart").onclick = () => go("");
id("example").onclick = example;
id("keys").onclick = () => id("help").showModal();
id("trace").onclick = async () => {
  const response = await fetch("/api/trace?path=" + path());
  const link = make("a", { href: URL.createObjectURL(await response.blob()), download: "trace.jsonl" });
  link.click();
};

// Moves the focus among the enabled steps that pass.
function move(by, passes) {
  const all = [...document.querySelectorAll("#next .step")].filter(passes).map(step => step.firstChild);
  if (!all.length) return;
  const at = all.indexOf(document.activeElement);
  const to = at < 0 ? (by > 0 ? 0 : all.length - 1) : (at + by + all.length) % all.length;
  all[to].focus();
}

addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || id("rule").open || id("help").open) return;
  const any = () => true, broken = step => step.classList.contains("breaks");
  const keys = {
    j: () => move(1, any), ArrowDown: () => move(1, any), k: () => move(-1, any), ArrowUp: () => move(-1, any),
    n: () => move(1, broken), p: () => move(-1, broken), g: () => go(""), c: example, Backspace: () => { if (path()) back(); },
    "?": () => id("help").showModal(),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});
addEventListener("hashchange", show);
fetch("/api/scope").then(response => response.json()).then(scope => {
  start = scope.start;
  rules = new Set(scope.rules);
  id("title").textContent = (scope.mutant ? "Defect " + scope.mutant : "Scope " + scope.scope);
  id("about").replaceChildren(...linked(scope.about + ". The Jobs are managed by " + scope.manager + "."
    + (scope.breaks ? " Breaks " + scope.breaks + "." : "") + (scope.without.length ? " Without " + scope.without.join(", ") + "." : "")));
  id("example").disabled = !start;
  id("example").title = start ? "key c" : "No counterexample was looked for; --counterexample does";
  show();
});
