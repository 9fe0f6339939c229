"use strict";
// One sample: the conversation turn by turn, code with diagnostics at their lines, cases, profile.

function drawSample(row, detail, index, neighbours) {
  const kind = family(row);
  const head = el("div", { class: "head" },
    el("h1", {}, el("span", { class: `mark f-${kind}` }, `${mark(row)} `), title(row)),
    el("span", { class: `f-${kind}` }, words(row.outcome)),
    row.time ? el("span", { class: "muted" }, `${micros(row.time)} ${index.tier === "npu" ? "measured" : "predicted"}${row.roofline ? `, ${row.roofline.toFixed(2)} of the roofline` : ""}`) : null,
    el("span", { class: "steps" },
      el("a", { href: "#samples", class: "back" }, "List"),
      neighbours.before ? el("a", { href: anchor(neighbours.before), title: "k" }, "Previous") : null,
      neighbours.after ? el("a", { href: anchor(neighbours.after), title: "j" }, "Next") : null));
  const owner = kind === "none" ? ` It is not counted: the ${row.owner} is answerable.` : "";
  const meaning = el("p", { class: "meaning" }, `${index.meanings[row.outcome] ?? ""}${owner}`);
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
  if (turn.cases.length) parts.push(el("h3", {}, "Cases"), cases(turn));
  for (const one of turn.cases.filter((each) => each.profile)) parts.push(profile(one));
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

/** A diagnostic; where it has a place in the kernel it leads there. */
function note(one, turn, id) {
  const file = turn.files.find((each) => each.name === one.file);
  const place = one.file ? `${one.file}${one.line ? `:${one.line}` : ""}${one.column ? `:${one.column}` : ""}` : "";
  const jump = (event) => {
    event.preventDefault();
    const line = document.getElementById(id(one.file, one.line));
    if (!line) return;
    line.closest("details").open = true;
    line.scrollIntoView({ block: "center" });
    document.querySelectorAll(".line.hit").forEach((each) => each.classList.remove("hit"));
    line.classList.add("hit");
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
  return fold(file.name, `${lines.length} lines${told ? `, ${told} diagnostic${told === 1 ? "" : "s"}` : ""}`, true, body);
}

function cases(turn) {
  const rows = turn.cases.map((one) => {
    const metrics = Object.entries(one.metrics).filter(([, value]) => typeof value !== "number" || value !== 0).map(([name, value]) => `${name} ${number(value)}`).join(" · ");
    const cell = el("span", { class: `f-${family({ outcome: one.outcome, owner: one.outcome === "infra_error" || one.outcome === "skipped" ? "infra" : "model" })}` },
      `${one.outcome === "ok" ? "✓" : one.outcome === "infra_error" || one.outcome === "skipped" ? "○" : "✗"} ${words(one.outcome)}`);
    return [one.case, cell, one.stage, one.profile ? micros(one.profile.time_us) : "", el("span", { class: "muted" }, metrics)];
  });
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Cases" }, table(["case", "verdict", "stage", "time", "metrics"], rows));
}

/** Where a launch's time goes: spans in time where they were recorded, else how long each unit worked and waited. */
function profile(one) {
  const facts = one.profile;
  const units = Object.keys(facts.counters).filter((name) => name.endsWith("_time") && `${name.slice(0, -5)}_ratio` in facts.counters).map((name) => name.slice(0, -5));
  const width = Math.max(300, Math.min(820, window.innerWidth - (window.innerWidth > 900 ? 520 : 70)));
  const style = { ...BASE, width, marginLeft: 92 };
  const parts = [];
  if (facts.bottleneck) parts.push(el("p", {}, facts.bottleneck));
  if (facts.spans.length) {
    const spans = facts.spans.map(([pipe, start, end, place]) => ({ pipe, start, end, place }));
    const pipes = [...new Set(spans.map((span) => span.pipe))].sort();
    parts.push(pictured(Plot.plot({
      ...style, height: 46 + 24 * pipes.length, x: { label: "µs", grid: true }, y: { label: null, domain: pipes },
      color: { domain: pipes, scheme: "observable10" },
      marks: [Plot.barX(spans, { x1: "start", x2: "end", y: "pipe", fill: "pipe", insetTop: 3, insetBottom: 3, title: (span) => `${span.pipe} ${span.place}: ${(span.end - span.start).toFixed(3)} µs` })],
    }), `Timeline of ${pipes.length} pipes of one core over ${micros(facts.time_us)}`));
  } else if (units.length) {
    const bars = units.flatMap((unit) => {
      const time = facts.counters[`${unit}_time`];
      const ratio = facts.counters[`${unit}_ratio`];
      const waits = facts.counters[`${unit}_wait_ratio`] ?? 0;
      const whole = ratio > 0 ? time / ratio : facts.time_us;
      return [{ unit, what: "works", x1: 0, x2: time }, { unit, what: "waits", x1: time, x2: time + waits * whole }];
    });
    parts.push(el("ul", { class: "legend" }, [["works", "var(--accent)"], ["waits for others", "var(--line)"]].map(([name, colour]) => {
      const item = el("li", {}, el("i"), name);
      item.firstChild.style.background = colour;
      return item;
    })), pictured(Plot.plot({
      ...style, height: 46 + 24 * units.length, x: { label: "µs per core", grid: true, domain: [0, Math.max(facts.time_us, d3.max(bars, (bar) => bar.x2))] }, y: { label: null, domain: units },
      marks: [
        Plot.barX(bars, { x1: "x1", x2: "x2", y: "unit", fill: (bar) => bar.what === "works" ? "var(--accent)" : "var(--line)", insetTop: 4, insetBottom: 4, title: (bar) => `${bar.unit} ${bar.what} ${(bar.x2 - bar.x1).toFixed(2)} µs` }),
        Plot.ruleX([facts.time_us], { stroke: "currentColor", strokeDasharray: "3 3" }),
      ],
    }), `How long each of ${units.length} units works and waits; the launch takes ${micros(facts.time_us)}`));
  }
  if (facts.suggestions.length) {
    parts.push(table(["what would be faster", "µs"], facts.suggestions.slice(0, 5).map(([change, time]) => [change, Number(time).toFixed(2)])));
  }
  const between = facts.low_us !== null && facts.low_us !== undefined ? `, between ${facts.low_us.toFixed(2)} and ${facts.high_us.toFixed(2)}` : "";
  const counters = Object.entries(facts.counters);
  if (counters.length) parts.push(el("details", {}, el("summary", { class: "muted" }, "All counters"), table(["counter", "value"], counters.map(([name, value]) => [name, number(value)]))));
  return fold(`Profile of case ${one.case}`, `${facts.predicted ? "predicted" : "measured"} ${micros(facts.time_us)}${between} on ${facts.machine}, ${facts.blocks} cores`, true, el("div", { class: "timeline" }, parts));
}

function conversation(turn, detail) {
  const messages = turn.prompt.map((place) => detail.messages[place]);
  const last = messages.length - 1;
  const shown = (role, content) => el("div", { class: "message" }, el("span", { class: "role" }, role), el("pre", { tabindex: "0" }, content));
  const parts = [];
  if (messages.length) parts.push(fold("Prompt", `${turn.template}, ${messages.length} message${messages.length === 1 ? "" : "s"}`, false, messages.map(([role, content], i) => shown(i === last ? `${role}, last` : role, content))));
  const answer = turn.answer;
  if (!answer) return [...parts, el("p", { class: "muted" }, "There is no answer: the model could not be asked.")];
  if (answer.reasoning) parts.push(fold("Reasoning", `${answer.reasoning.length.toLocaleString("en")} characters`, false, el("pre", { tabindex: "0" }, answer.reasoning)));
  const usage = answer.usage ?? {};
  const tokens = Array.isArray(usage) ? usage : [usage.prompt, usage.completion, usage.reasoning];
  const hint = [answer.model, `finish ${answer.finish}`, tokens[1] ? `${tokens[0]} tokens in, ${tokens[1]} out` : "", answer.cached ? "out of a cache" : ""].filter(Boolean).join(" · ");
  parts.push(fold("Answer", hint, !turn.files.length, el("pre", { tabindex: "0" }, answer.text || "(empty)")));
  if (Object.keys(answer.sent ?? {}).length) parts.push(fold("Sampling as sent", "", false, el("pre", {}, JSON.stringify(answer.sent, null, 2))));
  return parts;
}
