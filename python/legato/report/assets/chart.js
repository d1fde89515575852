"use strict";
// What the figures share: the data, the controllers' marks, axes, number formats, the tooltip, which controllers are shown.
const Legato = (() => {
  const data = JSON.parse(document.getElementById("legato-data").textContent);
  const shapes = [d3.symbolCircle, d3.symbolStar, d3.symbolTriangle, d3.symbolDiamond, d3.symbolCross, d3.symbolSquare, d3.symbolWye];
  const hidden = new Set();
  const redraws = [];
  const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  const escape = (text) => String(text).replace(/[&<>"]/g, (letter) => escapes[letter]);
  const minus = (text) => text.replace("-", "−");

  /** A figure of a metric with its unit, as the tables print it. */
  function shown(column, value) {
    const metric = data.metrics[column];
    if (value === null || value === undefined) return "–";
    return `${minus(value.toFixed(metric.digits))}${metric.unit ? " " + metric.unit : ""}`;
  }
  const titled = (column) => data.metrics[column].label + (data.metrics[column].unit ? `, ${data.metrics[column].unit}` : "");
  const symbol = (controller, size) => d3.symbol(shapes[controller.marker], size)();
  const classOf = (at) => `c${data.controllers[at].colour}`;

  /** An SVG of this size at the end of `parent`, scaled down with its container. */
  function svg(parent, width, height, label) {
    return d3.select(parent).append("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("width", width).attr("height", height)
      .attr("role", "img").attr("aria-label", label);
  }
  /** Values that sit on a logarithmic axis: positive, and spread over more than a factor of eight. */
  function wantsLog(column, values) {
    if (!column.endsWith("_ms")) return false;
    const [low, high] = d3.extent(values);
    return low > 0 && high / low > 8;
  }
  /** 1, 2, 5, 10 … within a logarithmic domain, thinned until they fit. */
  function logTicks(scale, most) {
    const [low, high] = scale.domain();
    const all = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1)
      for (const step of [1, 2, 5]) all.push(step * 10 ** power);
    const inside = all.filter((value) => value >= low * 0.999 && value <= high * 1.001);
    return inside.length <= most ? inside : inside.filter((value) => /^1/.test(value.toPrecision(1)));
  }
  const number = (value) => minus(Math.abs(value) >= 10000 ? d3.format(",")(value) : String(+value.toPrecision(6)));
  function ticks(scale, most) { return scale.base ? logTicks(scale, most) : scale.ticks(most); }

  function axisBottom(root, scale, y, count, label) {
    const values = ticks(scale, count);
    root.append("g").attr("class", "axis x").attr("transform", `translate(0,${y})`)
      .call(d3.axisBottom(scale).tickValues(values).tickFormat(number).tickSize(4).tickSizeOuter(0).tickPadding(6));
    if (label) root.append("text").attr("class", "title").attr("x", scale.range()[1]).attr("y", y + 36).attr("text-anchor", "end").text(label);
    return values;
  }
  function axisLeft(root, scale, x, count, format) {
    const values = ticks(scale, count);
    const axis = root.append("g").attr("class", "axis y").attr("transform", `translate(${x},0)`)
      .call(d3.axisLeft(scale).tickValues(values).tickFormat(format ?? number).tickSize(0).tickPadding(7));
    axis.select(".domain").remove();
    return values;
  }
  function grid(root, { xs = [], ys = [], x, y }) {
    const lines = root.insert("g", ":first-child").attr("class", "grid");
    if (x) for (const value of xs) lines.append("line").attr("x1", x(value)).attr("x2", x(value)).attr("y1", y.range()[0]).attr("y2", y.range()[1]);
    for (const value of ys) lines.append("line").attr("y1", y(value)).attr("y2", y(value)).attr("x1", x.range()[0]).attr("x2", x.range()[1]);
  }

  const box = document.getElementById("tooltip");
  const tooltip = {
    show(event, html) {
      box.innerHTML = html;
      box.style.visibility = "visible";
      const right = event.pageX + 16 + box.offsetWidth > document.documentElement.clientWidth + window.scrollX;
      box.style.left = `${Math.max(4, right ? event.pageX - 16 - box.offsetWidth : event.pageX + 16)}px`;
      box.style.top = `${event.pageY + 14}px`;
    },
    hide() { box.style.visibility = "hidden"; },
  };

  /** Steps back all controllers but one in every figure; null brings all forward again. */
  function highlight(at) {
    for (const mark of document.querySelectorAll("[data-controller]")) {
      mark.classList.toggle("dim", at !== null && Number(mark.dataset.controller) !== at);
      mark.classList.toggle("lit", Number(mark.dataset.controller) === at);
    }
  }

  /** Buttons that name the controllers; `pressed` tells which are on, `toggle` is called with an index. */
  function legend(parent, controllers, pressed, toggle) {
    parent.replaceChildren();
    highlight(null);
    for (const at of controllers) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "entry";
      button.setAttribute("aria-pressed", String(pressed(at)));
      button.innerHTML = `<svg class="${classOf(at)}" viewBox="-6.5 -6.5 13 13" aria-hidden="true"><path fill="currentColor" d="${symbol(data.controllers[at], 64)}"/></svg>${escape(data.controllers[at].name)}`;
      button.addEventListener("click", () => toggle(at));
      button.addEventListener("pointerenter", () => { if (pressed(at)) highlight(at); });
      button.addEventListener("pointerleave", () => highlight(null));
      parent.append(button);
    }
  }

  /** Runs `draw` now, when the width changes, and at print's width around printing. */
  function responsive(element, draw) {
    let last = 0;
    const redraw = (forced) => {
      const width = Math.floor(forced || element.getBoundingClientRect().width);
      if (width > 0) { last = width; draw(width); }
    };
    new ResizeObserver(() => { if (Math.abs(Math.floor(element.getBoundingClientRect().width) - last) > 1 && !printing) redraw(); }).observe(element);
    redraws.push(redraw);
    redraw();
    return () => redraw(printing ? printWidth : 0);
  }
  // A4 less its margins, in CSS pixels: the figures are drawn again at that width instead of being shrunk to it.
  const printWidth = 700;
  let printing = false;
  const setPrinting = (now) => {
    if (now === printing) return;
    printing = now;
    for (const details of document.querySelectorAll("#appendix details")) details.open = now || details.dataset.open === "1";
    for (const redraw of redraws) redraw(now ? printWidth : 0);
  };
  window.addEventListener("beforeprint", () => setPrinting(true));
  window.addEventListener("afterprint", () => setPrinting(false));
  matchMedia("print").addEventListener("change", (event) => setPrinting(event.matches));

  return { data, hidden, escape, minus, shown, titled, symbol, classOf, svg, wantsLog, number, axisBottom, axisLeft, grid, tooltip, highlight, legend, responsive, isPrinting: () => printing };
})();
