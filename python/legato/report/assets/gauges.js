"use strict";
// What a controller says about its inner state, one small plot per gauge.
Legato.gauges = (() => {
  const { data, escape, classOf, svg, axisBottom, axisLeft, grid } = Legato;
  const parent = document.getElementById("gauges-figure");
  const select = document.getElementById("gauges-call");

  // A gauge states its unit as the end of its name.
  const UNITS = { bps: "bit/s", bytes: "bytes", db: "dB", fps: "fps", height: "rows", ms: "ms", ns: "ns", packets: "packets", qp: "QP", s: "s", us: "µs" };

  function title(name) {
    const end = name.slice(name.lastIndexOf("_") + 1), unit = UNITS[end];
    return unit ? `${escape(name.slice(0, -end.length - 1))} <small>${unit}</small>` : escape(name);
  }

  function draw() {
    const shown = data.gauges[Number(select.value)];
    const call = data.calls[shown.call];
    parent.replaceChildren();
    const made = shown.gauges.map((gauge) => {
      const figure = document.createElement("figure");
      figure.className = classOf(call.variant);
      figure.innerHTML = `<figcaption title="${escape(gauge.name)}">${title(gauge.name)}</figcaption><div></div>`;
      parent.append(figure);
      return [gauge, figure];
    });
    for (const [gauge, figure] of made) {
      const printed = Legato.isPrinting();
      const width = printed ? 223 : Math.floor(figure.getBoundingClientRect().width), height = 130, margin = { top: 8, right: 10, bottom: 24, left: 52 };
      let last = 0;
      const times = gauge.bins.map((step) => ((last += step) * shown.bin_ms) / 1000);
      const root = svg(figure.lastElementChild, width, height, gauge.name);
      const x = d3.scaleLinear().domain([0, call.duration_s || d3.max(times)]).range([margin.left, width - margin.right]);
      let [low, high] = d3.extent(gauge.values);
      if (low === high) [low, high] = [low - Math.abs(low) * 0.05, high + (Math.abs(high) * 0.05 || 1)];
      const y = d3.scaleLinear().domain([low, high]).nice(4).range([height - margin.bottom, margin.top]);
      axisBottom(root, x, height - margin.bottom, 5, null);
      root.select(".axis.x").selectAll(".tick:last-of-type text").each(function () { this.textContent += " s"; });
      const values = axisLeft(root, y, margin.left, 4, (v) => (Math.abs(v) >= 1e4 ? d3.format("~s")(v) : Legato.number(v)));
      grid(root, { ys: values, x, y });
      root.append("path").attr("class", "gauge").attr("fill", "none").attr("stroke", "currentColor").attr("stroke-width", 1.4)
        .attr("d", d3.line((_, at) => x(times[at]), (v) => y(v)).curve(d3.curveStepAfter)(gauge.values));
    }
  }

  function start() {
    if (data.gauges.length === 0) return;
    document.getElementById("gauges").hidden = false;
    const calls = data.gauges.map(({ call }) => data.calls[call]);
    // Only what tells them apart, so that the choice is short enough to be read.
    const told = ["trace", "clip", "seed", "flow"].filter((key) => new Set(calls.map((call) => call[key])).size > 1);
    calls.forEach((of, at) => {
      const parts = told.map((key) => (key === "seed" ? `seed ${of.seed}` : of[key])).filter(Boolean);
      select.add(new Option([data.controllers[of.variant].name, ...parts].join(" · "), String(at)));
    });
    select.addEventListener("change", draw);
    Legato.responsive(parent, draw);
  }
  return { start };
})();
