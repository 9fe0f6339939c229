"use strict";
// The page: which part is shown, the list of samples with its filters, keys, light and dark, a run that is going on.

const state = { shown: 200, listed: [], row: -1, drawn: false };
const find = (id) => document.getElementById(id);

function describe() {
  const index = store.index;
  document.title = `${index.model} · npukernelbench`;
  find("model").textContent = index.model;
  const count = Object.keys(index.tasks).length;
  const badges = [`tier ${index.tier}`, count === 1 ? "1 task" : `${count} tasks`, `track ${index.track}`, index.machine, index.rules && `rules ${index.rules}`, `run ${index.run_id}`].filter(Boolean);
  find("badges").textContent = badges.join(" · ");
  find("words").replaceChildren(...index.sentences.map((text) => el("p", {}, text)));
  find("tiles").replaceChildren(...index.tiles.map((tile) => {
    const whisker = el("div", { class: "whisker", "aria-hidden": "true" }, el("i"), el("b"));
    if (tile.value !== null) {
      whisker.children[0].style.cssText = `left:${100 * tile.low}%;width:${100 * (tile.high - tile.low)}%`;
      whisker.children[1].style.left = `${100 * tile.value}%`;
    }
    return el("div", { class: "tile" }, el("div", { class: "name" }, named(tile.name)), el("div", { class: "value" }, percent(tile.value)),
      el("div", { class: "range" }, tile.value === null ? "not known" : `95 % interval ${percent(tile.low).replace(" %", "")}–${percent(tile.high)}`), whisker);
  }));
  const running = index.running;
  find("status").hidden = !running;
  if (running) find("status").textContent = `Running: ${index.answered} answers, ${index.rows.length} of ${index.expected} samples judged (${percent(index.rows.length / index.expected)}). This page follows.`;
}

function named(name) {
  const [rate, baseline] = name.split(" ");
  const titles = { "correct@1": "right (correct@1)", "compile@1": "compile (compile@1)" };
  if (!baseline) return titles[name] ?? `right at least once (${name})`;
  const p = rate.slice(5);
  if (baseline === "roofline") return `right, ≥ ${p} of the roofline`;
  const than = { golden: "our kernel", eager: "torch, eager" }[baseline] ?? baseline;
  return p === "1" ? `right and as fast as ${than}` : `right, ${p} times as fast as ${than}`;
}

function fill(select, all, values) {
  const before = select.value;
  select.replaceChildren(el("option", { value: "" }, all), ...values.map(([value, text]) => el("option", { value }, text)));
  select.value = values.some(([value]) => value === before) ? before : "";
}

function choices() {
  const { rows, tasks } = store.index;
  const counts = d3.rollup(rows, (group) => group.length, (row) => row.outcome);
  const groups = [["@right", "right"], ["@wrong", "not right"], ["@none", "not counted"]];
  fill(find("by-outcome"), "every outcome", [...groups, ...d3.sort(counts, ([, count]) => -count).map(([name, count]) => [name, `${words(name)} (${count})`])]);
  const there = [...new Set(rows.map((row) => row.task))].map((task) => tasks[task] ?? ["", "", ""]);
  fill(find("by-level"), "every level", d3.sort(new Set(there.map((one) => one[0]).filter(Boolean))).map((level) => [level, `level ${level}`]));
  fill(find("by-category"), "every category", d3.sort(new Set(there.map((one) => one[1]).filter(Boolean))).map((name) => [name, name]));
}

function admitted(row) {
  const outcome = find("by-outcome").value;
  const [level, category] = store.index.tasks[row.task] ?? ["", ""];
  const kind = family(row);
  const right = { "": true, "@right": kind === "ok", "@wrong": kind !== "ok" && kind !== "none", "@none": kind === "none" }[outcome] ?? row.outcome === outcome;
  if (!right || (find("by-level").value && level !== find("by-level").value)) return false;
  if (find("by-category").value && category !== find("by-category").value) return false;
  const text = `${row.task} ${row.case} ${row.index} ${row.outcome} ${words(row.outcome)} ${category} ${row.message}`.toLowerCase();
  return find("search").value.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

const ORDERS = {
  key: (i) => i,
  slow: (i) => store.index.rows[i].roofline ?? 9e9,
  fast: (i) => -(store.index.rows[i].roofline ?? -1),
  stage: (i) => STAGES.indexOf(store.index.rows[i].stage),
};

function list() {
  const { rows } = store.index;
  state.listed = d3.sort(d3.range(rows.length).filter((i) => admitted(rows[i])), ORDERS[find("by-order").value]);
  find("matches").textContent = state.listed.length === rows.length ? `${rows.length} samples` : `${state.listed.length} of ${rows.length} samples`;
  find("rows").replaceChildren(...state.listed.slice(0, state.shown).map((i) => {
    const row = rows[i];
    return el("li", {}, el("a", { href: anchor(row), "data-row": i, "aria-current": i === state.row ? "true" : null },
      el("span", { class: `mark f-${family(row)}`, "aria-hidden": "true" }, mark(row)),
      el("span", { class: "what" }, title(row)), el("span", { class: "time" }, micros(row.time)),
      el("span", { class: "how" }, how(row))));
  }));
  find("more").hidden = state.listed.length <= state.shown;
}

/** How a sample ended, in a line: what went wrong, or how fast it is. */
function how(row) {
  const speeds = [row.golden ? `${digits(row.golden)} × our kernel` : "", row.roofline ? `${digits(row.roofline)} of the roofline` : ""];
  return [words(row.outcome), row.turns > 1 ? `, ${row.turns} turns` : "", row.message ? `: ${row.message}` : "", ...speeds.filter(Boolean).map((one) => ` · ${one}`)].join("");
}

function show(part) {
  for (const name of ["overview", "samples", "settings"]) {
    find(`view-${name}`).hidden = name !== part;
    document.querySelector(`.top nav a[href="#${name}"]`).toggleAttribute("aria-current", name === part);
  }
}

async function route() {
  const hash = location.hash.slice(1) || "overview";
  if (hash.startsWith("/sample/")) {
    show("samples");
    document.body.classList.add("reading");
    return open(hash.split("/").slice(2).map(decodeURIComponent));
  }
  document.body.classList.remove("reading");
  show(["overview", "samples", "settings"].includes(hash) ? hash : "overview");
  if (!find("view-overview").hidden && !state.drawn) {
    state.drawn = true;
    drawCharts(store.index, find("charts"));
  }
  if (hash === "samples" && state.row < 0) {
    const first = store.index.rows[state.listed[0]];
    // Beside the list there is room for a sample; where there is none, the list alone is shown.
    if (first && window.innerWidth > 900) return open([first.task, first.case || "*", first.track, String(first.index)], false);
    find("sample").replaceChildren(el("p", { class: "empty" }, "Choose a sample. j and k go to the next and the previous one."));
  }
}

async function open([task, name, track, number], chosen = true) {
  const { rows } = store.index;
  const asked = location.hash;
  const wanted = name === "*" ? "" : name;
  const i = rows.findIndex((row) => row.task === task && row.case === wanted && row.track === track && String(row.index) === number);
  const place = find("sample");
  state.row = i;
  if (i < 0) {
    place.replaceChildren(el("p", { class: "empty" }, `There is no sample ${task}/${name}/${track}/${number} in this run.`));
    return;
  }
  document.querySelectorAll(".rows a[aria-current]").forEach((link) => link.removeAttribute("aria-current"));
  const link = document.querySelector(`.rows a[data-row="${i}"]`);
  link?.setAttribute("aria-current", "true");
  link?.scrollIntoView({ block: "nearest" });
  const at = state.listed.indexOf(i);
  const neighbours = { before: rows[state.listed[at - 1]], after: at >= 0 ? rows[state.listed[at + 1]] : undefined };
  try {
    const detail = await store.sample(i);
    if (state.row !== i) return;
    place.replaceChildren(...drawSample(rows[i], detail, store.index, neighbours));
    showHits(place);
    // Who has gone on by now, to the search for instance, is not called back.
    if (!chosen || location.hash !== asked) return;
    document.title = `${title(rows[i])} · ${store.index.model}`;
    window.scrollTo(0, 0);
    place.focus({ preventScroll: true });
  } catch (error) {
    place.replaceChildren(el("p", { class: "empty" }, `This sample cannot be shown: ${error.message}`));
  }
}

function settings() {
  const one = (value) => value === null || value === undefined || value === "" ? "–"
    : typeof value !== "object" ? String(value)
    : value.name ? [value.name, value.version].filter(Boolean).join(" ") : JSON.stringify(value);
  const flat = (value, name = "") => value !== null && typeof value === "object" && !Array.isArray(value)
    ? Object.entries(value).flatMap(([key, inner]) => flat(inner, name ? `${name}.${key}` : key))
    : [[name, Array.isArray(value) ? value.map(one).join(", ") || "–" : one(value)]];
  const { identity, provenance } = store.index;
  find("settings").replaceChildren(el("h3", {}, "Identity"), scrolled(table(["field", "value"], flat(identity))),
    el("h3", {}, "Circumstances"), scrolled(table(["field", "value"], flat(provenance))));
}

function theme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

function redraw() {
  describe();
  choices();
  list();
  settings();
  state.drawn = false;
  if (!find("view-overview").hidden) { state.drawn = true; drawCharts(store.index, find("charts")); }
}

async function follow() {
  while (store.index.running) {
    await new Promise((resolve) => setTimeout(resolve, 2000));
    try { if (await store.refresh()) redraw(); } catch (error) { find("status").textContent = `The server does not answer: ${error.message}`; }
  }
}

async function start() {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  let kept = null;
  try { kept = localStorage.getItem("npukb-theme"); } catch { /* a page from a file may have no storage */ }
  theme(kept ? kept === "dark" : system.matches);
  system.addEventListener("change", () => theme(system.matches));
  find("theme").addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme !== "dark";
    theme(dark);
    try { localStorage.setItem("npukb-theme", dark ? "dark" : "light"); } catch { /* as above */ }
  });
  window.addEventListener("hashchange", route);
  find("filter").addEventListener("submit", (event) => event.preventDefault());
  find("filter").addEventListener("input", () => { state.shown = 200; list(); });
  find("more").addEventListener("click", () => { state.shown += 400; list(); });
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = state.listed.indexOf(state.row);
    const next = { j: at + 1, k: at - 1 }[event.key];
    if (next !== undefined && next >= 0 && next < state.listed.length) location.hash = anchor(store.index.rows[state.listed[next]]);
    if (event.key === "/") { event.preventDefault(); location.hash = "#samples"; find("search").focus(); }
  });
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (Math.abs(window.innerWidth - width) < 40) return;
    width = window.innerWidth;
    if (!find("view-overview").hidden) drawCharts(store.index, find("charts")); else state.drawn = false;
  });
  await store.open();
  redraw();
  await route();
  document.body.dataset.ready = "yes";
  follow();
}

start().catch((error) => {
  find("status").hidden = false;
  find("status").textContent = `This page cannot be shown: ${error.message}`;
  throw error;
});
