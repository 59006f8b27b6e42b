// Markdown of the rules as elements: paragraphs, lists, tables, emphasis, code. Links become their words.
function prose(text) {
  const parts = [];
  for (const block of text.split(/\n\n+/).filter(Boolean)) {
    if (block.startsWith("```")) { parts.push(make("pre", {}, block.split("\n").slice(1, -1).flatMap(line => [visible(line), document.createTextNode("\n")]))); continue; }
    for (const lines of groups(block.split("\n"))) parts.push(lines.kind === "table" ? tableOf(lines) : lines.kind === "text" ? make("p", {}, inline(lines.join(" "))) : listOf(lines));
  }
  return parts;
}

const kindOf = line => /^\s*\|/.test(line) ? "table" : /^\s*- /.test(line) ? "ul" : /^\s*\d+\. /.test(line) ? "ol" : "text";

// Lines of one kind that follow each other. An indented line continues an item.
function groups(lines) {
  const all = [];
  for (const line of lines) {
    const last = all[all.length - 1], isRest = last && last.kind !== "table" && /^\s/.test(line) && kindOf(line) === "text";
    const kind = isRest ? last.kind : kindOf(line);
    if (last && last.kind === kind) last.push(line); else all.push(Object.assign([line], { kind }));
  }
  return all;
}

function listOf(lines) {
  const items = [];
  for (const line of lines) {
    const item = line.replace(/^\s*(-|\d+\.) /, "");
    if (item !== line) items.push(item); else items[items.length - 1] += " " + line.trim();
  }
  return make(lines.kind, {}, items.map(item => make("li", {}, inline(item))));
}

function tableOf(lines) {
  const cells = line => line.trim().replace(/^\||\|$/g, "").split("|").map(it => it.trim());
  const isRule = line => cells(line).every(it => /^:?-+:?$/.test(it));
  const head = lines.length > 1 && isRule(lines[1]) ? lines[0] : null;
  const rows = lines.filter(line => line !== head && !isRule(line)).map(line => make("tr", {}, cells(line).map(it => make("td", {}, inline(it)))));
  const heads = head && cells(head).some(Boolean) ? make("thead", {}, make("tr", {}, cells(head).map(it => make("th", { scope: "col" }, inline(it))))) : null;
  return make("table", { class: "text" }, heads, make("tbody", {}, rows));
}

function inline(text) {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*)/).map(it =>
    it.startsWith("`") ? make("code", {}, it.slice(1, -1)) : it.startsWith("**") ? make("strong", {}, it.slice(2, -2)) :
      /^\*[^*]+\*$/.test(it) ? make("em", {}, it.slice(1, -1)) : it);
}
