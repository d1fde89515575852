"use strict";
// Sessions in which flows share a link: what arrived of each, stacked under the capacity, and its figures, a row per flow.
Legato.sharing = (() => {
  const { data, escape, minus, classOf, svg, axisBottom, axisLeft, grid, tooltip } = Legato;
  const parent = document.getElementById("sharing-figure");
  // The controller's colour is its calls'; what is beside them is grey. Neighbours differ in depth.
  const DEPTHS = { call: [0.95, 0.6, 0.8, 0.45], other: [0.5, 0.3, 0.4, 0.22] };
  const MOST_NAMES = 8;
  const undelta = (packed) => { let last = 0; return packed.map((step) => (step === null ? null : (last += step))); };

  function unpack(session) {
    const depth = { call: 0, other: 0 };
    const flows = session.flows.map((flow) => {
      const side = flow.kind === "call" ? "call" : "other";
      const fill = side === "call" ? `var(--${classOf(session.variant)})` : flow.kind === "udp" ? "var(--area-edge)" : "var(--faint)";
      return { ...flow, rate: undelta(flow.rate).map((v) => (v === null ? null : v / 1000)), fill, depth: DEPTHS[side][depth[side]++ % 4] };
    });
    const links = session.links.map((link) => ({ ...link, capacity: undelta(link.capacity).map((v) => (v === null ? null : v / 1000)) }));
    return { ...session, flows, links };
  }

  function draw(sessions, width) {
    parent.replaceChildren();
    for (const session of sessions) {
      const card = document.createElement("article");
      card.className = `call ${classOf(session.variant)}`;
      card.innerHTML = `<header><h3>${escape(data.controllers[session.variant].name)}</h3><span class="condition">${escape(session.trace)} · ${escape(session.clip)} · seed ${session.seed}</span></header>`;
      parent.append(card);
      for (const link of session.links) stack(card, session, link, width);
      card.insertAdjacentHTML("beforeend", table(session));
    }
  }

  function stack(card, session, link, width) {
    const margin = { left: 46, right: 12, top: 18, bottom: 22 }, height = Legato.isPrinting() ? 130 : 190;
    const flows = link.flows.map((at) => session.flows[at]);
    const step = session.bin_ms / 1000, times = d3.range(session.bins).map((at) => (at + 0.5) * step);
    let base = times.map(() => 0);
    const layers = flows.map((flow) => {
      const low = base;
      base = base.map((v, at) => v + (flow.rate[at] ?? 0));
      return { flow, low, high: base };
    });
    const most = d3.max(link.capacity.filter((v) => v !== null)) ?? 0, top = d3.max(base) ?? 0;
    // A link much faster than its flows would flatten them; then the capacity leaves through the top.
    const cut = most > top * 1.7 && top > 0;
    const x = d3.scaleLinear().domain([0, session.duration_s]).range([margin.left, width - margin.right]);
    const y = d3.scaleLinear().domain([0, Math.max(cut ? top * 1.3 : most, top) * 1.04 || 1]).range([height - margin.bottom, margin.top]);
    const root = svg(card, width, height, `Shares of ${link.name}, ${data.controllers[session.variant].name}`);
    const clip = `sharing-${session.variant}-${session.session}-${link.name.replace(/\W/g, "-")}`;
    root.append("clipPath").attr("id", clip).append("rect").attr("x", margin.left).attr("y", margin.top).attr("width", width - margin.left - margin.right).attr("height", height - margin.top - margin.bottom);
    const inside = root.append("g").attr("clip-path", `url(#${clip})`);
    for (const { flow, low, high } of layers) {
      const lives = (_, at) => flow.rate[at] !== null;
      inside.append("path").attr("class", "share").style("fill", flow.fill).attr("fill-opacity", flow.depth)
        .attr("d", d3.area((_, at) => x(times[at]), (_, at) => y(low[at]), (_, at) => y(high[at])).defined(lives)(times));
    }
    const steps = [...link.capacity, link.capacity.at(-1)];
    inside.append("path").attr("class", "share-capacity")
      .attr("d", d3.line((_, at) => x(at * step), (v) => y(v)).defined((v) => v !== null).curve(d3.curveStepAfter)(steps));
    if (layers.length <= MOST_NAMES) for (const layer of layers) name(root, layer, x, y, times);
    const values = axisLeft(root, y, margin.left, 4);
    grid(root, { ys: values, x, y });
    axisBottom(root, x, height - margin.bottom, Math.max(5, Math.floor(width / 90)), null);
    root.select(".axis.x").selectAll(".tick:last-of-type text").each(function () { this.textContent += " s"; });
    const of = session.links.length > 1 || link.name !== "forward" ? ` on ${link.name}` : "";
    root.append("text").attr("class", "title").attr("x", margin.left).attr("y", margin.top - 7).style("font-size", "11px")
      .text(`rates${of}, Mbit/s${cut ? `, capacity cut off (${Legato.number(+most.toPrecision(3))})` : ""}`);
    read(root, session, link, flows, { x, step, margin, height });
  }

  /** A flow's name where it is widest, if it has the room. */
  function name(root, { flow, low, high }, x, y, times) {
    const reach = Math.max(2, Math.round(times.length / 40));
    const room = times.map((_, at) => (at < reach || at >= times.length - reach ? 0 : d3.min(d3.range(at - reach, at + reach + 1), (n) => y(low[n]) - y(high[n]))));
    const at = d3.maxIndex(room);
    if (room[at] < 14) return;
    root.append("text").attr("class", "share-name").attr("x", x(times[at])).attr("y", (y(low[at]) + y(high[at])) / 2).attr("dy", ".35em").attr("text-anchor", "middle").text(flow.name);
  }

  function read(root, session, link, flows, { x, step, margin, height }) {
    const cross = root.append("line").attr("class", "cross").attr("y1", margin.top).attr("y2", height - margin.bottom).attr("visibility", "hidden");
    const mbps = (v) => (v === null || v === undefined ? "–" : v.toFixed(2));
    root.on("pointermove", (event) => {
      const time = x.invert(d3.pointer(event, root.node())[0]), at = Math.floor(time / step);
      if (at < 0 || at >= session.bins) { cross.attr("visibility", "hidden"); tooltip.hide(); return; }
      cross.attr("visibility", "visible").attr("x1", x(time)).attr("x2", x(time));
      const living = [...flows].reverse().filter((flow) => flow.rate[at] !== null);
      const rows = living.map((flow) => `<tr><td>${swatch(flow)}${escape(flow.name)}</td><td>${mbps(flow.rate[at])}</td></tr>`).join("");
      tooltip.show(event, `<b>${time.toFixed(1)} s</b><table class="${classOf(session.variant)} share-read"><tr><td>capacity</td><td>${mbps(link.capacity[at])}</td></tr>${rows}</table>`);
    }).on("pointerleave", () => { cross.attr("visibility", "hidden"); tooltip.hide(); });
  }

  const swatch = (flow) => `<span class="swatch" style="background:${flow.fill};opacity:${flow.depth}"></span>`;

  function table(session) {
    const shown = (value, digits) => (value === null ? "–" : minus(value.toFixed(digits)));
    const all = d3.sum(session.flows, (flow) => flow.receiver_mbps * (flow.stop_s - flow.start_s));
    const rows = session.flows.map((flow) => {
      const share = all > 0 ? (100 * flow.receiver_mbps * (flow.stop_s - flow.start_s)) / all : null;
      const kind = flow.kind === "call" || flow.kind === "udp" ? "" : ` <small>${escape(flow.kind)}</small>`;
      return `<tr><th scope="row">${swatch(flow)}${escape(flow.name)}${kind}</th><td>${Legato.number(flow.start_s)}–${Legato.number(flow.stop_s)}</td><td>${shown(flow.receiver_mbps, 2)}</td><td>${shown(flow.goodput_mbps, 2)}</td><td>${shown(share, 0)}</td><td>${shown(flow.lost_percent, 1)}</td><td>${shown(flow.again_percent, 1)}</td><td>${shown(flow.delay_ms, 0)}</td></tr>`;
    });
    const head = ["flow", "from–to, s", "received, Mbit/s", "goodput, Mbit/s", "of all bytes, %", "lost, %", "sent again, %", "delay one way, ms"];
    return `<div class="scroll"><table class="shares"><thead><tr>${head.map((text) => `<th scope="col">${text}</th>`).join("")}</tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
  }

  function start() {
    if (data.sharing.length === 0) return;
    document.getElementById("sharing").hidden = false;
    const sessions = data.sharing.map(unpack);
    Legato.responsive(parent, (width) => draw(sessions, width));
  }
  return { start };
})();
