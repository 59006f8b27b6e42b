"use strict";
// The data of the page, and what is computed of it. Everything from a trace is the text of others: it is shown by
// textContent alone, and invisible characters are made visible.
const page = JSON.parse(document.getElementById("data").textContent);
const id = name => document.getElementById(name);

const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cn}\p{Co}\p{Cs}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]/gu;
const visible = text => String(text).replace(invisible, c => c === "\n" ? " " : "\\u{" + c.codePointAt(0).toString(16) + "}");

// An element with attributes, and children that are elements or texts.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "click") element.addEventListener("click", value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === "") continue;
    element.append(child instanceof Node ? child : visible(child));
  }
  return element;
}

// Replaces the children of an element. What is missing is left out.
function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(it => it !== null && it !== undefined && it !== "").map(it => it instanceof Node ? it : visible(it)));
}

function draw(tag, attributes, text) {
  const element = document.createElementNS("http:" + "//www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = visible(text);
  return element;
}

const count = (number, noun) => number + " " + noun + (number === 1 ? "" : "s");
const objectOf = job => page.objects.findIndex(it => !it.pod && it.job === job);
const nameOf = job => page.jobs[job].job;
const roleOf = trace => page.traces[trace].role;
const titleOf = job => (roleOf(job.trace) ? (job.label ? job.label + " on " : "") + roleOf(job.trace) + ": " : page.traces.length > 1 ? fileName(page.traces[job.trace].files[0]) + ": " : "") + job.job;
const fileName = file => page.files[file].split("/").pop();
const clock = step => step.at === undefined ? "" : new Date(step.at / 1000).toISOString().slice(11, 23);
const actorOf = step => step.actor === undefined ? "" : page.actors[step.actor];
const shortActor = actor => actor.split(" (")[0];
const accountOf = actor => {
  const user = actor.slice(shortActor(actor).length + 2, -1).split(":").pop();
  return user ? " (" + user + ")" : "";
};

// The names of senders in one trace: the account tells those of one name apart.
const senders = new Map();
{
  const known = new Map();
  for (const step of page.steps) {
    if (step.actor === undefined || senders.has(step.trace + "/" + step.actor)) continue;
    const name = step.trace + "/" + shortActor(page.actors[step.actor]);
    if (!known.has(name)) known.set(name, []);
    known.get(name).push(step.trace + "/" + step.actor);
    senders.set(step.trace + "/" + step.actor, shortActor(page.actors[step.actor]));
  }
  for (const keys of known.values()) if (keys.length > 1) keys.forEach(key => senders.set(key, senders.get(key) + accountOf(page.actors[key.split("/")[1]])));
}
const senderOf = step => step.actor === undefined ? "" : senders.get(step.trace + "/" + step.actor);

// The words for a step. A copy has its name, and in a row a pod has its name behind that of the Job.
function whatOf(step, isShort) {
  const object = page.objects[step.object], job = page.jobs[step.job];
  let what = step.what;
  if (object && !object.pod && job.label) what = what.replace(/\bthe Job\b|^writes the status\b/, it => it === "the Job" ? job.label : "writes the status of " + job.label);
  if (isShort) what = what.replace(/^writes the status( of copy \d+| of the copy)? \u2013 refused with (\d+)/, (_, of, code) => "status write" + (of ?? "") + " refused (" + code + ")");
  return isShort && job ? what.split(" ").map(word => shortPod(word, job)).join(" ") : what;
}

// The name of a pod behind the name of its Job.
function shortPod(word, job) {
  const prefix = job.job.split("/").pop() + "-", bare = word.replace(/[,:]$/, "");
  return bare.startsWith(prefix) && bare.length > prefix.length && podNames.has(bare) ? word.slice(prefix.length) : word;
}
const podNames = new Set(page.objects.filter(it => it.pod).map(it => it.name));

// The violations and warnings of each step.
const marks = new Map();
page.jobs.forEach((job, number) => {
  const mark = (step, kind, value) => {
    if (step === null) return;
    if (!marks.has(step)) marks.set(step, { findings: [], warnings: [], job: number });
    marks.get(step)[kind].push(value);
  };
  for (const finding of job.findings) mark(finding.step, "findings", finding);
  for (const warning of job.warnings) mark(warning.step, "warnings", warning);
});
const isBroken = step => marks.has(step) && marks.get(step).findings.length > 0;
const ruleOf = warning => /^[A-Z]+-?\d+(?=:)/.test(warning.text) ? warning.text.split(":")[0] : "warning";

// The steps of a Job, and of its copies in other clusters.
function stepsOf(job) {
  const jobs = new Set([job, ...page.jobs[job].beside, ...page.jobs[job].beside.flatMap(it => page.jobs[it].beside)]);
  const traces = new Set([...jobs].map(it => page.jobs[it].trace));
  const all = [];
  page.steps.forEach((step, number) => {
    if (step.job === undefined ? traces.has(step.trace) : jobs.has(step.job)) all.push(number);
  });
  if (traces.size > 1) all.sort((a, b) => (page.steps[a].at ?? 0) - (page.steps[b].at ?? 0) || a - b);
  return all;
}

// The fields of an object before a step and after it.
function stateAt(object, at) {
  const before = new Map(), after = new Map();
  for (let number = 0; number <= at; number++) {
    const step = page.steps[number];
    if (step.object !== object || (step.refusal && number !== at)) continue;
    const into = number === at ? [after] : [before, after];
    for (const [field, , value] of step.changes || []) {
      for (const map of into) value === null ? map.delete(page.fields[field]) : map.set(page.fields[field], value);
    }
  }
  return { before, after };
}

// The value of a field. The API omits a counter that is 0.
const COUNTERS = ["status.active", "status.succeeded", "status.failed"];
const valueOf = (fields, name) => fields.get(name) ?? (fields.size && COUNTERS.includes(name) ? "0" : "\u2013");

// The refusals that are alike: of one object, with one code and one message.
const refusals = new Map();
const refusalKey = step => JSON.stringify([step.trace, step.object, step.refusal.code, step.refusal.message]);
page.steps.forEach((step, number) => {
  if (!step.refusal || step.object === undefined) return;
  const key = refusalKey(step);
  if (!refusals.has(key)) refusals.set(key, []);
  refusals.get(key).push(number);
});
const alikeOf = number => page.steps[number].refusal ? refusals.get(refusalKey(page.steps[number])) ?? [] : [];

// The text in which a search looks.
const texts = new Map();
function textOf(number) {
  if (!texts.has(number)) {
    const step = page.steps[number], mark = marks.get(number);
    const rules = mark ? [...mark.findings.map(it => [it.requirement, ...it.also, it.known].join(" ")), ...mark.warnings.map(it => it.text)] : [];
    const fields = (step.changes || []).map(([field]) => page.fields[field]);
    const refusal = step.refusal ? step.refusal.code + " " + step.refusal.message : "";
    texts.set(number, [actorOf(step), step.what, refusal, ...rules, ...fields].join(" ").toLowerCase());
  }
  return texts.get(number);
}

// A search: words that a step has, or "X after Y".
function searcher(query) {
  const [wanted, earlier] = query.toLowerCase().split(/\s+after\s+/).map(part => part.trim());
  const has = (number, part) => part.split(/\s+/).every(word => textOf(number).includes(word));
  if (!wanted) return () => true;
  if (!earlier) return number => has(number, wanted);
  let met = false;
  return number => {
    const fits = met && has(number, wanted);
    met = met || has(number, earlier);
    return fits;
  };
}
