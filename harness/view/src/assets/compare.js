// Two Jobs side by side: their steps are aligned by what they do, without names and times.
const MOST_EDITS = 600;

// Pairs of steps, [left, right], either of which may be missing.
function align(left, right) {
  const same = (a, b) => page.steps[left[a]].shape === page.steps[right[b]].shape;
  let start = 0;
  while (start < left.length && start < right.length && same(start, start)) start++;
  const pairs = left.slice(0, start).map((step, at) => [step, right[at]]);
  return pairs.concat(edits(left.slice(start), right.slice(start)));
}

// The shortest edit of one list into the other (Myers), or one list after the other if it is long.
function edits(left, right) {
  const shape = step => page.steps[step].shape;
  const reached = [];
  let ends = new Map([[1, 0]]);
  for (let depth = 0; depth <= Math.min(MOST_EDITS, left.length + right.length); depth++) {
    reached.push(new Map(ends));
    for (let k = -depth; k <= depth; k += 2) {
      const down = k === -depth || (k !== depth && (ends.get(k - 1) ?? -1) < (ends.get(k + 1) ?? -1));
      let x = down ? ends.get(k + 1) ?? 0 : (ends.get(k - 1) ?? 0) + 1;
      while (x < left.length && x - k < right.length && shape(left[x]) === shape(right[x - k])) x++;
      ends.set(k, x);
      if (x >= left.length && x - k >= right.length) return retrace(left, right, reached, depth, k);
    }
  }
  return [...left.map(step => [step, null]), ...right.map(step => [null, step])];
}

function retrace(left, right, reached, depth, k) {
  const pairs = [];
  let x = left.length, y = right.length;
  for (; depth > 0; depth--) {
    const ends = reached[depth];
    const down = k === -depth || (k !== depth && (ends.get(k - 1) ?? -1) < (ends.get(k + 1) ?? -1));
    const from = down ? k + 1 : k - 1, x0 = ends.get(from), y0 = x0 - from;
    while (x > x0 + (down ? 0 : 1) && y > y0 + (down ? 1 : 0)) pairs.push([left[--x], right[--y]]);
    pairs.push(down ? [null, right[--y]] : [left[--x], null]);
    k = from;
  }
  while (x > 0) pairs.push([left[--x], right[--y]]);
  return pairs.reverse();
}

// Replaces the items of the timeline by pairs. Returns what is said about them.
function arrangePairs() {
  const interesting = job => stepsOf(job).filter(step => page.steps[step].job === job && !isQuiet(step));
  const fits = searcher(view.find);
  const all = align(interesting(view.job), interesting(view.with));
  const first = all.findIndex(pair => pair.includes(null));
  items = all.map((pair, at) => ({ pair, first: at === first, differs: pair.includes(null) }))
    .filter(item => item.pair.filter(step => step !== null).some(fits));
  const differing = all.filter(pair => pair.includes(null)).length;
  return first < 0 ? "both Jobs take the same " + count(all.length, "step")
    : count(differing, "difference") + ", the first at line " + page.steps[all[first][0] ?? all[first][1]].line + "; quiet steps are left out";
}

function pairRow(item, attributes, cell) {
  const half = step => cell("half", step === null ? "" : [tags(step), make("span", { class: "dim" }, page.steps[step].line + " "), whatOf(page.steps[step], true)]);
  const chosen = item.pair.includes(view.step) && view.step !== null;
  const name = ["row", item.first ? "first" : item.differs ? "differs" : "", chosen ? "chosen" : ""].join(" ");
  return make("div", { ...attributes, class: name, "aria-selected": String(chosen) }, item.pair.map(half));
}

function pairHeads() {
  id("heads").replaceChildren(make("div", { class: "row" }, [view.job, view.with].map(job => make("strong", { class: "half" }, titleOf(page.jobs[job])))));
}
