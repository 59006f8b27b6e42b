// The chosen step: what is wrong, what the specification admits, what changed, and what the rule says.
function pairs(rows, name) {
  const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return make("table", { class: name || "pairs" }, shown.map(([key, value, look]) =>
    make("tr", {}, make("th", { scope: "row" }, key), make("td", { class: look || null }, value))));
}

function folded(title, isOpen, ...children) {
  return make("details", { open: isOpen }, make("summary", {}, title), ...children);
}

function ruleBox(name, isOpen) {
  const rule = page.rules[name];
  if (!rule) return null;
  return folded("The full text of rule " + name, isOpen, prose(rule.sentence), prose(rule.details),
    rule.reason ? [make("h3", {}, "Why it exists"), prose(rule.reason)] : null,
    rule.example ? [make("h3", {}, "An example of a violation"), prose(rule.example)] : null,
    rule.source ? [make("h3", {}, "Source"), prose(rule.source)] : null,
    make("p", { class: "dim" }, "The command ", make("code", {}, "jobcheck rule " + name), " prints this text, and the tests of the rule."));
}

// What a right controller does.
function insteadBox(name) {
  const rule = page.rules[name];
  return rule && rule.instead ? make("div", { class: "instead" }, make("h3", {}, "What it should have done"), prose(rule.instead)) : null;
}

const behind = (lag, what) => lag ? what + " " + count(lag, "event") + " behind" : what + " up to date";

function viewsBox(finding) {
  if (!finding.views.length) return null;
  const rows = finding.views.map(it => make("tr", {},
    make("td", {}, behind(it.jobLag, "Job cache") + ", " + behind(it.podLag, "Pod cache")),
    make("td", {}, it.broken.map(guard => make("div", {}, guard.requirement + ": expected " + guard.expected + "; found " + guard.found)))));
  return folded("Could a stale cache explain this? No: " + count(finding.views.length, "possible view") + ", and each breaks a rule", false,
    make("table", {}, make("tr", {}, make("th", { scope: "col" }, "Its caches"), make("th", { scope: "col" }, "What is broken then")), rows));
}

function findingBox(finding, job, isFirst) {
  const name = finding.requirement || "warning", rule = finding.known && page.rules[finding.known] ? finding.known : name;
  const also = finding.also.length ? " (also " + finding.also.join(", ") + ")" : "";
  const first = job.findings[0], cited = (finding.found.match(/^[A-Z]+-\d+(?=: )/) ?? [])[0];
  const isLater = finding !== first && !isFirst;
  const isSame = isLater && finding.step !== null && finding.step === first.step;
  return make("div", { class: "alarm", role: "group", "aria-label": "Violation of " + name },
    make("h2", {}, "Breaks " + name + also + (finding.level === "MUST" ? "" : ", advice")),
    isSame ? make("p", { class: "dim" }, "The same request breaks this rule, too.") : isLater ? make("p", { class: "dim" }, "Possibly a consequence of the first violation, " + (first.requirement || "a warning") + " at ", first.step === null ? placeOf(first) : stepLink(first.step), ".") : null,
    pairs([["request", finding.write], ["field", finding.what], ["expected", finding.expected, "admitted"], ["found", finding.found, "found"],
      ["by", finding.actor ? [finding.actor.user, finding.actor.agent].filter(Boolean).join(", ") : ""]]),
    insteadBox(name) ?? insteadBox(rule), cited && cited !== name ? citedBox(cited) : null,
    make("h3", {}, "The rule"), make("p", {}, finding.sentence), wordsBox(finding.sentence + finding.found),
    finding.known ? make("p", {}, "A known deviation of the built-in controller: " + finding.known) : null,
    isFirst ? job.remarks.map(it => make("p", {}, it)) : null,
    finding.help.length ? [make("h3", {}, "Help"), finding.help.map(it => make("p", {}, it))] : null,
    page.rules[name] && page.rules[name].reason ? [make("h3", {}, "Why it matters"), prose(page.rules[name].reason)] : null,
    ruleBox(rule, false), finding.also.map(it => ruleBox(it, false)),
    viewsBox(finding),
    finding.world.length ? folded("The state before the write", false, finding.world.map(it => make("div", {}, make("code", {}, it)))) : null,
    finding.next.length ? folded("Look at the cluster" + (roleOf(job.trace) ? " of the " + roleOf(job.trace) : ""), false, finding.next.map(it => make("div", {}, make("code", {}, it)))) : null);
}

// The rule that a refusal names.
const citedBox = name => page.rules[name] ? make("p", {}, "The refusal is about ", make("strong", {}, name), ": ", page.rules[name].sentence, page.rules[name].instead ? [" ", inline(page.rules[name].instead.replace(/\n/g, " "))] : null) : null;

// Words of the rules that not everybody knows.
const WORDS = [[/quiescence/i, "At quiescence: once nothing changes any more, and no request is under way."], [/redispatch/i, "Redispatch: the copy is made again, on this worker or another one."],
  [/\bcop(y|ies)\b/i, "Copy: a Job on a worker cluster that does the work of the Job on the manager."], [/interim condition/i, "Interim condition: FailureTarget or SuccessCriteriaMet. It announces the terminal condition, Failed or Complete."]];
const wordsBox = text => WORDS.filter(([word]) => word.test(text)).map(([, words]) => make("p", { class: "dim" }, words));

const placeOf = finding => finding.line ? "line " + finding.line : "the end of the trace";

function warningBox(warning) {
  const name = ruleOf(warning);
  return make("div", { class: "alarm open", role: "group", "aria-label": "Warning" }, make("h2", {}, "Warning"), make("p", {}, warning.text), ruleBox(name, false));
}

// The fields before and after, those that changed first.
function changesBox(number) {
  const step = page.steps[number], object = page.objects[step.object];
  const { before, after } = stateAt(step.object, number);
  const changed = new Set((step.changes || []).map(([field]) => page.fields[field]));
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  const isNew = step.life === "new";
  const row = name => make("tr", { class: changed.has(name) ? "changed" : null },
    make("th", { scope: "row" }, changed.has(name) ? make("span", { class: "hidden" }, "changed: ") : null, name),
    isNew ? null : make("td", {}, valueOf(before, name)), make("td", {}, valueOf(after, name)));
  const table = rows => make("table", { class: "changes" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "field"),
    isNew ? null : make("th", { scope: "col" }, "before"), make("th", { scope: "col" }, step.refusal ? "asked for" : "after"))), make("tbody", {}, rows));
  const title = (object.pod ? "Pod " : "Job ") + object.name + (step.life === "new" ? ": its first state" : step.life === "gone" ? ": gone" : "");
  const same = names.filter(name => !changed.has(name));
  const order = [...changed].sort((a, b) => Number(b.startsWith("status.")) - Number(a.startsWith("status.")) || a.localeCompare(b));
  return [make("h3", {}, title), order.length ? table(order.map(row)) : make("p", { class: "dim" }, step.life === "gone" ? "The object is gone." : "Nothing changes."),
    same.length ? folded(count(same.length, "field") + " unchanged", false, table(same.map(row))) : null];
}

// Statuses side by side. Fields that differ are marked.
function statuses(title, columns) {
  const names = [...new Set(columns.flatMap(it => [...it.state.keys()]))].filter(name => name.startsWith("status.")).sort();
  const differs = name => new Set(columns.map(it => valueOf(it.state, name))).size > 1;
  const cells = name => columns.map(it => make("td", {}, valueOf(it.state, name)));
  return [make("h3", {}, title), make("table", { class: "changes" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "field"), columns.map(it => make("th", { scope: "col" }, it.title)))),
    make("tbody", {}, names.map(name => make("tr", { class: differs(name) ? "changed" : null }, make("th", { scope: "row" }, name.slice(7)), cells(name)))))];
}

// The Job and its copies at the end of the trace.
function endStatuses(number) {
  const step = page.steps[number], jobs = [step.job, ...page.jobs[step.job].beside].filter(job => objectOf(job) >= 0);
  const isGone = job => page.steps.some(it => it.object === objectOf(job) && it.life === "gone");
  const title = job => (page.jobs[job].label || roleOf(page.jobs[job].trace) || "the Job") + (isGone(job) ? " (removed)" : "");
  return statuses(jobs.length > 1 ? "The Job and its copies at the end" : "The status at the end", jobs.map(job => ({ title: title(job), state: stateAt(objectOf(job), number).after })));
}

// The two Jobs that are compared, each after its last step up to the chosen pair.
function comparedStatuses() {
  const at = items.findIndex(item => item.pair && item.pair.includes(view.step));
  if (at < 0) return null;
  const last = side => items.slice(0, at + 1).map(item => item.pair[side]).filter(step => step !== null).pop();
  const columns = [view.job, view.with].map((job, side) => ({ title: titleOf(page.jobs[job]), state: last(side) === undefined ? new Map() : stateAt(objectOf(job), last(side)).after }));
  return statuses("Both Jobs at this step", columns);
}

// The status of the Job beside a step of one of its pods.
function statusBox(number) {
  const step = page.steps[number];
  const job = objectOf(step.job);
  if (job < 0 || job === step.object) return null;
  const state = stateAt(job, number).after, none = "\u2013";
  const lists = ["succeeded", "failed"].map(it => "status.uncountedTerminatedPods." + it).filter(name => !state.has(name));
  const fields = [...state, ...lists.map(name => [name, none])].filter(([name]) => name.startsWith("status."));
  return folded("The Job's status at this step", isBroken(number), fields.length
    ? pairs(fields.sort().map(([name, value]) => [name.slice(7), value]), "changes") : make("p", { class: "dim" }, "none yet"));
}

function pendingBox(job) {
  if (!job.pending.length) return null;
  return folded(count(job.pending.length, "obligation") + " open at the end of the trace", false, make("ul", {}, job.pending.map(it =>
    make("li", {}, it.requirement + ": " + it.what + (it.since ? ", since " + it.since : "") + (it.pods.length ? " (" + it.pods.map(pod => pod.name).join(", ") + ")" : "")))));
}

// What a step is if no violation and no warning is about it.
function calmBox(number) {
  const step = page.steps[number], alike = alikeOf(number);
  if (step.object === undefined) return null;
  if (!step.refusal) return make("p", { class: "conforms" }, "No rule that was judged is broken here.");
  const all = alike.length > 1 ? ", " + alike.length + " in all" : "";
  const first = alike[0] !== number ? make("p", {}, "The same refusal as ", stepLink(alike[0]), all + ".") : null;
  return first && isBroken(alike[0]) ? first : [first, make("p", { class: "dim" }, "No rule that was judged is broken by this refusal" + (first ? "" : all ? ", which is repeated: " + alike.length + " in all" : "") + ".")];
}

// The name of a step, which leads to it.
function stepLink(number, words) {
  const link = make("a", { href: "#step=" + number }, words ?? "line " + page.steps[number].line);
  link.addEventListener("click", event => { event.preventDefault(); choose(number); });
  return link;
}

function showDetail() {
  const job = page.jobs[view.job], detail = id("detail");
  detail.scrollTop = 0;
  if (view.step === null) {
    const why = job.steps[1] ? "Choose a step." : "The page has no steps of this Job: " + count(job.steps[0], "step") + " left out. Choose it with --job, or raise --steps.";
    fill(detail, make("h2", {}, job.job), make("p", { class: "dim" }, why), ...endBox(job));
    return;
  }
  const number = view.step, step = page.steps[number], mark = marks.get(number);
  fill(detail,
    make("h2", {}, actorOf(step) ? senderOf(step) + " " : "", whatOf(step)),
    make("p", { class: "dim" }, "Step " + (steps.indexOf(number) + 1) + " of " + steps.length + (step.kind === "end" ? ", after line " : ", line ") + step.line + (page.files.length > 1 ? " of " + fileName(step.file) : "") + (step.at === undefined ? "" : ", " + new Date(step.at / 1000).toISOString().replace("T", " ").replace("Z", " UTC")) + (roleOf(step.trace) ? ", " + roleOf(step.trace) : "")),
    step.refusal ? make("p", { class: "found" }, "Refused with " + step.refusal.code + ": " + step.refusal.message) : "",
    ...(mark ? mark.findings.map((it, at) => findingBox(it, page.jobs[mark.job], at === 0 && it === page.jobs[mark.job].findings[0])) : []),
    ...(mark ? mark.warnings.map(warningBox) : []),
    mark ? null : calmBox(number),
    comparedStatuses(), step.kind === "end" ? endStatuses(number) : step.object === undefined ? null : [changesBox(number), statusBox(number)], endBox(page.jobs[step.job] ?? job),
    make("p", { class: "buttons" }, button("Copy as a command", () => copy("A command that explains this Job", commandOf(number))),
      button("Copy as a cut trace", () => copy("Commands that cut the trace behind this step", cutOf(number))),
      button("Copy as Markdown", () => copy("Markdown for an issue", markdownOf(number)))));
}

// Who runs a Job, in words.
const profileOf = job => ({ executor: "run by the Job controller", mirror: "its status is copied from another cluster", aggregate: "its status is the sum of several copies" })[job.profile] ?? job.profile;

function endBox(job) {
  const unplaced = job.findings.filter(it => it.step === null).map(it => findingBox(it, job, it === job.findings[0]));
  const manager = job.managedBy ? ", managed by " + job.managedBy : "";
  const facts = job.verdict + ", " + profileOf(job) + manager + ", " + count(job.judgedWrites, "write") + " judged";
  return [unplaced.length ? make("h3", {}, "Broken by what the trace does not show, or beside these steps") : "", ...unplaced, make("h3", {}, "The Job"), make("p", {}, job.job + ": ", make("span", { class: job.verdict }, facts)),
    pendingBox(job) ?? "", job.findings.length ? "" : job.remarks.map(it => make("p", {}, it))].flat();
}

const button = (text, click) => make("button", { type: "button", click }, text);
const quoted = word => /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";

function inputs(number) {
  const trace = page.traces[page.steps[number].trace];
  if (!trace.role) return trace.files.map(file => quoted(page.files[file])).join(" ");
  return page.traces.flatMap(it => it.files.map(file => "--cluster " + it.role.split(" ")[0] + "=" + quoted(page.files[file]))).join(" ");
}

const commandOf = number => "jobcheck replay --job " + quoted(nameOf(page.steps[number].job ?? view.job)) + " --explain " + inputs(number);

// The command that prints a file.
const reader = file => (file.endsWith(".gz") ? "zcat " : file.endsWith(".zst") ? "zstdcat " : "cat ") + quoted(file);

function cutOf(number) {
  const step = page.steps[number], file = page.files[step.file];
  if (page.traces[step.trace].role) return cutsOf(step);
  return reader(file) + " | head -n " + step.line + " > cut.jsonl\njobcheck replay --job " + quoted(nameOf(step.job ?? view.job)) + " --explain cut.jsonl\n";
}

// Cuts of all clusters: each ends with its last step up to the chosen one. The end of the trace needs the whole files.
function cutsOf(step) {
  const cuts = page.traces.flatMap((trace, number) => trace.files.map((file, at) => {
    const before = page.steps.filter(it => it.trace === number && it.file === file && it.kind !== "end" && (it === step || (it.at ?? 0) <= (step.at ?? Infinity)));
    const line = Math.max(0, ...before.map(it => it.line)), name = "cut-" + number + (trace.files.length > 1 ? "-" + at : "") + ".jsonl";
    return { line: reader(page.files[file]) + (step.kind === "end" ? "" : " | head -n " + line) + " > " + name, flag: "--cluster " + trace.role.split(" ")[0] + "=" + name };
  }));
  return cuts.map(it => it.line).join("\n") + "\njobcheck replay --job " + quoted(nameOf(step.job ?? view.job)) + " --explain " + cuts.map(it => it.flag).join(" ") + "\n";
}

function markdownOf(number) {
  const step = page.steps[number], mark = marks.get(number), fence = "`".repeat(4);
  const findings = mark ? mark.findings.flatMap(it => ["breaks    " + (it.requirement || "warning") + ": " + it.sentence, "request   " + it.write,
    "field     " + it.what, "expected  " + it.expected, "found     " + it.found, "source    " + it.source, ""]) : [];
  const changes = (step.changes || []).map(([field, was, is]) => page.fields[field] + ": " + (was ?? "\u2013") + " \u2192 " + (is ?? "\u2013"));
  return visible("jobcheck on " + nameOf(step.job ?? view.job).replaceAll("`", "'")) + "\n\n" + fence + "\n" + [(actorOf(step) + " " + whatOf(step)).trim(),
    "at        " + fileName(step.file) + ":" + step.line + " " + clock(step), "", ...findings, ...changes, "", commandOf(number)]
    .map(line => visible(line).replaceAll("````", "'''")).join("\n") + "\n" + fence + "\n";
}

function copy(title, text) {
  const field = id("copied-text");
  id("copied-title").textContent = title;
  field.value = text;
  id("copied").showModal();
  field.select();
  const done = () => { id("copied-how").textContent = "It is in the clipboard."; };
  const failed = () => { id("copied-how").textContent = "Press Ctrl-C, or Cmd-C, to copy it."; };
  id("copied-how").textContent = "";
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, failed); else failed();
}
