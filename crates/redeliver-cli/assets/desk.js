"use strict";
(() => {
  const each = (selector, act, within = document) => within.querySelectorAll(selector).forEach(act);
  const EVERY = 2000;

  // Pieces of a page are asked for again every two seconds, while somebody looks and is not in the middle of something there.
  const busy = (region) => {
    if (region.contains(document.activeElement) && document.activeElement.matches(":focus-visible, input, select, textarea")) return true;
    if (region.querySelector("input:checked, details[open]") || region.matches(":active, [data-hold]:hover")) return true;
    const selection = document.getSelection();
    return selection && !selection.isCollapsed && region.contains(selection.anchorNode);
  };
  setInterval(() => {
    if (document.visibilityState !== "visible") return;
    if (window.htmx) htmx.trigger(document.body, "tick");
    drawAll();
  }, EVERY);
  // What was still being counted is there sooner than that.
  addEventListener("load", () => {
    if (window.htmx && document.querySelector("[data-soon]")) setTimeout(() => htmx.trigger(document.body, "tick"), 500);
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (busy(event.target)) event.preventDefault();
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    // A session that is over leads to the way in, which is a whole page.
    if (busy(event.detail.target)) event.detail.shouldSwap = false;
    const expected = event.detail.target.id === "live" ? 'id="live"' : "data-piece";
    if (!event.detail.xhr.responseText.includes(expected)) {
      event.detail.shouldSwap = false;
      if (event.detail.xhr.status === 200) location.reload();
    }
  });

  // Whether the server is there, and since when it is not.
  let gone = null;
  const reached = () => {
    if (!gone) return;
    gone = null;
    document.body.classList.remove("is-gone");
    each(".live-word", (word) => (word.textContent = "live"));
    document.getElementById("gone").hidden = true;
  };
  const missed = (why) => {
    gone = gone || new Date();
    document.body.classList.add("is-gone");
    each(".live-word", (word) => (word.textContent = "not live"));
    const note = document.getElementById("gone");
    const said = `${why} since ${gone.toLocaleTimeString()}. What is shown is from before; it is tried again every two seconds.`;
    if (note.textContent !== said) note.textContent = said;
    note.hidden = false;
  };
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful) reached();
  });
  ["htmx:sendError", "htmx:timeout"].forEach((name) => document.addEventListener(name, () => missed("The server does not answer")));
  document.addEventListener("htmx:responseError", (event) => missed(`The server answers ${event.detail.xhr.status}`));

  // Charts.
  const charts = new Map();
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const short = (value) => value == null ? "–" : value >= 1000 ? (value / 1000).toFixed(value < 9950 ? 1 : 0) + "k" : String(Math.round(value * 100) / 100);
  const clock = (time) => {
    const at = new Date(time * 1000);
    return at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: at.getSeconds() ? "2-digit" : undefined, hour12: false });
  };
  const made = (element, chart) => {
    element.textContent = "";
    const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line-soft"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const line = (one) => ({
      label: one.name, stroke: colour("--" + one.class), width: 1.6, points: { show: false }, spanGaps: false,
      // The newest, unless somebody points at another.
      value: (plot, value, line, place) => {
        const shown = place == null ? plot.data[line].at(-1) : value;
        return shown == null ? "–" : short(shown) + (chart.unit === "ms" ? " ms" : "/s");
      },
      fill: one.class === "out" && chart.unit !== "ms" ? colour("--out") + "18" : undefined,
    });
    const size = { width: element.clientWidth, height: element.clientHeight - 30 };
    return new uPlot({
      ...size, legend: { live: true }, cursor: { y: false, drag: { x: false, y: false } },
      scales: { x: { range: (_, first, last) => [Math.min(first, last - 120), last] }, y: { range: (_, low, high) => [0, Math.max(high * 1.15, chart.unit === "ms" ? 10 : 1)] } },
      axes: [{ ...axis, size: 26, space: 80, values: (_, times) => times.map(clock) }, { ...axis, size: 44, values: (_, values) => values.map(short) }],
      series: [{ label: "at", value: (_, time) => time == null ? "now" : clock(time) }, ...chart.lines.map(line)],
    }, data(chart), element);
  };
  const data = (chart) => [chart.times, ...chart.lines.map((line) => line.values)];
  const draw = async (element) => {
    let chart;
    try {
      const answer = await fetch(element.dataset.chart, { headers: { accept: "application/json" } });
      if (!answer.ok) return;
      chart = await answer.json();
    } catch { return missed("The server does not answer"); }
    reached();
    if (!window.uPlot || chart.times.length < 2) return;
    const known = charts.get(element);
    if (known) known.setData(data(chart));
    else charts.set(element, made(element, chart));
  };
  const drawAll = () => each("[data-chart]", draw);
  const afresh = () => {
    charts.forEach((chart) => chart.destroy());
    charts.clear();
    drawAll();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", afresh);
  new ResizeObserver(() => charts.forEach((chart, element) => {
    if (element.clientWidth && element.clientWidth !== chart.width) chart.setSize({ width: element.clientWidth, height: element.clientHeight - 30 });
  })).observe(document.body);
  drawAll();

  // A form is sent once. A page that comes back from the browser's memory can be used again.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = "1";
    // After this, so that the button's own value is still sent.
    setTimeout(() => each("button", (button) => (button.disabled = true), form));
  });
  addEventListener("pageshow", () => each("form[data-sent]", (form) => {
    delete form.dataset.sent;
    each("button", (button) => (button.disabled = false), form);
  }));

  // Choosing rows.
  document.addEventListener("change", (event) => {
    const form = event.target.form;
    if (!form) return;
    if (event.target.matches("[data-all]")) each("input[name=id]", (box) => (box.checked = event.target.checked), form);
    const count = form.querySelectorAll("input[name=id]:checked").length;
    each("[data-chosen]", (words) => (words.textContent = count ? `${count} chosen:` : words.dataset.chosen), form);
  });

  document.addEventListener("click", async (event) => {
    const copy = event.target.closest("[data-copy]");
    if (!copy || !navigator.clipboard) return;
    await navigator.clipboard.writeText(copy.dataset.copy);
    copy.dataset.copied = "";
    setTimeout(() => delete copy.dataset.copied, 1500);
  });

  // The keyboard.
  let before = "";
  const rows = () => [...document.querySelectorAll(".rows tbody tr, .errors li")].filter((row) => row.querySelector("a"));
  const step = (by) => {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((row) => row.contains(document.activeElement));
    const row = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
    row.querySelector("a").focus();
    row.scrollIntoView({ block: "nearest" });
  };
  const keys = {
    "/": () => [...document.querySelectorAll("[data-search]")].find((field) => field.offsetParent)?.focus(),
    "?": () => document.getElementById("keys")?.showModal(),
    j: () => step(1),
    k: () => step(-1),
    x: () => document.activeElement.closest("tr")?.querySelector("input[type=checkbox]")?.click(),
    t: () => {
      const dark = (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
      [...document.querySelectorAll(`.theme button[value=${dark ? "light" : "dark"}]`)].find((button) => button.offsetParent)?.click();
    },
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.matches("input, textarea")) return event.target.blur();
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), textarea, select, dialog")) return;
    if (before === "g") {
      before = "";
      const link = document.querySelector(`.entries a[data-key="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    if (event.key === "g") {
      before = "g";
      setTimeout(() => (before = ""), 1200);
    } else if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
})();
