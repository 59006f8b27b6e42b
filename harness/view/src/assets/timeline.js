// The timeline: lanes for senders, Jobs and pods. Only the rows that can be seen are in the document.
const ROW = 30, MOST_ACTORS = 8, MOST_PODS = 24;
const view = { job: 0, step: null, who: "", lane: "", kind: "", find: "", fold: true, with: null };
let LANE = 22, steps = [], items = [], lanes = [], opened = new Set(), laneNote = "";

// What a line of the timeline shows: a step, or a stretch of quiet ones.
function arrange() {
  const fits = searcher(view.find);
  const chosen = steps.filter(number => {
    const found = fits(number), step = page.steps[number];
    return found && (!view.who || actorOf(step) === view.who) && (!view.lane || "o" + step.object === view.lane) && ofKind(number, step);
  });
  items = [];
  for (let at = 0; at < chosen.length;) {
    let end = at;
    while (end < chosen.length && isQuiet(chosen[end])) end++;
    if (!view.fold || end - at < 3) {
      end = Math.max(end, at + 1);
      chosen.slice(at, end).forEach(step => items.push({ step }));
    } else {
      const stretch = chosen.slice(at, end);
      items.push({ fold: stretch });
      if (opened.has(stretch[0])) stretch.forEach(step => items.push({ step, inner: true }));
    }
    at = end;
  }
  const hidden = steps.length - chosen.length;
  return hidden ? "showing " + chosen.length + " of " + count(steps.length, "step") : count(steps.length, "step");
}

const isQuiet = number => page.steps[number].quiet && !marks.has(number);

function ofKind(number, step) {
  if (!view.kind) return true;
  if (view.kind === "refused") return Boolean(step.refusal);
  if (view.kind === "broken") return marks.has(number);
  return step.kind === view.kind;
}

// The lanes of a Job: who sends, the Job and its copies, their pods. Pods of violations come first if there are many.
function layOut() {
  const actors = new Map(), jobs = new Map(), pods = new Map();
  const urgent = new Set();
  for (const number of steps) {
    const step = page.steps[number];
    if (step.actor !== undefined) {
      const key = step.trace + "/" + step.actor;
      actors.set(key, { key, count: (actors.get(key)?.count || 0) + 1, title: actorOf(step), name: senderOf(step), trace: step.trace });
    }
    if (step.object === undefined) continue;
    const object = page.objects[step.object];
    (object.pod ? pods : jobs).set(step.object, { key: "o" + step.object, title: object.name, trace: step.trace, object: step.object });
    if (marks.has(number)) urgent.add(step.object);
  }
  const many = [...actors.values()].sort((a, b) => b.count - a.count);
  const ofActors = many.slice(0, MOST_ACTORS);
  const all = [...pods.values()];
  const first = [...all.filter(it => urgent.has(it.object)), ...all.filter(it => !urgent.has(it.object))].slice(0, MOST_PODS);
  const ofPods = all.filter(it => first.includes(it));
  const traces = [...new Set([...ofActors, ...jobs.values(), ...ofPods].map(it => it.trace))].sort((a, b) => a - b);
  const job = nameOf(view.job).split("/").pop();
  lanes = traces.flatMap(trace => {
    const role = roleOf(trace) ? roleOf(trace)[0] + (roleOf(trace).match(/\d+/) ?? "") + ": " : "";
    const of = list => [...list].filter(it => it.trace === trace);
    return [
      ...of(ofActors).map(it => ({ ...it, label: role + it.name, actor: true })),
      ...of(jobs.values()).map(it => ({ ...it, label: role + (page.jobs[page.objects[it.object].job].label.replace("the ", "") || "Job") })),
      ...of(ofPods).map(it => ({ ...it, label: it.title.startsWith(job + "-") ? it.title.slice(job.length + 1) : it.title })),
    ];
  });
  LANE = lanes.length > 8 ? 16 : 22;
  laneNote = [
    many.length > ofActors.length ? "lanes of " + ofActors.length + " of " + count(many.length, "sender") : "",
    all.length > ofPods.length ? "lanes of " + ofPods.length + " of " + count(all.length, "pod") : "",
  ].filter(Boolean).join(", ");
  lanes.forEach(lane => { lane.states = lane.actor ? [] : statesOf(lane.object); });
}

// The states of a lane, each with the position of its first step.
function statesOf(object) {
  const states = [], fields = new Map();
  steps.forEach((number, position) => {
    const step = page.steps[number];
    if (step.object !== object || step.refusal) return;
    for (const [field, , value] of step.changes || []) fields.set(page.fields[field], value);
    states.push({ position, name: step.life === "gone" ? "" : stateName(object, fields) });
  });
  return states;
}

function stateName(object, fields) {
  const isTrue = kind => String(fields.get("status.condition " + kind) || "").startsWith("True");
  const deleting = fields.get("metadata.deletionTimestamp") ? " deleting" : "";
  if (!page.objects[object].pod) {
    const end = ["Complete", "Failed"].find(isTrue);
    return (end || (isTrue("Suspended") ? "suspended" : fields.get("status.startTime") ? "active" : "there")) + deleting;
  }
  const tracked = String(fields.get("metadata.finalizers") || "").includes("job-tracking");
  return (fields.get("status.phase") || "Pending") + (tracked ? deleting : " released");
}

function stateBefore(lane, position, including) {
  let low = 0, high = lane.states.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (including ? lane.states[middle].position <= position : lane.states[middle].position < position) low = middle + 1; else high = middle;
  }
  return low ? lane.states[low - 1].name : "";
}

const xOf = index => index * LANE + LANE / 2;

function heads() {
  const line = make("span", { class: "place" }, "line"), time = make("span", { class: "clock" }, "UTC");
  const width = lanes.length * LANE + 90, height = 78;
  const drawing = draw("svg", { width: 146 + width, height });
  lanes.forEach((lane, index) => {
    const x = 4 + 142 + xOf(index);
    const label = draw("text", { transform: "translate(" + x + " " + (height - 6) + ") rotate(-42)" }, lane.label.length > 14 ? lane.label.slice(0, 13) + "\u2026" : lane.label);
    if (!lane.actor) label.addEventListener("click", () => { view.lane = view.lane === lane.key ? "" : lane.key; fillForm(); refresh(); });
    label.append(draw("title", {}, lane.label + " " + lane.title));
    drawing.append(label);
  });
  id("heads").replaceChildren(make("div", { class: "columns" }, line, time), drawing);
}

// The lanes beside one step.
function laneRow(number) {
  const step = page.steps[number], position = steps.indexOf(number);
  const middle = ROW / 2;
  const drawing = draw("svg", { width: lanes.length * LANE, height: ROW, "aria-hidden": "true",
    class: (isBroken(number) ? "bad " : "") + (step.refusal ? "refused" : "") });
  const line = (x, from, to, name) => drawing.append(draw("line", { x1: x, x2: x, y1: from, y2: to, class: "life " + name }));
  lanes.forEach((lane, index) => {
    const x = xOf(index);
    if (lane.actor) { line(x, 0, ROW, ""); return; }
    const before = stateBefore(lane, position, false), after = stateBefore(lane, position, true);
    if (before) line(x, 0, middle, before);
    if (after) line(x, middle, ROW, after);
  });
  const from = lanes.findIndex(lane => lane.key === step.trace + "/" + step.actor);
  const to = lanes.findIndex(lane => lane.object !== undefined && lane.object === step.object);
  if (from >= 0 && to >= 0) drawing.append(draw("line", { x1: xOf(from), x2: xOf(to), y1: middle, y2: middle, class: "arrow" }));
  if (from >= 0) drawing.append(draw("circle", { cx: xOf(from), cy: middle, r: 3.5, class: "dot" }));
  if (to >= 0) drawing.append(draw("circle", { cx: xOf(to), cy: middle, r: 4.5, class: "dot to" }));
  return drawing;
}

function tags(number) {
  const mark = marks.get(number);
  if (!mark) return [];
  const tag = (name, text) => make("span", { class: "tag " + name }, text);
  return [...new Set(mark.findings.map(it => it.known || it.requirement || "warning"))].map(text => tag("bad", text))
    .concat([...new Set(mark.warnings.map(ruleOf))].map(text => tag("open", text)));
}

function rowOf(item, index) {
  const cell = (name, ...children) => make("span", { class: name, role: "gridcell" }, ...children);
  const attributes = { role: "row", id: "row-" + index, "aria-rowindex": index + 1, click: () => chooseItem(index) };
  if (item.fold) {
    const isOpen = opened.has(item.fold[0]);
    return make("div", { ...attributes, class: "row folded", "aria-expanded": String(isOpen) },
      cell("place", isOpen ? "\u25be" : "\u25b8"), cell("what", count(item.fold.length, "quiet step") + (isOpen ? "" : ": nothing changes that a rule is about, or a refusal is repeated")));
  }
  if (item.pair) return pairRow(item, attributes, cell);
  const step = page.steps[item.step], mark = marks.get(item.step);
  const name = ["row", item.step === view.step ? "chosen" : "", mark ? (mark.findings.length ? "broken" : "warned") : ""].join(" ");
  return make("div", { ...attributes, class: name, "aria-selected": String(item.step === view.step) },
    cell("place", step.kind === "end" ? "end" : String(step.line)), cell("clock", clock(step)), make("span", { role: "gridcell", class: "hidden" }, laneText(step)), laneRow(item.step),
    make("span", { class: "what", role: "gridcell", title: visible(actorOf(step) + " " + whatOf(step)) }, tags(item.step),
      hasRoles() ? make("span", { class: "role" }, roleOf(step.trace) + " ") : "",
      actorOf(step) ? make("span", { class: "who" }, senderOf(step) + " ") : "", whatOf(step, true)));
}

const hasRoles = () => page.traces.length > 1 && page.traces.every(it => it.role);

const laneText = step => step.object === undefined ? "" : (page.objects[step.object].pod ? "pod " : "Job ") + page.objects[step.object].name;

// Puts the rows that can be seen into the document.
function paint() {
  const scroll = id("scroll"), from = Math.max(0, Math.floor(scroll.scrollTop / ROW) - 8);
  const to = Math.min(items.length, from + Math.ceil(scroll.clientHeight / ROW) + 16);
  id("space").style.height = items.length * ROW + "px";
  id("rows").style.top = from * ROW + "px";
  scroll.setAttribute("aria-rowcount", items.length);
  const rows = items.slice(from, to).map((item, index) => rowOf(item, from + index));
  id("rows").replaceChildren(...(rows.length ? rows : [make("p", { class: "empty" }, "No step fits the filters.")]));
  const chosen = itemOf(view.step);
  if (chosen >= 0) scroll.setAttribute("aria-activedescendant", "row-" + chosen); else scroll.removeAttribute("aria-activedescendant");
}

const itemOf = step => items.findIndex(item => item.step === step || (item.pair && item.pair.includes(step)));

// Scrolls so that an item can be seen, in the middle if it is far away.
function reveal(index, inTheMiddle) {
  const scroll = id("scroll"), top = index * ROW;
  const above = scroll.scrollTop + ROW - top, below = top - (scroll.scrollTop + scroll.clientHeight - 3 * ROW);
  if (Math.max(above, below) > (inTheMiddle ? 0 : 5 * ROW)) scroll.scrollTop = top - scroll.clientHeight / 2;
  else if (above > 0) scroll.scrollTop = top - 2 * ROW;
  else if (below > 0) scroll.scrollTop = top - scroll.clientHeight + 4 * ROW;
}
