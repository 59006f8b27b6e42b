"use strict";
// The search: all words must occur in a section. The index is loaded when somebody searches, by an element, so that it
// works from a disk as well. What is found is put in as text.
(() => {
  const id = name => document.getElementById(name);
  const MOST = 40;
  const root = document.documentElement.dataset.root;
  const box = id("find"), results = id("results"), hits = id("hits"), count = id("count");
  let loading = null;
  id("search").hidden = false;

  function load() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = root + "search-index.js";
      script.onload = () => {
        for (const it of window.sections) it.lower = (it.title + "\n" + it.heading + "\n" + it.text).toLowerCase();
        resolve(window.sections);
      };
      script.onerror = () => reject(new Error("search-index.js is not there"));
      document.head.append(script);
    });
    return loading;
  }

  // Words of the heading count most, then those of the page's title. An id as a heading comes before all others.
  function rank(section, words, asked) {
    const heading = section.heading.toLowerCase(), title = section.title.toLowerCase();
    let rank = heading === asked ? 100 : heading.startsWith(asked) ? 50 : 0;
    for (const word of words) {
      if (!section.lower.includes(word)) return -1;
      rank += heading.includes(word) ? 10 : title.includes(word) ? 4 : 1;
    }
    return rank;
  }

  function marked(text, words) {
    const lower = text.toLowerCase();
    const places = words.map(word => lower.indexOf(word)).filter(at => at >= 0);
    const first = Math.max(0, Math.min(...places, text.length) - 50);
    const shown = text.slice(first, first + 180);
    const parts = [first > 0 ? "…" : ""];
    let at = 0;
    while (at < shown.length) {
      let next = shown.length, length = 0;
      for (const word of words) {
        const found = shown.toLowerCase().indexOf(word, at);
        if (found >= 0 && found < next) { next = found; length = word.length; }
      }
      parts.push(shown.slice(at, next));
      if (length) {
        const mark = document.createElement("mark");
        mark.textContent = shown.slice(next, next + length);
        parts.push(mark);
      }
      at = next + Math.max(length, 1);
    }
    return parts;
  }

  function hit(section, words) {
    const item = document.createElement("li"), link = document.createElement("a"), text = document.createElement("span");
    const name = document.createElement("b");
    link.href = root + section.page + (section.anchor ? "#" + section.anchor : "");
    name.textContent = section.heading || section.title;
    link.append(name);
    if (section.heading && section.heading !== section.title) link.append(" · " + section.title);
    text.append(...marked(section.text, words));
    link.append(text);
    item.append(link);
    return item;
  }

  async function search() {
    const asked = box.value.trim().toLowerCase();
    const words = asked.split(/\s+/).filter(Boolean);
    if (!words.length) { results.hidden = true; return; }
    let sections;
    try { sections = await load(); } catch (error) { count.textContent = error.message; results.hidden = false; return; }
    if (box.value.trim().toLowerCase() !== asked) return;
    const found = sections.map(section => [rank(section, words, asked), section]).filter(([rank]) => rank >= 0);
    found.sort((a, b) => b[0] - a[0]);
    hits.replaceChildren(...found.slice(0, MOST).map(([, section]) => hit(section, words)));
    count.textContent = found.length > MOST ? "Showing " + MOST + " of " + found.length + " sections"
      : found.length === 1 ? "1 section" : found.length + " sections";
    results.hidden = false;
  }

  const close = () => { results.hidden = true; };
  box.addEventListener("input", search);
  box.addEventListener("focus", () => { load().catch(() => {}); if (box.value) search(); });
  document.addEventListener("click", event => { if (!id("search").contains(event.target)) close(); });
  document.addEventListener("keydown", event => {
    const typing = event.target instanceof HTMLInputElement;
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      box.focus();
      box.select();
    } else if (event.key === "Escape") {
      close();
      if (typing) box.blur();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && id("search").contains(event.target) && !results.hidden) {
      const all = [box, ...hits.querySelectorAll("a")];
      const to = all.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1);
      event.preventDefault();
      all[Math.max(0, Math.min(all.length - 1, to))].focus();
    } else if (event.key === "Enter" && event.target === box && !results.hidden) {
      hits.querySelector("a")?.click();
    }
  });
})();
