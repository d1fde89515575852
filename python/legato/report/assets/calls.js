"use strict";
// The time lines of one condition, controllers below each other on the same axes, with one cross-hair through all.
Legato.calls = (() => {
  const { data, escape, minus, classOf, svg, axisBottom, tooltip } = Legato;
  const controls = document.getElementById("calls-controls");
  const figure = document.getElementById("calls-figure");
  const MOST_AT_ONCE = 4;
  // Time, in order, as the series are packed: differences, null where nothing is known.
  const undelta = (packed) => { let last = 0; return packed ? packed.map((step) => (step === null ? null : (last += step))) : null; };
  const SERIES = { capacity: 1e-3, target: 1e-3, sending: 1e-3, receiver: 1e-3, queue: 1, loss: 0.1, ssim: 0.01, height: 1, frame_delay: 1 };
  const conditions = [...d3.group(data.calls.map((call, at) => ({ ...call, at })), (call) => [call.trace, call.clip, call.seed, call.flow].join("\u0000")).values()];
  const unpacked = new Map();
  let condition = 0, chosen = new Set(), range = null, redraw = () => {}, cards = [];

  function series(call) {
    if (!unpacked.has(call.at)) {
      const line = call.line;
      const start = (line.start_bin * line.bin_ms) / 1000, step = line.bin_ms / 1000;
      const lines = Object.fromEntries(Object.entries(SERIES).map(([name, unit]) => [name, undelta(line[name])?.map((v) => (v === null ? null : v * unit)) ?? null]));
      unpacked.set(call.at, { start, step, bins: line.bins, end: start + step * line.bins, freezes: (line.freezes ?? []).map(([at, long]) => [at / 1000, (at + long) / 1000]), ...lines });
    }
    return unpacked.get(call.at);
  }

  function open(run, number) {
    const found = conditions.findIndex((calls) => calls.some((call) => call.run === run && call.call === number));
    if (found < 0) return;
    choose(found);
    const wanted = conditions[found].find((call) => call.run === run && call.call === number).variant;
    if (!chosen.has(wanted)) { chosen.add(wanted); refresh(); }
    document.getElementById("calls").scrollIntoView({ behavior: "smooth" });
  }
  const has = (run, number) => data.calls.some((call) => call.run === run && call.call === number);

  function choose(at) {
    condition = (at + conditions.length) % conditions.length;
    range = null;
    const present = conditions[condition].map((call) => call.variant);
    // What was chosen stays chosen where it ran; else the baseline and the first others.
    const kept = present.filter((variant) => chosen.has(variant));
    chosen = new Set(kept.length ? kept : [...present].sort((a, b) => (b === data.baseline) - (a === data.baseline)).slice(0, MOST_AT_ONCE));
    refresh();
  }
  function refresh() {
    const select = controls.querySelector("select");
    select.value = String(condition);
    Legato.legend(controls.querySelector(".legend"), conditions[condition].map((call) => call.variant), (at) => chosen.has(at), (at) => {
      if (chosen.has(at)) chosen.delete(at); else chosen.add(at);
      refresh();
    });
    redraw();
  }

  function draw(width) {
    figure.replaceChildren();
    cards = [];
    document.getElementById("calls-whole").hidden = range === null;
    const calls = conditions[condition].filter((call) => chosen.has(call.variant));
    if (calls.length === 0) { figure.textContent = "No controller is chosen."; return; }
    const lines = calls.map(series);
    const most = (names) => d3.max(lines, (line) => d3.max(names, (name) => (line[name] ? d3.max(line[name], (v) => v ?? 0) : 0))) || 0;
    const least = (name) => d3.min(lines, (line) => (line[name] ? d3.min(line[name], (v) => v ?? Infinity) : Infinity));
    const whole = [Math.min(0, d3.min(lines, (l) => l.start)), d3.max(lines, (l) => l.end)];
    const used = most(["target", "sending", "receiver"]), capacity = most(["capacity"]);
    // In an outage a queue's ms are bytes over next to nothing: they leave through the top where frames were never so late.
    const late = most(["frame_delay"]), queue = most(["queue"]), waits = Math.max(late * 1.1, Math.min(queue, 500));
    // A link much faster than the call would flatten everything that matters; then capacity leaves through the top.
    const shared = {
      time: range ?? whole, whole,
      rate: Math.max(used > 0 ? Math.min(capacity, used * 1.7) : capacity, used * 1.05) || 1, cut: capacity > used * 1.7 && used > 0 ? capacity : null,
      delay: waits || 100, queueCut: queue > waits ? queue : null, loss: most(["loss"]),
      quality: most(["ssim"]) > 0 ? [Math.floor(least("ssim")), Math.ceil(most(["ssim"]))] : [0, 20],
      heights: [...new Set(lines.flatMap((line) => (line.height ?? []).filter((h) => h)))].sort(d3.ascending),
    };
    calls.forEach((call, at) => card(call, lines[at], shared, width));
  }

  function card(call, line, shared, width) {
    const element = document.createElement("article");
    element.className = `call ${classOf(call.variant)}`;
    element.dataset.call = call.call;
    element.innerHTML = `<header><h3>${escape(data.controllers[call.variant].name)}</h3><span class="condition">${escape(call.trace)} · ${escape(call.clip)} · seed ${call.seed}${call.flow ? ` · ${escape(call.flow)}` : ""}<b class="time"></b></span><span class="outcome">${escape(outcome(call))}</span></header><div class="key"></div>`;
    figure.append(element);
    const margin = { left: 46, right: 12 };
    const x = d3.scaleLinear().domain(shared.time).range([margin.left, width - margin.right]);
    // Three controllers fit on a printed page.
    const bands = layout(Legato.isPrinting() ? [["rate", 64], ["delay", 42], ["loss", 13], ["quality", 32], ["height", 10]] : [["rate", 112], ["delay", 70], ["loss", 24], ["quality", 58], ["height", 10]]);
    const root = svg(element, width, bands.end + 26, `Time line of ${data.controllers[call.variant].name}`);
    const clip = `clip-${call.at}`;
    root.append("clipPath").attr("id", clip).append("rect").attr("x", x.range()[0]).attr("y", 0).attr("width", x.range()[1] - x.range()[0]).attr("height", bands.end + 2);
    const back = root.append("g").attr("clip-path", `url(#${clip})`);
    const front = root.append("g").attr("clip-path", `url(#${clip})`);
    for (const [from, to] of line.freezes) back.append("rect").attr("class", "s-freeze").attr("x", x(from)).attr("width", Math.max(1, x(to) - x(from))).attr("y", bands.rate[0]).attr("height", bands.end - bands.rate[0]);

    const rate = d3.scaleLinear().domain([0, shared.rate]).range([bands.rate[1], bands.rate[0]]);
    const delay = (shared.delay > 400 ? d3.scaleSqrt() : d3.scaleLinear()).domain([0, shared.delay]).range([bands.delay[1], bands.delay[0]]).clamp(true);
    const loss = d3.scaleLinear().domain([0, [5, 10, 20, 50, 100].find((top) => shared.loss <= top) ?? 100]).range([bands.loss[1], bands.loss[0]]);
    const quality = d3.scaleLinear().domain(shared.quality).range([bands.quality[1], bands.quality[0]]);
    const begin = (at) => x(line.start + at * line.step), middle = (at) => x(line.start + (at + 0.5) * line.step), end = (at) => x(line.start + (at + 1) * line.step);
    const path = (values, place, scale, name, curve = d3.curveLinear) => values && front.append("path").attr("class", name)
      .attr("d", d3.line((_, at) => place(at), (v) => scale(v)).defined((v) => v !== null).curve(curve)(values));
    const area = (values, place, scale, name, curve = d3.curveLinear) => values && back.append("path").attr("class", name)
      .attr("d", d3.area((_, at) => place(at), scale(0), (v) => scale(v)).defined((v) => v !== null).curve(curve)(values));
    // The last step has to be drawn to its end.
    const steps = line.capacity && [...line.capacity, line.capacity.at(-1)];
    area(steps, begin, rate, "s-capacity", d3.curveStepAfter);
    path(steps, begin, rate, "s-capacity-edge", d3.curveStepAfter);
    path(line.sending, middle, rate, "s-sending");
    path(line.receiver, middle, rate, "s-receiver");
    path(line.target, end, rate, "s-target");
    area(line.queue, end, delay, "s-queue");
    path(line.queue, end, delay, "s-queue-edge");
    path(line.frame_delay, middle, delay, "s-frame-delay");
    if (line.loss) front.append("path").attr("class", "s-loss").attr("d", line.loss.map((v, at) => (v > 0 ? `M${begin(at).toFixed(1)},${bands.loss[1]}V${loss(v).toFixed(1)}H${Math.max(end(at), begin(at) + 1).toFixed(1)}V${bands.loss[1]}Z` : "")).join(""));
    path(line.ssim, middle, quality, "s-ssim");
    heightStrip(front, root, line, shared, bands, begin, x);

    labels(root, bands, x, { rate, delay, loss, quality }, shared, margin);
    axisBottom(root, x, bands.end, Math.max(5, Math.floor(width / 90)), null);
    root.select(".axis.x").selectAll(".tick:last-of-type text").each(function () { this.textContent += " s"; });
    const cross = root.append("line").attr("class", "cross").attr("y1", bands.rate[0]).attr("y2", bands.end).attr("visibility", "hidden");
    const brush = root.append("rect").attr("class", "zoom").attr("y", bands.rate[0]).attr("height", bands.end - bands.rate[0]).attr("visibility", "hidden");
    const held = { line, x, cross, brush, key: element.querySelector(".key"), clock: element.querySelector(".time"), shared };
    cards.push(held);
    tell(held, null);
    interact(root, x, shared);
  }

  function layout(rows) {
    const bands = {};
    const gap = Legato.isPrinting() ? 15 : 19;
    let y = 16;
    for (const [name, high] of rows) { bands[name] = [y, y + high]; y += high + (name === "quality" ? 4 : gap); }
    bands.end = y - gap + 3;
    return bands;
  }

  function heightStrip(front, root, line, shared, bands, begin, x) {
    if (!line.height) return;
    // A picture stays on the screen until the next one comes.
    let last = null;
    const heights = line.height.map((h) => (last = h ?? last));
    const shade = (h) => 0.25 + (0.65 * (shared.heights.indexOf(h) + 1)) / shared.heights.length;
    let from = 0;
    for (let at = 1; at <= line.bins; at += 1) {
      if (at < line.bins && heights[at] === heights[from]) continue;
      if (heights[from]) {
        const [left, right] = [Math.max(begin(from), x.range()[0]), Math.min(begin(at), x.range()[1])];
        front.append("rect").attr("class", "s-height").attr("x", begin(from)).attr("width", Math.max(0, begin(at) - begin(from) - 0.5)).attr("y", bands.height[0]).attr("height", bands.height[1] - bands.height[0]).attr("opacity", shade(heights[from]));
        if (right - left > 34) root.append("text").attr("x", left + 4).attr("y", bands.height[1] - 1).style("font-size", "9px").style("fill", shade(heights[from]) > 0.55 ? "var(--paper)" : "var(--ink)").text(`${heights[from]}p`);
      }
      from = at;
    }
  }

  function labels(root, bands, x, scales, shared, margin) {
    const rows = [
      ["rate", "rate, Mbit/s", scales.rate.ticks(4)], ["delay", "delay, ms", delayTicks(scales.delay)], ["loss", "packets lost, %", scales.loss.domain()], ["quality", "quality, SSIM dB", scales.quality.ticks(3)],
    ];
    const lines = root.insert("g", ":first-child").attr("class", "grid");
    for (const [name, unit, values] of rows) {
      for (const value of values) {
        lines.append("line").attr("x1", x.range()[0]).attr("x2", x.range()[1]).attr("y1", scales[name](value)).attr("y2", scales[name](value));
        root.append("text").attr("x", margin.left - 7).attr("y", scales[name](value)).attr("dy", ".35em").attr("text-anchor", "end").text(Legato.number(+value.toPrecision(2)));
      }
      root.append("text").attr("class", "title").attr("x", margin.left).attr("y", bands[name][0] - 5).style("font-size", "11px")
        .text(unit + (name === "delay" && scales.delay.exponent ? (scales.delay.exponent() === 1 ? "" : " (square-root axis)") : "") + (name === "delay" && shared.queueCut ? `, queue cut off (up to ${Legato.number(+shared.queueCut.toPrecision(2))})` : "") + (name === "rate" && shared.cut ? `, capacity cut off (up to ${Legato.number(+shared.cut.toPrecision(3))})` : ""));
    }
  }
  function delayTicks(scale) {
    const top = scale.domain()[1];
    if (!scale.exponent) return scale.ticks(3);
    const all = [0, 100, 300, 1000, 3000, 10000, 30000, 100000].filter((value) => value <= top);
    // A label takes some 12 px of height; the larger ones matter more.
    return all.reduceRight((kept, value) => (kept.length > 0 && scale(value) - scale(kept[0]) < 12 ? kept : [value, ...kept]), []);
  }

  function outcome(call) {
    const points = data.points;
    const m = points.run.findIndex((run, at) => run === call.run && points.call[at] === call.call);
    if (m < 0) return "";
    const figure_ = (column, text) => (points.figures[column]?.[m] == null ? null : text(points.figures[column][m]));
    return [
      figure_("ssim_db_mean", (v) => `${v.toFixed(1)} dB`), figure_("utilisation_ratio", (v) => `${v.toFixed(0)} % used`),
      figure_("viewed_delay_p95_ms", (v) => `p95 delay as viewed ${v.toFixed(0)} ms`), figure_("loss_ratio", (v) => `${v.toFixed(1)} % lost`),
      figure_("stall_ratio", (v) => `${v.toFixed(1)} % stalled`),
    ].filter(Boolean).join(" · ");
  }

  /** The key doubles as the read-out of the cross-hair. */
  function tell({ line, key, clock }, time) {
    clock.textContent = time === null ? "" : ` · at ${time.toFixed(1)} s`;
    const at = time === null ? -1 : Math.floor((time - line.start) / line.step);
    const value = (name, digits) => {
      const v = line[name]?.[at];
      return at < 0 ? "" : v === null || v === undefined ? " –" : ` ${minus(v.toFixed(digits))}`;
    };
    const mark = { area: (c) => `<path class="${c}" d="M0,1H18V10H0Z"/>`, line: (c) => `<path class="${c}" d="M0,6H18"/>` };
    const entry = (name, label, unit, digits, shape) => line[name] && `<span><svg viewBox="0 0 18 10" aria-hidden="true">${shape}</svg><i>${label}</i><b>${at < 0 ? "" : value(name, digits) + unit}</b></span>`;
    const frozen = at >= 0 && line.freezes.some(([from, to]) => time >= from && time < to);
    key.innerHTML = [
      entry("capacity", "capacity", "", 2, mark.area("s-capacity") + '<path class="s-capacity-edge" d="M0,1H18"/>'), entry("target", "target", "", 2, mark.line("s-target")),
      entry("sending", "sending", "", 2, mark.line("s-sending")), entry("receiver", "received", "", 2, mark.line("s-receiver")),
      entry("queue", "queue", " ms", 0, mark.area("s-queue")), entry("frame_delay", "worst frame delay", " ms", 0, mark.line("s-frame-delay")),
      entry("loss", "lost", " %", 1, mark.area("s-loss")), entry("ssim", "SSIM", " dB", 1, mark.line("s-ssim")),
      line.freezes.length || frozen ? `<span><svg viewBox="0 0 18 10" aria-hidden="true">${mark.area("s-freeze")}</svg><i>freeze</i><b>${frozen ? " yes" : ""}</b></span>` : null,
    ].filter(Boolean).join("");
  }

  function interact(root, x, shared) {
    let from = null;
    const time = (event) => Math.max(x.domain()[0], Math.min(x.domain()[1], x.invert(d3.pointer(event, root.node())[0])));
    root.on("pointermove", (event) => {
      const now = time(event);
      for (const card of cards) {
        card.cross.attr("visibility", null).attr("x1", card.x(now)).attr("x2", card.x(now));
        if (from !== null) card.brush.attr("visibility", null).attr("x", card.x(Math.min(from, now))).attr("width", Math.abs(card.x(now) - card.x(from)));
        tell(card, now);
      }
    }).on("pointerleave", () => {
      if (from !== null) return;
      for (const card of cards) { card.cross.attr("visibility", "hidden"); tell(card, null); }
      tooltip.hide();
    }).on("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch") return;
      from = time(event);
      root.node().setPointerCapture(event.pointerId);
    }).on("pointerup", (event) => {
      if (from === null) return;
      const [low, high] = d3.extent([from, time(event)]);
      from = null;
      for (const card of cards) card.brush.attr("visibility", "hidden");
      if (high - low > (shared.whole[1] - shared.whole[0]) / 200) { range = [low, high]; redraw(); }
    }).on("pointercancel", () => { from = null; for (const card of cards) card.brush.attr("visibility", "hidden"); })
      .on("dblclick", () => { range = null; redraw(); });
  }

  function start() {
    if (conditions.length === 0) { controls.remove(); return; }
    controls.innerHTML = '<button type="button" title="previous condition" aria-label="previous condition">‹</button><select aria-label="condition"></select><button type="button" title="next condition" aria-label="next condition">›</button><div class="legend"></div><button type="button" id="calls-whole" hidden>whole call</button>';
    const select = controls.querySelector("select");
    for (const [trace, members] of d3.group(conditions.map((calls, at) => ({ call: calls[0], at })), ({ call }) => call.trace)) {
      const group = document.createElement("optgroup");
      group.label = trace;
      for (const { call, at } of members) group.append(new Option(`${trace} · ${call.clip} · seed ${call.seed}${call.flow ? ` · ${call.flow}` : ""}`, String(at)));
      select.append(group);
    }
    select.addEventListener("change", () => choose(Number(select.value)));
    document.getElementById("calls-whole").addEventListener("click", () => { range = null; redraw(); });
    const [previous, next] = controls.querySelectorAll(":scope > button[title]");
    previous.addEventListener("click", () => choose(condition - 1));
    next.addEventListener("click", () => choose(condition + 1));
    choose(0);
    redraw = Legato.responsive(figure, draw);
  }

  return { start, open, has };
})();
