"use strict";
// Charts of the overview. Observable Plot draws them; beside every chart stands the same as a table.

const COLOURS = { ok: "var(--ok)", early: "var(--early)", compile: "var(--compile)", run: "var(--run)", wrong: "var(--wrong)", none: "var(--none)" };
const FAMILY_NAMES = { ok: "right", early: "no kernel", compile: "does not compile", run: "fails when run", wrong: "wrong result", none: "not counted" };
const BASELINES = { roofline: "the roofline", golden: "our kernel", eager: "torch, eager", start: "the kernel given" };
const STAGES = ["generate", "extract", "guard", "compile", "run", "check", "profile", "done"];

/** A figure with a heading, a sentence, a chart and its numbers as a table, which is made when it is opened: `rows()`. */
function chart(title, sentence, plot, columns, rows, { wide = false, legend = [] } = {}) {
  pictured(plot, `${title}. ${sentence} The numbers are in the table below.`);
  const numbers = el("div", { tabindex: "0", role: "region", "aria-label": `Numbers of: ${title}` });
  const opened = () => { if (!numbers.firstChild) numbers.append(table(columns, rows())); };
  return el("section", { class: wide ? "chart wide" : "chart" },
    el("h2", {}, title), el("p", {}, sentence),
    legend.length ? key(legend) : null,
    el("figure", {}, plot),
    el("details", { ontoggle: opened }, el("summary", {}, "Numbers"), numbers));
}

/** What colours and marks mean: `[name, colour, mark]`, where the mark is that of the chart, else a square. */
function key(legend) {
  return el("ul", { class: "legend" }, legend.map(([name, colour, mark]) => {
    const item = el("li", {}, el("i", { class: mark ?? null }), name);
    item.firstChild.style.color = colour;
    return item;
  }));
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

/** The mark below the pointer tells what it is and leads to its sample; by keyboard samples are reached in their list. */
function told(points, places, text, radius) {
  return Plot.tip(points, Plot.pointer({ ...places, title: text, maxRadius: radius, fontSize: 12, textPadding: 9, lineWidth: 30 }));
}
function leading(plot, row) {
  plot.addEventListener("input", () => { plot.style.cursor = plot.value ? "pointer" : ""; });
  plot.addEventListener("click", () => { if (plot.value) location.hash = anchor(row(plot.value)); });
  return plot;
}

const BASE = { style: { background: "none", color: "currentColor", fontSize: "11.5px" } };
/** Axes are quiet: numbers and a grid, no ticks and no arrows. */
const AXIS = { tickSize: 0, labelArrow: "none" };

function drawCharts(index, place) {
  if (!index.rows.length) {
    place.replaceChildren(el("p", { class: "empty" }, "No sample has been judged yet."));
    return;
  }
  const width = Math.max(280, Math.min(680, (place.clientWidth || 680) > 920 ? place.clientWidth / 2 - 60 : place.clientWidth - 40));
  const full = Math.max(280, place.clientWidth - 40);
  const charts = [outcomes(index, width), groups("By level", index.levels, width)];
  const best = d3.sort(index.categories, (one) => -(one.correct.value ?? -1), (one) => one.name);
  if (index.categories.length > 1) charts.push(groups("By category", best, width));
  if (new Set(index.passes.map((one) => one.k)).size > 1) charts.push(passes(index, width));
  if (index.speeds.length) charts.push(speeds(index, width));
  charts.push(...efforts(index, width));
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
  const totals = d3.rollups(counts, (group) => d3.sum(group, (one) => one.count), (one) => one.stage);
  const most = d3.max(totals, ([, count]) => count);
  const fits = (one) => (one.count / most) * (width - 120) > 16 + 6.6 * one.outcome.length;
  const plot = Plot.plot({
    ...BASE, width, marginLeft: 62, marginRight: 44, marginBottom: 38, height: 56 + 34 * stages.length,
    x: { ...AXIS, label: "samples", labelAnchor: "center", grid: true, ticks: Math.min(5, most), tickFormat: "d" }, y: { ...AXIS, domain: stages, label: null },
    marks: [
      Plot.barX(sorted, Plot.stackX({ x: "count", y: "stage", fill: (one) => COLOURS[one.kind], inset: 0.5, rx: 2, order: null })),
      Plot.text(sorted, Plot.stackX({ x: "count", y: "stage", text: (one) => fits(one) ? words(one.outcome) : "", fill: "var(--panel)", fontWeight: 550, order: null })),
      Plot.text(totals, { x: ([, count]) => count, y: ([stage]) => stage, text: ([, count]) => `${count}`, textAnchor: "start", dx: 7, fill: "var(--muted)" }),
      Plot.tip(sorted, Plot.pointerX(Plot.stackX({ x: "count", y: "stage", title: (one) => `${words(one.outcome)}: ${one.count}`, order: null }))),
    ],
  });
  return chart("How samples ended", "By the stage that decided: a sample goes through the stages from top to bottom.", plot,
    ["stage", "outcome", "samples"], () => sorted.map((one) => [one.stage, words(one.outcome), one.count]),
    { legend: shown.map((kind) => [FAMILY_NAMES[kind], COLOURS[kind]]) });
}

function groups(title, rows, width) {
  const points = rows.flatMap((row) => [["correct", row.correct, "var(--accent)"], ["compiled", row.compiled, "var(--none)"]]
    .filter(([, rate]) => rate.value !== null).map(([what, rate, colour]) => ({ name: row.name, what, colour, counted: row.counted, ...rate })));
  const label = Math.min(150, 14 + 6.2 * d3.max(rows, (row) => row.name.length));
  const plot = Plot.plot({
    ...BASE, width, marginLeft: label, marginRight: 42, height: 46 + (rows.length > 8 ? 22 : 30) * rows.length,
    x: { ...AXIS, domain: [0, 1], percent: false, tickFormat: ".0%", label: null, grid: true, ticks: 5 }, y: { ...AXIS, label: null, domain: rows.map((row) => row.name) },
    marks: [
      Plot.ruleY(points.filter((one) => one.what === "correct"), { x1: "low", x2: "high", y: "name", stroke: "colour", strokeWidth: 5, strokeOpacity: 0.3, strokeLinecap: "round" }),
      Plot.dot(points, { x: "value", y: "name", fill: (one) => one.what === "correct" ? one.colour : "none", stroke: "colour", strokeWidth: 1.5, r: 4.5 }),
      Plot.text(rows, { x: 1, y: "name", text: (row) => `${row.counted}`, textAnchor: "start", dx: 14, fill: "var(--muted)" }),
      Plot.tip(points, Plot.pointer({ x: "value", y: "name", title: (one) => `${one.name}: ${percent(one.value)} ${one.what} [${percent(one.low)}, ${percent(one.high)}], ${one.counted} samples` })),
    ],
  });
  return chart(title, "Share of counted samples (their number at the right) that are right, with 95 % intervals over tasks, and that compile.", plot,
    ["name", "samples", "correct", "low", "high", "compiled"],
    () => rows.map((row) => [row.name, row.counted, percent(row.correct.value), percent(row.correct.low), percent(row.correct.high), percent(row.compiled.value)]),
    { legend: [["right", "var(--accent)", "dot"], ["compiles", "var(--none)", "ring"]] });
}

/** One cell per sample, tasks from solved to unsolved. Cells of a colour are one shape, so that ten thousand cost little. */
function difficulty(index, width) {
  const tasks = d3.groups(index.rows, (row) => row.task).map(([task, rows]) => {
    const counted = rows.filter((row) => family(row) !== "none");
    return { task, rows, share: counted.length ? d3.mean(counted, (row) => row.outcome === "ok") : -1 };
  });
  const order = d3.sort(tasks, (one) => -one.share, (one) => one.task);
  const most = d3.max(order, (one) => one.rows.length);
  const across = order.length * 15 + 40 <= width || order.length > most;
  // As large as a screen of cells allows.
  const size = Math.max(4, Math.min(28, (width - 20) / Math.min(order.length, 90), Math.sqrt((width * 700) / (order.length * most))));
  const perRow = Math.max(1, Math.floor((width - 10) / size));
  const tall = most * size + Math.min(10, size);
  const cells = order.flatMap((one, i) => one.rows.map((row, j) => (
    { row, kind: family(row), x: ((i % perRow) + 0.5) * size, y: Math.floor(i / perRow) * tall + (j + 0.5) * size })));
  const height = Math.ceil(order.length / perRow) * tall + 8;
  // The corners are round by the line around a cell, which is as wide as a corner's radius allows.
  const corner = size / 5;
  const half = size / 2 - 0.75 - corner / 2;
  const square = ({ x, y }) => [[[x - half, y - half], [x - half, y + half], [x + half, y + half], [x + half, y - half], [x - half, y - half]]];
  const shapes = d3.groups(cells, (cell) => cell.kind).map(([kind, group]) => ({ kind, type: "MultiPolygon", coordinates: group.map(square) }));
  const plot = leading(Plot.plot({
    ...BASE, width, height, margin: 2,
    x: { axis: null, domain: [0, width], range: [2, width + 2] }, y: { axis: null, domain: [0, height], range: [0, height] },
    marks: [
      Plot.geo(shapes, { fill: (one) => COLOURS[one.kind], stroke: (one) => COLOURS[one.kind], strokeWidth: corner, strokeLinejoin: "round" }),
      told(cells, { x: "x", y: "y" }, (one) => `${title(one.row)}\n${words(one.row.outcome)}`, size),
    ],
  }), (cell) => cell.row);
  const shown = Object.keys(COLOURS).filter((kind) => shapes.some((shape) => shape.kind === kind));
  return chart("Every sample", "A column per task, the easiest first; a cell per sample leads to it.", plot,
    ["task", "right", "counted", "all"], () => order.map((one) => [one.task, one.rows.filter((row) => row.outcome === "ok").length, one.rows.filter((row) => family(row) !== "none").length, one.rows.length]),
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
    ...BASE, width, height: 270, marginBottom: 40, x: { ...AXIS, type: "log", label: "k", labelAnchor: "center", ticks: [...new Set(index.passes.map((one) => one.k))], tickFormat: "d" },
    y: { ...AXIS, domain: [0, 1], tickFormat: ".0%", label: null, grid: true, ticks: 5 },
    marks: [
      ...Object.entries(colours).flatMap(([name, colour]) => band(index.passes.filter((one) => one.name === name), "k", colour)),
      Plot.dot(index.passes, { x: "k", y: "value", fill: (one) => colours[one.name], r: 3 }),
      Plot.tip(index.passes, Plot.pointer({ x: "k", y: "value", title: (one) => `${one.name}@${one.k}: ${percent(one.value)} [${percent(one.low)}, ${percent(one.high)}]` })),
    ],
  });
  return chart("pass@k", "Chance that at least one of k answers is right, or compiles; bands are 95 % intervals.", plot,
    ["measure", "k", "value", "low", "high"], () => index.passes.map((one) => [one.name, one.k, percent(one.value), percent(one.low), percent(one.high)]),
    { legend: [["right", colours.correct, "line"], ["compiles", colours.compiles, "line"]] });
}

function speeds(index, width) {
  const colours = { roofline: "var(--accent)", golden: "var(--ok)", eager: "var(--run)", start: "var(--compile)" };
  const names = [...new Set(index.speeds.map((one) => one.baseline))];
  const plot = Plot.plot({
    ...BASE, width, height: 270, marginBottom: 40, x: { ...AXIS, domain: [0, d3.max(index.speeds, (one) => one.p)], label: "p", labelAnchor: "center", ticks: 8 },
    y: { ...AXIS, domain: [0, 1], tickFormat: ".0%", label: null, grid: true, ticks: 5 },
    marks: [
      Plot.ruleX([1], { stroke: "currentColor", strokeOpacity: 0.25, strokeDasharray: "3 3" }),
      ...names.flatMap((name) => band(index.speeds.filter((one) => one.baseline === name), "p", colours[name])),
      Plot.tip(index.speeds, Plot.pointer({ x: "p", y: "value", title: (one) => `${one.p} × ${one.baseline}: ${percent(one.value)} [${percent(one.low)}, ${percent(one.high)}]` })),
    ],
  });
  return chart("fast_p", "Share of samples that are right and at least p times as fast as a baseline.", plot,
    ["baseline", "p", "value", "low", "high"], () => index.speeds.filter((one) => Math.round(one.p * 20) % 4 === 0).map((one) => [one.baseline, one.p, percent(one.value), percent(one.low), percent(one.high)]),
    { legend: names.map((name) => [BASELINES[name] ?? name, colours[name], "line"]) });
}

/** What agents, tools and searches reached against what it took: a pair of curves for each measure that is known. */
function efforts(index, width) {
  const spent = [["calls", "judged kernels", "d"], ["tokens", "tokens", "~s"], ["cost", "money", "~g"], ["seconds", "seconds", "~g"]];
  return spent.flatMap(([name, label, format]) => {
    const points = index.effort.filter((row) => row[name] !== null);
    if (!points.length) return [];
    const most = d3.max(points, (row) => row[name]) || 1;
    const ticks = name === "calls" ? d3.range(0, most + 1, Math.ceil(most / 6)) : 6;
    const x = { ...AXIS, label, labelAnchor: "center", ticks, tickFormat: format, domain: [0, most] };
    const fast = points.some((row) => "1.0" in row.fast_golden);
    const curves = [["right on public cases", (row) => row.solved, "var(--accent)"], ...(fast ? [["as fast as our kernel", (row) => row.fast_golden["1.0"] ?? 0, "var(--ok)"]] : [])];
    const titled = (row) => `after ${row.calls} judged kernels, ${Math.round(row.tokens)} tokens: ${percent(row.solved)} right`;
    const curve = (value, colour) => [
      Plot.lineY(points, { x: name, y: value, stroke: colour, strokeWidth: 2, curve: "step-after" }),
      Plot.dot(points, { x: name, y: value, fill: colour, r: 3 }),
    ];
    const rates = Plot.plot({
      ...BASE, width, height: 240, marginBottom: 40, x, y: { ...AXIS, domain: [0, 1], tickFormat: ".0%", label: null, grid: true, ticks: 5 },
      marks: [...curves.flatMap(([, value, colour]) => curve(value, colour)), Plot.tip(points, Plot.pointer({ x: name, y: "solved", title: titled }))],
    });
    const shown = (value, digits) => value === null ? "–" : value.toFixed(digits);
    const made = [chart(`Right against ${label}`, "Share of conversations with such a kernel by then; what is spent is the mean over conversations.", rates,
      ["judged", label === "judged kernels" ? "made" : label, ...curves.map(([title]) => title)],
      () => points.map((row) => [row.calls, name === "calls" ? row.made : shown(row[name], name === "cost" ? 4 : 1), ...curves.map(([, value]) => percent(value(row)))]),
      { legend: curves.map(([title, , colour]) => [title, colour]) })];
    const faster = points.filter((row) => row.speedup !== null);
    if (faster.length > 1) {
      const times = Plot.plot({
        ...BASE, width, height: 240, marginBottom: 40, x, y: { ...AXIS, label: "×", grid: true, ticks: 5, domain: [1, Math.max(1.1, d3.max(faster, (row) => row.speedup))] },
        marks: [
          Plot.lineY(faster, { x: name, y: "speedup", stroke: "var(--accent)", strokeWidth: 2, curve: "step-after" }),
          Plot.dot(faster, { x: name, y: "speedup", fill: "var(--accent)", r: 3 }),
          Plot.tip(faster, Plot.pointer({ x: name, y: "speedup", title: (row) => `${titled(row)}, ${row.speedup.toFixed(2)} times as fast as the first right kernel` })),
        ],
      });
      made.push(chart(`Speed-up against ${label}`, "The first right kernel's time divided by the best one's by then, geometric mean.", times,
        ["judged", label === "judged kernels" ? "made" : label, "speed-up"],
        () => faster.map((row) => [row.calls, name === "calls" ? row.made : shown(row[name], name === "cost" ? 4 : 1), row.speedup.toFixed(2)])));
    }
    return made;
  });
}

function roofline(index, rows, width) {
  const word = index.tier === "npu" ? "Measured" : "Predicted";
  // A bound of next to nothing, that of a kernel without data, must not press all others into a corner.
  const bounds = rows.map((row) => row.bound);
  const low = Math.max(d3.min(bounds), d3.quantile(bounds, 0.03) / 2) * 0.7;
  const ends = [low, d3.max(rows, (row) => Math.max(row.bound, row.time)) * 1.4];
  // The lines need the whole height; the points the whole width.
  const across = [low, Math.max(d3.max(bounds) * 1.4, low * 20)];
  // Thousands of dots hide each other and cost time: then a dot stands for its neighbourhood and grows with it.
  const places = { x: (row) => Math.max(row.bound, low), y: "time" };
  const drawn = rows.length > MANY
    ? Plot.dot(rows, Plot.hexbin({ r: "count" }, { ...places, fill: "var(--accent)", fillOpacity: 0.7, binWidth: 9 }))
    : Plot.dot(rows, { ...places, fill: "var(--accent)", fillOpacity: 0.55, r: 4 });
  const plot = leading(Plot.plot({
    ...BASE, width, height: 330, marginLeft: 52, marginBottom: 40, r: { range: [1, 6] },
    x: { ...AXIS, type: "log", domain: across, label: "bound by the machine (µs)", labelAnchor: "center", tickFormat: "~g", ticks: decades(across) },
    y: { ...AXIS, type: "log", domain: ends, label: `${word.toLowerCase()} (µs)`, tickFormat: "~g", ticks: decades(ends), grid: true },
    marks: [
      Plot.line([[low, low], [across[1], across[1]]], { clip: true, stroke: "currentColor", strokeOpacity: 0.55 }),
      Plot.line([[low, low * 2], [across[1], across[1] * 2]], { clip: true, stroke: "currentColor", strokeOpacity: 0.3, strokeDasharray: "4 4" }),
      drawn,
      told(rows, places, (row) => `${title(row)}\n${micros(row.time)}, ${digits(row.bound / row.time)} of the roofline`, 12),
    ],
  }), (row) => row);
  return chart(`${word} time against the roofline`, "Right kernels. On the line a kernel takes the least time the machine allows; on the dashed one twice that.", plot,
    ["sample", "bound µs", "time µs", "share"], () => rows.map((row) => [title(row), digits(row.bound), row.time.toFixed(2), digits(row.bound / row.time)]));
}

/** More dots than this are drawn as neighbourhoods. */
const MANY = 1500;
/** The powers of ten of a logarithmic axis; of a short one the numbers between as well. */
function decades([low, high]) {
  const all = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1).map((power) => 10 ** power);
  const shown = all.filter((value) => value >= low && value <= high);
  return shown.length > 1 ? shown : all.flatMap((value) => [1, 2, 5].map((factor) => factor * value)).filter((value) => value >= low && value <= high);
}
