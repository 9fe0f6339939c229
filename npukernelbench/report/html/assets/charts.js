"use strict";
// Charts of the overview. Observable Plot draws them; beside every chart stands the same as a table.

const COLOURS = { ok: "var(--ok)", early: "var(--early)", compile: "var(--compile)", run: "var(--run)", wrong: "var(--wrong)", none: "var(--none)" };
const FAMILY_NAMES = { ok: "right", early: "no kernel", compile: "does not compile", run: "fails when run", wrong: "wrong result", none: "not counted" };
const STAGES = ["generate", "extract", "guard", "compile", "run", "check", "profile", "done"];

/** A figure with a heading, a sentence, a chart and its numbers as a table. */
function chart(title, sentence, plot, columns, rows, { wide = false, legend = [] } = {}) {
  pictured(plot, `${title}. ${sentence} The numbers are in the table below.`);
  return el("section", { class: wide ? "chart wide" : "chart" },
    el("h2", {}, title), el("p", {}, sentence),
    legend.length ? el("ul", { class: "legend" }, legend.map(([name, colour]) => {
      const item = el("li", {}, el("i"), name);
      item.firstChild.style.background = colour;
      return item;
    })) : null,
    el("figure", {}, plot),
    el("details", {}, el("summary", {}, "Numbers"), el("div", { tabindex: "0" }, table(columns, rows))));
}

function table(columns, rows) {
  const numeric = columns.map((_, i) => rows.length > 0 && rows.every((row) => row[i] === "" || row[i] === "–" || /^[+-]?[\d.,]+( %)?$/.test(String(row[i]))));
  const cell = (tag, value, i) => el(tag, { class: numeric[i] ? "number" : null, scope: tag === "th" ? "col" : null }, value instanceof Node ? value : String(value ?? ""));
  return el("table", {}, el("thead", {}, el("tr", {}, columns.map((name, i) => cell("th", name, i)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((value, i) => cell("td", value, i))))));
}

/** The picture of a chart: one image to a screen reader, whose numbers are in a table. */
function pictured(plot, text) {
  plot.querySelectorAll("[aria-label]").forEach((part) => part.removeAttribute("aria-label"));
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", text);
  return plot;
}

/** Marks of a chart lead to their samples when clicked; by keyboard samples are reached in their list. */
function leading(plot, selector, rows) {
  plot.querySelectorAll(selector).forEach((drawn) => {
    const row = rows[d3.select(drawn).datum()];
    if (!row) return;
    drawn.classList.add("leads");
    drawn.addEventListener("click", () => { location.hash = anchor(row); });
  });
  return plot;
}

const BASE = { style: { background: "none", color: "currentColor", fontSize: "11px" } };

function drawCharts(index, place) {
  if (!index.rows.length) {
    place.replaceChildren(el("p", { class: "empty" }, "No sample has been judged yet."));
    return;
  }
  const width = Math.max(280, Math.min(680, (place.clientWidth || 680) > 920 ? place.clientWidth / 2 - 60 : place.clientWidth - 40));
  const full = Math.max(280, place.clientWidth - 40);
  const charts = [outcomes(index, width), groups("By level", index.levels, width)];
  if (index.categories.length > 1) charts.push(groups("By category", index.categories, width));
  if (new Set(index.passes.map((one) => one.k)).size > 1) charts.push(passes(index, width));
  if (index.speeds.length) charts.push(speeds(index, width));
  const timed = index.rows.filter((row) => row.outcome === "ok" && row.time > 0 && row.bound > 0);
  if (timed.length) charts.push(roofline(index, timed, width));
  place.replaceChildren(...charts, difficulty(index, full));
}

function outcomes(index, width) {
  const counts = d3.rollups(index.rows, (rows) => rows.length, (row) => row.stage, (row) => row.outcome, (row) => family(row))
    .flatMap(([stage, inner]) => inner.flatMap(([outcome, families]) => families.map(([kind, count]) => ({ stage, outcome, kind, count }))));
  const stages = STAGES.filter((stage) => counts.some((one) => one.stage === stage));
  const sorted = d3.sort(counts, (one) => STAGES.indexOf(one.stage), (one) => -one.count);
  const shown = Object.keys(COLOURS).filter((kind) => counts.some((one) => one.kind === kind));
  const plot = Plot.plot({
    ...BASE, width, marginLeft: 62, height: 44 + 34 * stages.length,
    x: { label: "samples", grid: true, ticks: 5, tickFormat: "d" }, y: { domain: stages, label: null },
    marks: [
      Plot.barX(sorted, Plot.stackX({ x: "count", y: "stage", fill: (one) => COLOURS[one.kind], inset: 0.5, rx: 2, order: null })),
      Plot.text(sorted.filter((one) => one.count > index.rows.length * 0.07), Plot.stackX({ x: "count", y: "stage", text: (one) => words(one.outcome), fill: "var(--panel)", order: null })),
      Plot.tip(sorted, Plot.pointerX(Plot.stackX({ x: "count", y: "stage", title: (one) => `${words(one.outcome)}: ${one.count}`, order: null }))),
    ],
  });
  return chart("How samples ended", "By the stage that decided: a sample goes through the stages from top to bottom.", plot,
    ["stage", "outcome", "samples"], sorted.map((one) => [one.stage, words(one.outcome), one.count]),
    { legend: shown.map((kind) => [FAMILY_NAMES[kind], COLOURS[kind]]) });
}

function groups(title, rows, width) {
  const points = rows.flatMap((row) => [["correct", row.correct, "var(--accent)"], ["compiled", row.compiled, "var(--none)"]]
    .filter(([, rate]) => rate.value !== null).map(([what, rate, colour]) => ({ name: row.name, what, colour, counted: row.counted, ...rate })));
  const label = Math.min(150, 14 + 6.2 * d3.max(rows, (row) => row.name.length));
  const plot = Plot.plot({
    ...BASE, width, marginLeft: label, height: 46 + 30 * rows.length,
    x: { domain: [0, 1], percent: false, tickFormat: ".0%", label: null, grid: true, ticks: 5 }, y: { label: null, domain: rows.map((row) => row.name) },
    marks: [
      Plot.ruleY(points.filter((one) => one.what === "correct"), { x1: "low", x2: "high", y: "name", stroke: "colour", strokeWidth: 5, strokeOpacity: 0.3, strokeLinecap: "round" }),
      Plot.dot(points, { x: "value", y: "name", fill: (one) => one.what === "correct" ? one.colour : "none", stroke: "colour", strokeWidth: 1.5, r: 4.5 }),
      Plot.tip(points, Plot.pointer({ x: "value", y: "name", title: (one) => `${one.name}: ${percent(one.value)} ${one.what} [${percent(one.low)}, ${percent(one.high)}], ${one.counted} samples` })),
    ],
  });
  return chart(title, "Share of counted samples that are right, with 95 % intervals over tasks, and that compile.", plot,
    ["name", "samples", "correct", "low", "high", "compiled"],
    rows.map((row) => [row.name, row.counted, percent(row.correct.value), percent(row.correct.low), percent(row.correct.high), percent(row.compiled.value)]),
    { legend: [["right", "var(--accent)"], ["compiles", "var(--none)"]] });
}

/** One cell per sample, tasks from solved to unsolved. */
function difficulty(index, width) {
  const tasks = d3.groups(index.rows, (row) => row.task).map(([task, rows]) => {
    const counted = rows.filter((row) => family(row) !== "none");
    return { task, rows, share: counted.length ? d3.mean(counted, (row) => row.outcome === "ok") : -1 };
  });
  const order = d3.sort(tasks, (one) => -one.share, (one) => one.task);
  const most = d3.max(order, (one) => one.rows.length);
  const across = order.length * 15 + 40 <= width || order.length > most;
  const size = Math.max(6, Math.min(16, (width - 20) / Math.min(order.length, 90)));
  const perRow = Math.max(1, Math.floor((width - 10) / size));
  const cells = order.flatMap((one, i) => one.rows.map((row, j) => ({ row, x: i % perRow, band: Math.floor(i / perRow), j })));
  const bands = Math.ceil(order.length / perRow);
  const height = bands * (most * size + 10) + 8;
  const plot = Plot.plot({
    ...BASE, width, height, margin: 2, x: { axis: null, domain: [0, perRow], range: [2, 2 + perRow * size] },
    y: { axis: null, domain: [0, height], range: [0, height] },
    marks: [
      Plot.rect(cells, {
        x1: "x", x2: (one) => one.x + 1, y1: (one) => one.band * (most * size + 10) + one.j * size, y2: (one) => one.band * (most * size + 10) + (one.j + 1) * size,
        fill: (one) => COLOURS[family(one.row)], inset: 0.75, rx: 2, title: (one) => `${title(one.row)}: ${words(one.row.outcome)}`,
      }),
    ],
  });
  leading(plot, "rect", cells.map((one) => one.row));
  const shown = Object.keys(COLOURS).filter((kind) => index.rows.some((row) => family(row) === kind));
  return chart("Every sample", "A column per task, the easiest first; a cell per sample leads to it.", plot,
    ["task", "right", "counted", "all"], order.map((one) => [one.task, one.rows.filter((row) => row.outcome === "ok").length, one.rows.filter((row) => family(row) !== "none").length, one.rows.length]),
    { wide: across, legend: shown.map((kind) => [FAMILY_NAMES[kind], COLOURS[kind]]) });
}

function band(points, x, colour) {
  return [
    Plot.areaY(points, { x, y1: "low", y2: "high", fill: colour, fillOpacity: 0.13 }),
    Plot.lineY(points, { x, y: "value", stroke: colour, strokeWidth: 2 }),
  ];
}

function passes(index, width) {
  const colours = { correct: "var(--accent)", compiles: "var(--none)" };
  const plot = Plot.plot({
    ...BASE, width, height: 260, x: { type: "log", label: "k", ticks: [...new Set(index.passes.map((one) => one.k))], tickFormat: "d" },
    y: { domain: [0, 1], tickFormat: ".0%", label: null, grid: true },
    marks: [
      ...Object.entries(colours).flatMap(([name, colour]) => band(index.passes.filter((one) => one.name === name), "k", colour)),
      Plot.dot(index.passes, { x: "k", y: "value", fill: (one) => colours[one.name], r: 3 }),
      Plot.tip(index.passes, Plot.pointer({ x: "k", y: "value", title: (one) => `${one.name}@${one.k}: ${percent(one.value)} [${percent(one.low)}, ${percent(one.high)}]` })),
    ],
  });
  return chart("pass@k", "Chance that at least one of k answers is right, or compiles; bands are 95 % intervals.", plot,
    ["measure", "k", "value", "low", "high"], index.passes.map((one) => [one.name, one.k, percent(one.value), percent(one.low), percent(one.high)]),
    { legend: [["right", colours.correct], ["compiles", colours.compiles]] });
}

function speeds(index, width) {
  const colours = { roofline: "var(--accent)", golden: "var(--ok)", eager: "var(--run)" };
  const names = [...new Set(index.speeds.map((one) => one.baseline))];
  const plot = Plot.plot({
    ...BASE, width, height: 260, x: { domain: [0, 2], label: "p", ticks: 8 }, y: { domain: [0, 1], tickFormat: ".0%", label: null, grid: true },
    marks: [
      Plot.ruleX([1], { stroke: "currentColor", strokeOpacity: 0.25, strokeDasharray: "3 3" }),
      ...names.flatMap((name) => band(index.speeds.filter((one) => one.baseline === name), "p", colours[name])),
      Plot.tip(index.speeds, Plot.pointer({ x: "p", y: "value", title: (one) => `${one.p} × ${one.baseline}: ${percent(one.value)} [${percent(one.low)}, ${percent(one.high)}]` })),
    ],
  });
  const titles = { roofline: "the roofline", golden: "our kernel", eager: "torch, eager" };
  return chart("fast_p", "Share of samples that are right and at least p times as fast as a baseline.", plot,
    ["baseline", "p", "value", "low", "high"], index.speeds.filter((one) => Math.round(one.p * 20) % 4 === 0).map((one) => [one.baseline, one.p, percent(one.value), percent(one.low), percent(one.high)]),
    { legend: names.map((name) => [titles[name] ?? name, colours[name]]) });
}

function roofline(index, rows, width) {
  const word = index.tier === "npu" ? "Measured" : "Predicted";
  // A bound of next to nothing, that of a kernel without data, must not press all others into a corner.
  const bounds = rows.map((row) => row.bound);
  const low = Math.max(d3.min(bounds), d3.quantile(bounds, 0.03) / 2) * 0.7;
  const ends = [low, d3.max(rows, (row) => Math.max(row.bound, row.time)) * 1.4];
  const plot = Plot.plot({
    ...BASE, width, height: 320, marginLeft: 52,
    x: { type: "log", domain: ends, label: "bound by the machine (µs)", tickFormat: "~g", ticks: 5 },
    y: { type: "log", domain: ends, label: `${word.toLowerCase()} (µs)`, tickFormat: "~g", ticks: 5, grid: true },
    marks: [
      Plot.line([[ends[0], ends[0]], [ends[1], ends[1]]], { stroke: "currentColor", strokeOpacity: 0.55 }),
      Plot.line([[ends[0], ends[0] * 2], [ends[1] / 2, ends[1]]], { stroke: "currentColor", strokeOpacity: 0.3, strokeDasharray: "4 4" }),
      Plot.dot(rows, { x: (row) => Math.max(row.bound, low), y: "time", fill: "var(--accent)", fillOpacity: 0.55, r: 4, title: (row) => `${title(row)}: ${micros(row.time)}, ${(row.bound / row.time).toFixed(2)} of the roofline` }),
    ],
  });
  leading(plot, "circle", rows);
  return chart(`${word} time against the roofline`, "Right kernels. On the line a kernel takes the least time the machine allows; on the dashed one twice that.", plot,
    ["sample", "bound µs", "time µs", "share"], rows.slice(0, 500).map((row) => [title(row), row.bound.toFixed(2), row.time.toFixed(2), (row.bound / row.time).toFixed(2)]));
}
