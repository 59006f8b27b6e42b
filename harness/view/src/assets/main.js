// The address, the filters, the keys.
function readHash() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const number = (name, below) => {
    const value = asked.has(name) ? Number(asked.get(name)) : NaN;
    return Number.isInteger(value) && value >= 0 && value < below ? value : null;
  };
  view.step = number("step", page.steps.length);
  view.job = number("job", page.jobs.length) ?? page.steps[view.step]?.job ?? 0;
  view.with = number("with", page.jobs.length);
  view.who = asked.get("who") ?? "";
  view.lane = asked.get("lane") ?? "";
  view.kind = asked.get("kind") ?? "";
  view.find = asked.get("find") ?? "";
  view.fold = asked.get("fold") !== "no";
  view.lost = asked.has("step") && view.step === null ? "the page has no step " + asked.get("step") + ", so it shows the first violation" : "";
  if (view.step === null) view.step = firstMark(view.job);
}

const firstMark = job => {
  const all = stepsOf(job);
  const isEnd = page.jobs[job].findings.some(it => it.step === null), own = all.filter(step => page.steps[step].job === job);
  const first = page.jobs[job].findings[0]?.step;
  if (first !== null && first !== undefined) return first;
  if (page.jobs[job].beside.length && own.length) return own.find(step => marks.has(step)) ?? own[0];
  return all.find(isBroken) ?? (isEnd ? all[all.length - 1] : all.find(step => marks.has(step)) ?? all[0]) ?? null;
};

function writeHash() {
  const asked = new URLSearchParams({ job: view.job });
  if (view.step !== null) asked.set("step", view.step);
  for (const name of ["who", "lane", "kind", "find"]) if (view[name]) asked.set(name, view[name]);
  if (!view.fold) asked.set("fold", "no");
  if (view.with !== null) asked.set("with", view.with);
  // A sandbox may forbid it; then the address stays as it is.
  try { history.replaceState(null, "", "#" + asked); } catch { /* nothing is lost */ }
}

// Fills the lists of the form.
function fillForm() {
  const option = (value, text) => make("option", { value }, text);
  const mark = job => ({ violates: "\u2717 ", inconclusive: "? ", conforms: "" })[job.verdict];
  const title = job => mark(job) + titleOf(job);
  id("job").replaceChildren(...page.jobs.map((job, number) => option(number, title(job))));
  id("with").replaceChildren(option("", "no other Job"), ...page.jobs.map((job, number) => option(number, title(job))));
  id("job").value = view.job;
  id("with").value = view.with ?? "";
  id("with").parentElement.hidden = page.jobs.length < 2;
  const actors = [...new Set(steps.map(number => actorOf(page.steps[number])).filter(Boolean))].sort();
  id("who").replaceChildren(option("", "everyone"), ...actors.map(actor => option(actor, actors.filter(it => shortActor(it) === shortActor(actor)).length > 1 ? actor : shortActor(actor))));
  if (view.who && !actors.includes(view.who)) view.who = "";
  id("who").value = view.who;
  const objects = [...new Set(steps.map(number => page.steps[number].object).filter(it => it !== undefined))];
  if (!objects.some(it => "o" + it === view.lane)) view.lane = "";
  const laneName = it => page.objects[it].pod ? "pod " + page.objects[it].name : (page.jobs[page.objects[it].job].label ? page.jobs[page.objects[it].job].label + " " : "Job ") + page.objects[it].name;
  id("lane").replaceChildren(option("", "all"), ...objects.map(it => option("o" + it, laneName(it))));
  id("lane").value = view.lane;
  id("kind").value = view.kind;
  id("find").value = view.find;
  id("fold").checked = view.fold;
}

// Shows a Job anew: its steps, its lanes, the form.
function showJob() {
  steps = stepsOf(view.job);
  layOut();
  fillForm();
  refresh();
}

// Shows the steps that fit the filters.
function refresh() {
  const compares = view.with !== null && view.with !== view.job;
  document.body.classList.toggle("compares", compares);
  let words = compares ? arrangePairs() : arrange();
  if (page.leftOut) words += "; the page leaves out " + count(page.leftOut, "step") + " of all Jobs, which --job or --steps brings back";
  if (view.lost) words = view.lost + "; " + words;
  if (laneNote && !compares) words += "; " + laneNote;
  id("shown").textContent = words;
  id("legend").hidden = compares;
  if (compares) pairHeads(); else heads();
  id("space").style.height = items.length * ROW + "px";
  const opening = itemOf(view.step) < 0 && items.find(item => item.fold && item.fold.includes(view.step));
  if (opening) { opened.add(opening.fold[0]); arrange(); id("space").style.height = items.length * ROW + "px"; }
  if (itemOf(view.step) >= 0) reveal(itemOf(view.step), true);
  paint();
  showDetail();
  writeHash();
}

function choose(step) {
  view.step = step;
  const index = itemOf(step);
  if (index < 0) { refresh(); return; }
  reveal(index);
  paint();
  showDetail();
  writeHash();
}

function chooseItem(index) {
  const item = items[index];
  if (item.fold) { toggle(item); return; }
  choose(item.step ?? item.pair[0] ?? item.pair[1]);
}

function toggle(item) {
  const first = item.fold[0];
  if (!opened.delete(first)) opened.add(first);
  arrange();
  paint();
}

// Moves by steps. A folded stretch is passed over.
function move(by) {
  let index = itemOf(view.step) + by;
  while (items[index]?.fold) index += by;
  if (items[index]) chooseItem(index);
}

// Goes to the next violation or warning, also of another Job.
function jump(by) {
  const all = [...marks].sort(([a, of], [b, other]) => of.job - other.job || a - b).map(([step]) => step);
  if (!all.length) return;
  const at = all.indexOf(view.step);
  const before = all.filter(step => page.steps[step].job === view.job && step < (view.step ?? 0)).pop();
  const next = at >= 0 ? all[(at + by + all.length) % all.length]
    : by > 0 ? all.find(step => page.steps[step].job === view.job && step > (view.step ?? -1)) ?? all[0] : before ?? all[all.length - 1];
  const job = page.steps[next].job;
  if (job !== view.job && !page.jobs[view.job].beside.includes(job)) { view.with = null; open(job, next); } else choose(next);
}

// Chooses the first or the last step, which may be in a folded stretch.
function chooseEnd(item, at) {
  if (item) choose(item.fold ? item.fold.at(at) : item.step ?? item.pair[0] ?? item.pair[1]);
}

function open(job, step) {
  view.lost = "";
  view.job = job;
  view.step = step ?? firstMark(job);
  opened = new Set();
  showJob();
}

const keys = {
  n: () => jump(1), p: () => jump(-1), j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1),
  g: () => chooseEnd(items[0], 0), G: () => chooseEnd(items[items.length - 1], -1),
  "[": () => open((view.job + page.jobs.length - 1) % page.jobs.length), "]": () => open((view.job + 1) % page.jobs.length),
  "/": () => id("find").focus(), "?": () => id("help").showModal(),
  Enter: () => { const fold = items.find(item => item.fold && (item.fold.includes(view.step) || items.indexOf(item) === itemOf(view.step) + 1)); if (fold) toggle(fold); },
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const tag = event.target.tagName;
  if (event.key === "Escape") { id("scroll").focus(); return; }
  const types = tag === "INPUT" && event.target.type !== "checkbox";
  if (types || tag === "SELECT" || tag === "TEXTAREA" || (tag === "BUTTON" || tag === "SUMMARY" || tag === "A") && event.key === "Enter") return;
  if (event.key.startsWith("Arrow") && event.target !== id("scroll") && event.target !== document.body) return;
  if (!Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
  if (!document.querySelector("dialog[open]")) id("app").scrollIntoView({ block: "nearest" });
}

// The findings lead to their steps, and the Jobs of the summary to theirs.
function linkFindings() {
  for (const head of id("story")?.querySelectorAll("h2[data-job]") ?? []) {
    const link = make("a", { href: "#job=" + head.dataset.job, class: "quiet" }, head.textContent);
    link.addEventListener("click", event => { event.preventDefault(); open(Number(head.dataset.job)); id("app").scrollIntoView(); id("scroll").focus(); });
    head.replaceChildren(link);
  }
  const rows = id("findings").querySelectorAll("tr[data-step]");
  for (const row of rows) {
    const cell = row.querySelector("code"), step = Number(row.dataset.step);
    const link = make("a", { href: "#step=" + step }, cell.textContent);
    link.addEventListener("click", event => { event.preventDefault(); open(page.steps[step].job, step); id("app").scrollIntoView(); id("scroll").focus(); });
    cell.replaceChildren(link);
  }
}

function legend() {
  const line = name => { const drawing = draw("svg", { width: 22, height: 8, class: "sample" }); drawing.append(draw("line", { x1: 0, x2: 22, y1: 4, y2: 4, class: "life " + name })); return drawing; };
  const dots = (name, from, to) => {
    const drawing = draw("svg", { width: 26, height: 12, class: "sample " + name });
    drawing.append(draw("line", { x1: 5, x2: 21, y1: 6, y2: 6, class: "arrow" }));
    if (from) drawing.append(draw("circle", { cx: 5, cy: 6, r: 3.5, class: "dot" }));
    if (to) drawing.append(draw("circle", { cx: 21, cy: 6, r: 4.5, class: "dot to" }));
    return drawing;
  };
  const entries = [[dots("", true, false), "sender"], [dots("", false, true), "object written"], [dots("refused", true, true), "refused"], [dots("bad", true, true), "violation"],
    [line("Pending"), "pending, suspended"], [line("Running"), "running, active"], [line("Succeeded"), "succeeded, Complete"], [line("Failed"), "failed"],
    [line("there deleting"), "marked for deletion"], [line("there released"), "without the tracking finalizer"], ["", "a line that stops: removed"]];
  id("legend").replaceChildren(...entries.map(([mark, words]) => make("span", { class: "entry" }, mark, words)));
}

function start() {
  if (!page.jobs.length) return;
  id("app").hidden = false;
  readHash();
  legend();
  showJob();
  linkFindings();
  const on = (name, field, value) => id(name).addEventListener("input", event => { view[field] = value(event.target); opened = new Set(); refresh(); });
  on("who", "who", it => it.value);
  on("lane", "lane", it => it.value);
  on("kind", "kind", it => it.value);
  on("find", "find", it => it.value);
  on("fold", "fold", it => it.checked);
  on("with", "with", it => it.value === "" ? null : Number(it.value));
  id("job").addEventListener("input", event => open(Number(event.target.value)));
  id("next").addEventListener("click", () => jump(1));
  id("previous").addEventListener("click", () => jump(-1));
  id("keys").addEventListener("click", () => id("help").showModal());
  id("tools").addEventListener("submit", event => event.preventDefault());
  let waits = false;
  id("scroll").addEventListener("scroll", () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; paint(); });
  });
  addEventListener("resize", () => { if (!document.body.classList.contains("compares")) heads(); paint(); });
  addEventListener("hashchange", () => { readHash(); showJob(); });
  addEventListener("keydown", onKey);
  id("scroll").focus({ preventScroll: true });
}

start();
