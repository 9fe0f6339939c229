"use strict";
// One sample: the conversation turn by turn, code with diagnostics at their lines, cases, profile.

function drawSample(row, detail, index, neighbours) {
  const kind = family(row);
  const head = el("div", { class: "head" },
    el("h1", {}, el("span", { class: `mark f-${kind}` }, `${mark(row)} `), title(row)),
    el("span", { class: `f-${kind}` }, words(row.outcome)),
    el("span", { class: "steps" },
      el("a", { href: "#samples", class: "back" }, "List"),
      neighbours.before ? el("a", { href: anchor(neighbours.before), title: "k" }, "Previous") : null,
      neighbours.after ? el("a", { href: anchor(neighbours.after), title: "j" }, "Next") : null));
  const owner = kind === "none" ? ` It is not counted: the ${row.owner} is answerable.` : "";
  const took = row.time ? ` ${micros(row.time)} ${index.tier === "npu" ? "measured" : "predicted"}${row.roofline ? `, ${digits(row.roofline)} of the roofline` : ""}${row.golden ? `, ${digits(row.golden)} × our kernel` : ""}.` : "";
  const meaning = el("p", { class: "meaning" }, `${index.meanings[row.outcome] ?? ""}${owner}${took}`);
  const several = detail.turns.length > 1;
  const chips = several ? el("ol", { class: "turns", "aria-label": "Turns" }, detail.turns.map((turn) =>
    el("li", {}, el("a", { href: "#", onclick: (event) => { event.preventDefault(); document.getElementById(`turn-${turn.turn}`).scrollIntoView(); } },
      `${mark(turn)} turn ${turn.turn + 1}: ${words(turn.outcome)}${turn.speaks ? " ●" : ""}`)))) : null;
  const turns = detail.turns.map((turn) => drawTurn(turn, detail, index, several));
  return [head, meaning, chips, ...turns].filter(Boolean);
}

function drawTurn(turn, detail, index, several) {
  const id = (file, line) => `t${turn.turn}-${file}-${line}`;
  const parts = [];
  if (several) {
    parts.push(el("h2", {}, `Turn ${turn.turn + 1}: `, el("span", { class: `f-${family(turn)}` }, `${mark(turn)} ${words(turn.outcome)}`),
      turn.speaks ? el("span", { class: "muted" }, "  (counted)") : null));
  }
  const shown = [...turn.diagnostics].sort((a, b) => ["error", "warning", "note"].indexOf(a.severity) - ["error", "warning", "note"].indexOf(b.severity));
  if (shown.length) {
    parts.push(el("h3", {}, "Diagnostics"), el("ul", { class: "diagnostics" }, shown.slice(0, 60).map((one) => el("li", {}, note(one, turn, id)))));
    if (shown.length > 60) parts.push(el("p", { class: "muted" }, `and ${shown.length - 60} more`));
  }
  if (turn.files.length) {
    parts.push(el("h3", {}, "Kernel"), ...turn.files.map((file) => code(file, turn, index, id)));
  }
  if (turn.cases.length) parts.push(el("h3", {}, turn.cases.length > 1 ? "Cases" : "Case"), ...cases(turn));
  for (const one of turn.cases.filter((each) => each.profile)) parts.push(profile(one, (place) => hit(id(...placed(place)), true)));
  if (turn.calls.length) parts.push(el("h3", {}, "Calls"), ...calls(turn));
  parts.push(el("h3", {}, "Conversation"), ...conversation(turn, detail));
  const metrics = Object.entries(turn.metrics);
  if (metrics.length) parts.push(fold("Metrics", `${metrics.length}`, false, scrolled(table(["metric", "value"], metrics.map(([name, value]) => [name, number(value)])))));
  const times = Object.entries(turn.timings);
  if (times.length) parts.push(fold("Time of the judge", "seconds of this machine, no property of the kernel", false, scrolled(table(["stage", "seconds"], times.map(([name, value]) => [name, number(value)])))));
  return el("section", { class: "turn", id: `turn-${turn.turn}` }, parts);
}

function number(value) { return typeof value === "number" ? (Number.isInteger(value) ? String(value) : value.toPrecision(5)) : String(value); }
function scrolled(child) { return el("div", { class: "scroll timeline", tabindex: "0" }, child); }

function fold(name, hint, open, ...children) {
  return el("details", { class: "fold", open }, el("summary", {}, name, el("span", { class: "muted" }, hint)), ...children);
}

/** Open the line of a kernel that has this id, in its middle of the window, and mark it. */
function hit(id, alone) {
  const line = document.getElementById(id);
  if (!line) return;
  line.closest("details").open = true;
  line.scrollIntoView({ block: "center" });
  if (alone) document.querySelectorAll(".line.hit").forEach((each) => each.classList.remove("hit"));
  line.classList.add("hit");
}
function placed(place) { const at = place.lastIndexOf(":"); return [place.slice(0, at), place.slice(at + 1)]; }

/** Once a sample is on the page: each source shows its first diagnostic, with some lines above it. */
function showHits(place) {
  for (const source of place.querySelectorAll(".code")) {
    const line = source.querySelector(".line.hit");
    if (line) source.scrollTop = Math.max(0, line.offsetTop - source.offsetTop - source.clientHeight / 3);
  }
}

/** A text with a button that copies it. */
function copied(name, text, shown) {
  const button = el("button", { type: "button", class: "copy", "aria-label": `Copy ${name}` }, "Copy");
  button.addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { button.textContent = "The browser refuses"; }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return el("div", { class: "copied" }, button, shown);
}

/** A diagnostic; where it has a place in the kernel it leads there. */
function note(one, turn, id) {
  const file = turn.files.find((each) => each.name === one.file);
  const place = one.file ? `${one.file}${one.line ? `:${one.line}` : ""}${one.column ? `:${one.column}` : ""}` : "";
  const jump = (event) => {
    event.preventDefault();
    hit(id(one.file, one.line), true);
  };
  return el("div", { class: `note ${one.severity}` },
    el("b", {}, one.severity), " ", file && one.line ? el("a", { href: "#", onclick: jump }, place) : place,
    one.case ? ` (case ${one.case})` : "", place || one.case ? ": " : "", one.message, one.count > 1 ? ` ×${one.count}` : "", " ",
    el("span", { class: "rule" }, one.rule), one.remedy ? el("span", { class: "remedy" }, one.remedy) : null);
}

function code(file, turn, index, id) {
  const notes = new Map();
  for (const one of turn.diagnostics.filter((each) => each.file === file.name && each.line > 0)) {
    notes.set(one.line, [...(notes.get(one.line) ?? []), one]);
  }
  const lines = [];
  let line = null;
  let place = 0;
  const begin = () => {
    const text = el("span", { class: "text" });
    line = { text, row: el("div", { class: "line", id: id(file.name, lines.length + 1) }, el("span", { class: "number", "aria-hidden": "true" }, String(lines.length + 1)), text) };
    lines.push(line.row);
  };
  begin();
  for (let i = 0; i < file.runs.length; i += 2) {
    const words = file.text.slice(place, place + file.runs[i + 1]).split("\n");
    place += file.runs[i + 1];
    words.forEach((word, j) => {
      if (j) begin();
      if (word) line.text.append(file.runs[i] ? el("span", { class: `t-${index.kinds[file.runs[i]]}` }, word) : word);
    });
  }
  if (file.text.endsWith("\n")) lines.pop();
  const body = el("div", { class: "code", tabindex: "0", role: "region", "aria-label": `Source of ${file.name}` });
  lines.forEach((row, i) => {
    body.append(row);
    for (const one of notes.get(i + 1) ?? []) {
      body.append(el("div", { class: `note ${one.severity}` }, el("b", {}, one.severity), `${one.case ? ` (case ${one.case})` : ""}: `, one.message, " ", el("span", { class: "rule" }, one.rule)));
      row.classList.add("hit");
    }
  });
  const told = turn.diagnostics.filter((each) => each.file === file.name).length;
  return fold(file.name, `${lines.length} lines${told ? `, ${told} diagnostic${told === 1 ? "" : "s"}` : ""}`, true, copied(file.name, file.text, body));
}

/** What an agent or a model with tools asked of the judge, in order, and which of its kernels did not compute. */
function calls(turn) {
  const refused = turn.calls.filter((one) => one.refused);
  const said = refused.length
    ? `${refused.length} of these kernels were refused by a guard or did not compute their outputs.`
    : "No kernel was refused by a guard, and none left its outputs uncomputed.";
  const shown = (value, digits) => value ? value.toFixed(digits) : "–";
  const rows = turn.calls.map((one, i) => [i + 1, one.name, words(one.outcome || one.status), one.refused ? "refused" : "", one.rules.join(", "),
    shown(one.time_us, 2), shown(one.tokens, 0), shown(one.seconds, 1)]);
  return [el("p", { class: refused.length ? "f-wrong" : "muted" }, said),
    scrolled(table(["", "tool", "outcome", "guard", "rules broken", "time µs", "tokens", "seconds"], rows))];
}

/** What a case's row shows of its metrics; the others are folded below. */
const SHOWN = { roofline: "of the roofline", speedup_golden: "× our kernel", speedup_eager: "× eager", max_abs_error: "largest error", max_rel_error: "relative", max_ulp: "ulp" };

function cases(turn) {
  const rows = turn.cases.map((one) => {
    const cell = el("span", { class: `f-${family({ outcome: one.outcome, owner: one.outcome === "infra_error" || one.outcome === "skipped" ? "infra" : "model" })}` },
      `${one.outcome === "ok" ? "✓" : one.outcome === "infra_error" || one.outcome === "skipped" ? "○" : "✗"} ${words(one.outcome)}`);
    return [one.case, cell, one.stage, one.profile ? micros(one.profile.time_us) : "", ...Object.keys(SHOWN).map((name) => name in one.metrics ? digits(one.metrics[name]) : "")];
  });
  const columns = ["case", "verdict", "stage", "time", ...Object.values(SHOWN)];
  const kept = columns.map((_, i) => rows.some((row) => (row[i] instanceof Node ? row[i].textContent : row[i]) !== ""));
  const only = (cells) => cells.filter((_, i) => kept[i]);
  const all = turn.cases.flatMap((one) => Object.entries(one.metrics).map(([name, value]) => [one.case, name, number(value)]));
  return [
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Cases" }, table(only(columns), rows.map(only))),
    all.length ? fold("Metrics of the cases", `${all.length}`, false, scrolled(table(["case", "metric", "value"], all))) : null,
  ].filter(Boolean);
}

/** Pipes in the order in which data goes through them, each in its colour; others come after them. */
const PIPES = ["MTE2", "MTE1", "M", "V", "S", "FIX", "MTE3"];

/** Where a launch's time goes: spans in time where they were recorded, else how long each unit worked and waited. */
function profile(one, jump) {
  const facts = one.profile;
  const units = Object.keys(facts.counters).filter((name) => name.endsWith("_time") && `${name.slice(0, -5)}_ratio` in facts.counters).map((name) => name.slice(0, -5));
  const width = Math.max(300, Math.min(820, window.innerWidth - (window.innerWidth > 900 ? 520 : 70)));
  const style = { ...BASE, width, marginLeft: 92 };
  const parts = [];
  if (facts.bottleneck) parts.push(el("p", {}, facts.bottleneck));
  if (facts.spans.length) {
    const spans = facts.spans.map(([pipe, start, end, place]) => ({ pipe, start, end, place }));
    const known = (pipe) => (PIPES.includes(pipe) ? PIPES.indexOf(pipe) : PIPES.length);
    const pipes = d3.sort(new Set(spans.map((span) => span.pipe)), known, (pipe) => pipe);
    const busy = d3.rollup(spans, (group) => d3.sum(group, (span) => span.end - span.start), (span) => span.pipe);
    const end = d3.max(spans, (span) => span.end);
    const plot = Plot.plot({
      ...style, height: 58 + 28 * pipes.length, marginBottom: 38, marginRight: 60,
      x: { ...AXIS, label: "µs of one core", labelAnchor: "center", grid: true }, y: { ...AXIS, label: null, domain: pipes },
      color: { domain: [...PIPES, ...pipes.filter((pipe) => !PIPES.includes(pipe))], scheme: "observable10" },
      marks: [
        Plot.barX(pipes, { x1: 0, x2: end, y: (pipe) => pipe, fill: "var(--soft)", insetTop: 4, insetBottom: 4, rx: 3 }),
        Plot.barX(spans, { x1: "start", x2: "end", y: "pipe", fill: "pipe", insetTop: 4, insetBottom: 4, insetRight: 0.5, rx: 1.5 }),
        Plot.text(pipes, { x: end, y: (pipe) => pipe, text: (pipe) => percent(busy.get(pipe) / end), textAnchor: "start", dx: 8, fill: "var(--muted)" }),
        told(spans, { x: (span) => (span.start + span.end) / 2, y: "pipe" }, (span) => `${span.pipe}, ${span.place}\n${(span.end - span.start).toFixed(3)} µs from ${span.start.toFixed(3)} on`, 40),
      ],
    });
    plot.addEventListener("input", () => { plot.style.cursor = plot.value ? "pointer" : ""; });
    plot.addEventListener("click", () => { if (plot.value) jump(plot.value.place); });
    parts.push(pictured(plot, `Timeline of ${pipes.length} pipes of one core over ${micros(facts.time_us)}`),
      el("p", { class: "muted hint" }, "At the right how long each pipe is busy. A bar leads to its line of the source."));
  } else if (units.length) {
    const bars = units.flatMap((unit) => {
      const time = facts.counters[`${unit}_time`];
      const ratio = facts.counters[`${unit}_ratio`];
      const waits = facts.counters[`${unit}_wait_ratio`] ?? 0;
      const whole = ratio > 0 ? time / ratio : facts.time_us;
      return [{ unit, what: "works", x1: 0, x2: time }, { unit, what: "waits", x1: time, x2: time + waits * whole }];
    });
    parts.push(key([["works", "var(--accent)"], ["waits for others", "var(--line)"]]), pictured(Plot.plot({
      ...style, height: 58 + 26 * units.length, marginBottom: 38, x: { ...AXIS, label: "µs per core", labelAnchor: "center", grid: true, domain: [0, Math.max(facts.time_us, d3.max(bars, (bar) => bar.x2))] }, y: { ...AXIS, label: null, domain: units },
      marks: [
        Plot.barX(bars, { x1: "x1", x2: "x2", y: "unit", fill: (bar) => bar.what === "works" ? "var(--accent)" : "var(--line)", insetTop: 4, insetBottom: 4, rx: 2, title: (bar) => `${bar.unit} ${bar.what} ${(bar.x2 - bar.x1).toFixed(2)} µs` }),
        Plot.ruleX([facts.time_us], { stroke: "currentColor", strokeDasharray: "3 3" }),
      ],
    }), `How long each of ${units.length} units works and waits; the launch takes ${micros(facts.time_us)}`));
  }
  if (facts.suggestions.length) {
    parts.push(table(["what would be faster", "then µs"], facts.suggestions.slice(0, 5).map(([change, time]) => [change, Number(time).toFixed(2)])));
  }
  const between = facts.low_us !== null && facts.low_us !== undefined ? `, between ${facts.low_us.toFixed(2)} and ${facts.high_us.toFixed(2)}` : "";
  const counters = Object.entries(facts.counters);
  if (counters.length) parts.push(el("details", {}, el("summary", { class: "muted" }, "All counters"), table(["counter", "value"], counters.map(([name, value]) => [name, number(value)]))));
  return fold(`Profile of case ${one.case}`, `${facts.predicted ? "predicted" : "measured"} ${micros(facts.time_us)}${between} on ${facts.machine}, ${facts.blocks} cores`, true, el("div", { class: "timeline" }, parts));
}

function conversation(turn, detail) {
  const messages = turn.prompt.map((place) => detail.messages[place]);
  const last = messages.length - 1;
  const shown = (role, content) => el("div", { class: "message" }, el("span", { class: "role" }, role), copied(`the message of ${role}`, content, el("pre", { tabindex: "0" }, content)));
  const parts = [];
  if (messages.length) parts.push(fold("Prompt", `${turn.template}, ${messages.length} message${messages.length === 1 ? "" : "s"}`, false, messages.map(([role, content], i) => shown(i === last ? `${role}, last` : role, content))));
  const answer = turn.answer;
  if (!answer) return [...parts, el("p", { class: "muted" }, "There is no answer: the model could not be asked.")];
  if (answer.reasoning) parts.push(fold("Reasoning", `${answer.reasoning.length.toLocaleString("en")} characters`, false, el("pre", { tabindex: "0" }, answer.reasoning)));
  const usage = answer.usage ?? {};
  const tokens = Array.isArray(usage) ? usage : [usage.prompt, usage.completion, usage.reasoning];
  const hint = [answer.model, `finish ${answer.finish}`, tokens[1] ? `${tokens[0]} tokens in, ${tokens[1]} out` : "", answer.cached ? "out of a cache" : ""].filter(Boolean).join(" · ");
  const text = answer.parts.map((part) => typeof part === "number" ? turn.files[part].text : part).join("");
  parts.push(fold("Answer", hint, !turn.files.length, copied("the answer", text, el("pre", { tabindex: "0" }, text || "(empty)"))));
  if (Object.keys(answer.sent ?? {}).length) parts.push(fold("Sampling as sent", "", false, el("pre", {}, JSON.stringify(answer.sent, null, 2))));
  return parts;
}
