"use strict";
// Sorting by a click on a column's head, the figures that are hidden at first, and CSV.
Legato.table = (() => {
  const table = document.getElementById("means");
  const body = table.tBodies[0];
  const headsOf = (one) => [...one.tHead.rows[0].cells];
  const heads = headsOf(table);

  function sort(table, at) {
    const [heads, body] = [headsOf(table), table.tBodies[0]];
    const head = heads[at];
    const upward = head.getAttribute("aria-sort") === "descending" || (head.getAttribute("aria-sort") === "none" && at === 0);
    for (const other of heads) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", upward ? "ascending" : "descending");
    const key = (row) => row.cells[at].dataset.value;
    const rows = [...body.rows].sort((a, b) => {
      const [left, right] = [key(a), key(b)];
      // An absent figure is last, whichever way round.
      if (left === undefined || right === undefined) return (left === undefined) - (right === undefined);
      return (at === 0 ? left.localeCompare(right) : Number(left) - Number(right)) * (upward ? 1 : -1);
    });
    body.append(...rows);
  }

  /** One line a controller; every figure in the unit of its column's name, with interval and difference. */
  function csv() {
    const kinds = [["", "value"], ["_low", "low"], ["_high", "high"], ["_difference", "difference"], ["_difference_low", "differenceLow"], ["_difference_high", "differenceHigh"]];
    const columns = heads.slice(2).map((head) => head.dataset.column);
    const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const lines = [["controller", "calls", ...columns.flatMap((column) => kinds.map(([suffix]) => column + suffix))]];
    for (const row of body.rows) {
      const cells = [...row.cells];
      lines.push([quoted(cells[0].dataset.value), cells[1].dataset.value, ...cells.slice(2).flatMap((cell) => kinds.map(([, name]) => cell.dataset[name] ?? ""))]);
    }
    return lines.map((line) => line.join(",")).join("\n") + "\n";
  }

  async function copy(button) {
    const text = csv();
    let done = false;
    try { await navigator.clipboard.writeText(text); done = true; } catch {
      // A page opened from disk may not have the clipboard; a selection can still be copied.
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
    }
    const label = button.textContent;
    button.textContent = done ? "Copied" : "Could not copy";
    setTimeout(() => { button.textContent = label; }, 1600);
  }

  function start() {
    for (const one of document.querySelectorAll("table.means")) {
      headsOf(one).forEach((head, at) => head.querySelector("button").addEventListener("click", () => sort(one, at)));
    }
    document.getElementById("all-metrics").addEventListener("change", (event) => table.classList.toggle("all", event.target.checked));
    const button = document.getElementById("copy-csv");
    button.addEventListener("click", () => copy(button));
  }
  return { start, csv };
})();
