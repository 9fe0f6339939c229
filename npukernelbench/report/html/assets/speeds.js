"use strict";
// Several runs by speed: curves of fast_p with a threshold that the reader moves, the rates at that threshold, and what
// each run reached on each problem. Every part of a page with speeds has its own place, data and threshold.

/** Lines that are drawn at first, problems that are listed at first, and so many lines have their intervals drawn. */
const [LINES, PROBLEMS, BANDS] = [8, 300, 3];
const ORDERS_OF_PROBLEMS = { "": "by name", hard: "hardest first", apart: "furthest apart first" };

/** How fast, in words: "0.80 of the roofline", "1.05 × our kernel". */
function times(p, baseline) { return baseline === "roofline" ? `${p.toFixed(2)} of ${BASELINES.roofline}` : `${p.toFixed(2)} × ${BASELINES[baseline] ?? baseline}`; }

/** `data` as `Speeds.as_json` of Python; `place` is where it is drawn, `number` tells it from others in the address. */
function drawSpeeds(data, place, number) {
  const colours = data.names.map((_, i) => d3.schemeObservable10[i % 10]);
  const state = { baseline: Object.keys(data.curves)[0], p: 0, hidden: new Set(d3.range(LINES, data.names.length)), strong: -1, search: "", order: "", all: false };
  // The cells of the problems that are listed, with their data: thousands take their colour anew, and are not made anew, when p moves.
  let cells = [];
  const ps = () => data.curves[state.baseline].ps;
  const rate = (i) => data.curves[state.baseline].rates[i][ps().indexOf(state.p)];
  const nearest = (p) => d3.least(ps(), (one) => Math.abs(one - p));
  const label = () => `Speeds: ${data.title}`;

  const slider = el("input", { type: "range", min: 0, "aria-label": `Threshold p: ${data.title}`, oninput: () => { move(ps()[slider.value]); remember(); } });
  const select = el("select", { "aria-label": `Baseline: ${data.title}`, onchange: () => { choose(select.value, state.p); remember(); } },
    Object.keys(data.curves).map((name) => el("option", { value: name }, BASELINES[name] ?? name)));
  const said = el("output", {});
  const untimed = el("p", { class: "hint muted" });
  const figure = el("figure", {});
  const rates = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Rates at the threshold: ${data.title}` });
  const problems = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Problems: ${data.title}` });
  const search = el("input", { type: "search", placeholder: "Search problems", "aria-label": `Search problems: ${data.title}`, oninput: () => { state.search = search.value.toLowerCase(); listProblems(); } });
  const order = el("select", { "aria-label": `Order of problems: ${data.title}`, onchange: () => { state.order = order.value; listProblems(); } },
    Object.entries(ORDERS_OF_PROBLEMS).map(([value, text]) => el("option", { value }, text)));
  const found = el("p", { class: "hint muted", role: "status" });

  function choose(baseline, p) {
    state.baseline = baseline;
    select.value = baseline;
    slider.max = ps().length - 1;
    untimed.textContent = without(baseline);
    move(nearest(p));
    if (details.open) listProblems();
  }

  /** What pulls all curves of a baseline down alike. */
  function without(baseline) {
    const solved = data.problems.filter((one) => one.cells.some((cell) => cell.right));
    const lacking = solved.filter((one) => one.cells.every((cell) => cell.best[baseline] === undefined)).length;
    return lacking ? `${lacking} of ${solved.length} problems that somebody solved have no time beside ${BASELINES[baseline] ?? baseline}: right samples of them count at p = 0 only.` : "";
  }

  function move(p) {
    state.p = p;
    slider.value = ps().indexOf(p);
    slider.setAttribute("aria-valuetext", times(p, state.baseline));
    said.textContent = `p = ${times(p, state.baseline)}`;
    redraw();
    for (const [made, cell] of cells) made.className = `k-${kind(cell)}`;
  }

  /** The address is a link to what the reader chose last. */
  function remember() { history.replaceState(null, "", `#${number}/${state.baseline}/${state.p}`); }

  function redraw() {
    figure.replaceChildren(curves());
    rates.replaceChildren(ranking());
  }

  function curves() {
    const { rates: all } = data.curves[state.baseline];
    const points = data.names.flatMap((name, i) => state.hidden.has(i) ? [] : ps().flatMap((p, at) => all[i][at] ? [{ name, i, p, value: all[i][at][0], low: all[i][at][1], high: all[i][at][2] }] : []));
    const few = data.names.length - state.hidden.size <= BANDS;
    const shown = state.hidden.has(state.strong) ? -1 : state.strong;
    const opacity = (one) => shown < 0 || shown === one.i ? 1 : 0.2;
    const stroke = (one) => colours[one.i];
    const width = Math.max(280, Math.min(1140, (place.clientWidth || 700) - 48));
    const plot = Plot.plot({
      ...BASE, width, height: Math.min(340, 150 + width / 4), marginBottom: 40, marginRight: 14,
      x: { ...AXIS, domain: [0, ps().at(-1)], label: "p", labelAnchor: "center", ticks: 8 }, y: { ...AXIS, domain: [0, 1], tickFormat: ".0%", label: null, grid: true, ticks: 5 },
      marks: [
        Plot.areaY(points.filter((one) => few || one.i === shown), { x: "p", y1: "low", y2: "high", z: "i", fill: stroke, fillOpacity: 0.13 }),
        Plot.lineY(points, { x: "p", y: "value", z: "i", stroke, strokeWidth: 2, strokeOpacity: opacity }),
        Plot.ruleX([state.p], { stroke: "currentColor", strokeWidth: 1.5, strokeOpacity: 0.6 }),
        Plot.dot(points.filter((one) => one.p === state.p), { x: "p", y: "value", fill: stroke, r: 4, fillOpacity: opacity }),
        Plot.tip(points, Plot.pointer({ x: "p", y: "value", title: (one) => `${one.name}\n≥ ${times(one.p, state.baseline)}: ${percent(one.value)} [${percent(one.low)}, ${percent(one.high)}]`, fontSize: 12, textPadding: 9, lineWidth: 36 })),
      ],
    });
    plot.addEventListener("click", (event) => {
      const box = plot.getBoundingClientRect();
      move(nearest(plot.scale("x").invert(((event.clientX - box.left) * width) / box.width)));
      remember();
    });
    plot.style.cursor = "crosshair";
    return pictured(plot, `fast_p of ${data.names.length} rows. The numbers at the threshold are in the table below.`);
  }

  /** The rates at the threshold, best first. A row's box says whether its line is drawn; a row that is pointed at stands out. */
  function ranking() {
    const rows = d3.sort(d3.range(data.names.length), (i) => -(rate(i)?.[0] ?? -1), (i) => i);
    const strong = (i) => () => { if (state.strong !== i) { state.strong = i; figure.replaceChildren(curves()); } };
    return el("table", {}, el("thead", {}, el("tr", {}, ["line", "model", `right and ≥ ${times(state.p, state.baseline)}`, "counted"].map((text, i) => el("th", { scope: "col", class: i > 1 ? "number" : null }, text)))),
      el("tbody", {}, rows.map((i) => {
        const box = el("input", { type: "checkbox", checked: !state.hidden.has(i), "aria-label": `Draw ${data.names[i]}`, onchange: () => { if (!state.hidden.delete(i)) state.hidden.add(i); redraw(); } });
        box.style.accentColor = colours[i];
        const value = rate(i);
        const whisker = el("div", { class: "whisker", "aria-hidden": "true" }, el("i"), el("b"));
        if (value) {
          whisker.children[0].style.cssText = `left:${100 * value[1]}%;width:${100 * (value[2] - value[1])}%;background:${colours[i]};opacity:.4`;
          whisker.children[1].style.cssText = `left:${100 * value[0]}%;background:${colours[i]}`;
        }
        return el("tr", { onpointerenter: strong(i), onpointerleave: strong(-1) }, el("td", {}, box), el("td", {}, swatch(colours[i]), data.names[i]),
          el("td", { class: "number" }, value ? `${percent(value[0])} [${percent(value[1])}, ${percent(value[2])}]` : "not known", value ? whisker : null), el("td", { class: "number" }, String(data.counted[i])));
      })));
  }

  function ordered() {
    const share = (one) => d3.mean(one.cells.filter((cell) => cell.counted), (cell) => cell.right / cell.counted) ?? -1;
    const reach = (cell) => cell.best[state.baseline] ?? (cell.right ? 0 : -1);
    const ways = { "": () => 0, hard: share, apart: (one) => -(d3.max(one.cells, reach) - d3.min(one.cells, reach)) };
    return d3.sort(data.problems.filter((one) => one.name.toLowerCase().includes(state.search)), ways[state.order]);
  }

  function listProblems() {
    cells = [];
    const listed = ordered();
    const shown = state.all ? listed : listed.slice(0, PROBLEMS);
    const more = listed.length > shown.length ? el("button", { type: "button", onclick: () => { state.all = true; listProblems(); } }, `Show all ${listed.length}`) : null;
    found.replaceChildren(listed.length === data.problems.length ? `${listed.length} problems ` : `${listed.length} of ${data.problems.length} problems `, ...(more ? [more] : []));
    problems.replaceChildren(el("table", { class: "grid" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "problem"), data.names.map((name, i) => el("th", { scope: "col" }, swatch(colours[i]), name)))),
      el("tbody", {}, shown.map((one) => {
        const best = d3.max(one.cells, (cell) => cell.best[state.baseline]);
        return el("tr", {}, el("th", { scope: "row" }, one.name), one.cells.map((cell) => reached(cell, best)));
      }))));
  }

  function reached(cell, best) {
    const speed = cell.best[state.baseline];
    const share = cell.counted > 1 ? ` ${cell.right}/${cell.counted}` : "";
    const text = cell.counted ? `${cell.right ? "✓" : "✗"}${share}` : "○ not counted";
    const number = speed === undefined ? "" : el(speed === best ? "b" : "span", {}, `${speed.toFixed(2)}${state.baseline === "roofline" ? "" : " ×"}`);
    const inside = [text, number ? " " : "", number];
    const made = el("td", { class: `k-${kind(cell)}` }, cell.link ? el("a", { href: cell.link }, inside) : inside);
    cells.push([made, cell]);
    return made;
  }

  function kind(cell) {
    const speed = cell.best[state.baseline];
    return !cell.counted ? "none" : !cell.right ? "wrong" : speed === undefined ? "right" : speed >= state.p ? "fast" : "slow";
  }

  const hint = "Right samples at least p times as fast as the baseline; curves that cross tell which runs lead where. Move p by the slider, or click in the chart.";
  const legend = [["right, as fast as p", "fast"], ["right, slower", "slow"], ["right, not timed", "right"], ["never right", "wrong"]];
  const details = el("details", { ontoggle: () => { if (details.open) listProblems(); } }, el("summary", {}, `Every problem (${data.problems.length})`),
    el("ul", { class: "legend" }, legend.map(([text, kind]) => el("li", {}, el("i", { class: `k-${kind}` }), text))), el("div", { class: "chosen" }, search, order), found, problems);
  place.append(el("div", { class: "chart board" }, el("h2", {}, label()), el("p", {}, hint),
    el("div", { class: "chosen" }, el("label", {}, "beside ", select), slider, said), untimed, figure, rates, details));

  const [, where, baseline, p] = location.hash.match(/^#(\d+)\/(\w+)\/([\d.]+)$/) ?? [];
  if (Number(where) === number && baseline in data.curves) choose(baseline, Number(p));
  else choose(state.baseline, state.baseline === "roofline" ? 0.5 : 1);
}

function swatch(colour) {
  const made = el("i", { class: "swatch", "aria-hidden": "true" });
  made.style.background = colour;
  return made;
}

(async () => {
  const places = [...document.querySelectorAll(".speeds")];
  for (const [i, place] of places.entries()) drawSpeeds(await unpack(place.querySelector("script").textContent), place, i + 1);
  document.body.dataset.ready = "yes";
})();
