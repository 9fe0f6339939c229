"use strict";
// Where data comes from: the page itself, a folder beside it, or a server. Everything else asks `store` only.

/** gzip in base64 to an object. */
async function unpack(text) {
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text.trim()) : Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const store = {
  mode: document.body.dataset.mode,
  where: document.body.dataset.where,
  index: null,
  blocks: new Map(),
  waiting: new Map(),

  async open() {
    if (this.mode === "live") return this.refresh();
    this.index = await unpack(document.getElementById("index").textContent);
    return true;
  },

  /** Ask the server for the index again; true when it has changed. */
  async refresh() {
    const answer = await fetch(`${this.where}/index.json`, { cache: "no-cache" });
    if (!answer.ok) throw new Error(await answer.text());
    const index = await answer.json();
    const changed = !this.index || index.version !== this.index.version;
    if (changed) { this.index = index; this.blocks.clear(); }
    return changed;
  },

  /** Everything about the sample in a row of the index. */
  async sample(row) {
    const [block, place] = this.index.places[row];
    if (!this.blocks.has(block)) this.blocks.set(block, this.load(block));
    const loaded = await this.blocks.get(block);
    return { ...loaded.samples[place], messages: loaded.messages };
  },

  async load(number) {
    if (this.mode === "live") return (await fetch(`${this.where}/block/${number}.json`)).json();
    const inside = document.getElementById(`block-${number}`);
    if (inside) return unpack(inside.textContent);
    return new Promise((resolve, reject) => {
      this.waiting.set(number, (text) => resolve(unpack(text)));
      const script = document.createElement("script");
      script.src = `${this.where}/${String(number).padStart(4, "0")}.js`;
      script.onerror = () => reject(new Error(`${script.src} is not beside this page`));
      document.head.append(script);
    });
  },
};

/** Called by the files of a folder of data. */
function npukbBlock(number, text) { store.waiting.get(number)?.(text); }

/** An element with attributes and children; strings become text, never HTML. */
function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

const FAMILIES = {
  ok: "ok", truncated: "early", no_code: "early", guard_rejected: "early", compile_error: "compile",
  launch_error: "run", crash: "run", timeout: "run", out_of_memory: "run", rule_violation: "run",
  wrong_shape: "wrong", wrong_dtype: "wrong", non_finite: "wrong", wrong_value: "wrong", nondeterministic: "wrong", cheat: "wrong",
};
/** Outcomes that look alike; what is not counted looks the same whatever it was. */
function family(row) { return row.owner === "model" || row.owner === "none" ? FAMILIES[row.outcome] ?? "wrong" : "none"; }
function mark(row) { return row.outcome === "ok" ? "✓" : family(row) === "none" ? "○" : "✗"; }
function words(outcome) { return outcome.replaceAll("_", " "); }
function percent(value) { return value === null || value === undefined ? "–" : `${(100 * value).toFixed(value < 0.1 && value > 0 ? 1 : 0)} %`; }
/** A number as people say it: two digits that count. */
function digits(value) { return Number(value) >= 10 ? Number(value).toFixed(0) : String(Number(Number(value).toPrecision(2))); }
function micros(value) { return value === null || value === undefined ? "" : `${Number(value) >= 100 ? Number(value).toFixed(0) : Number(value).toFixed(2)} µs`; }
function anchor(row) {
  return "#/sample/" + [row.task, row.case || "*", row.track, row.index].map((part) => encodeURIComponent(part).replaceAll("%2A", "*")).join("/");
}
function title(row) { return `${row.task} / ${row.case || "all cases"} / ${row.index}`; }
