"use strict";

// Filters: what belongs to a case or an interconnect that is not ticked is hidden. A figure or
// section of no case, and a row of no interconnect, always stay.
const form = document.getElementById("filters");

function ticked(name) {
  return new Set([...form.querySelectorAll(`input[name="${name}"]:checked`)].map((box) => box.value));
}

function applyFilters() {
  const cases = ticked("case");
  const interconnects = ticked("interconnect");
  for (const element of document.querySelectorAll("[data-case], [data-interconnect]")) {
    const { case: ofCase = "", interconnect = "" } = element.dataset;
    const shown = (!ofCase || cases.has(ofCase)) && (!interconnect || interconnects.has(interconnect));
    if (element instanceof SVGElement) {
      element.style.display = shown ? "" : "none";
    } else {
      element.hidden = !shown;
    }
  }
  for (const group of document.querySelectorAll("tbody")) {
    group.hidden = ![...group.rows].some((row) => !row.hidden && !row.classList.contains("group"));
  }
}

form.addEventListener("change", applyFilters);
form.addEventListener("reset", () => setTimeout(applyFilters));
applyFilters();

// Tables: a click on the head of a column sorts by it, within each group of rows.
function sortKey(row, place) {
  const text = row.cells[place].textContent.trim();
  const number = parseFloat(text.replace(/[\s\u202f]/g, "").replace(/^−/, "-").replace(/^[+<]/, ""));
  return { text, number };
}

function compare(first, second) {
  const numbers = !Number.isNaN(first.number) && !Number.isNaN(second.number);
  return numbers ? first.number - second.number : first.text.localeCompare(second.text, "en", { numeric: true });
}

for (const head of document.querySelectorAll("thead th")) {
  head.addEventListener("click", () => {
    const place = head.cellIndex;
    const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    for (const group of head.closest("table").tBodies) {
      const rows = [...group.rows].filter((row) => !row.classList.contains("group"));
      const keyed = rows.map((row) => [sortKey(row, place), row]);
      keyed.sort(([first], [second]) => sign * compare(first, second));
      group.append(...keyed.map(([, row]) => row));
    }
  });
}

// Figures: the values of the mark nearest to the pointer, within a finger's reach.
const tip = document.getElementById("tip");
const REACH = 24;

for (const title of document.querySelectorAll(".mark > title")) {
  title.parentElement.dataset.value = title.textContent;
  title.remove(); // else the browser shows its own after a while
}

function nearest(svg, x, y) {
  let best = null;
  let least = REACH;
  for (const mark of svg.querySelectorAll(".mark")) {
    const box = mark.getBoundingClientRect();
    const across = Math.max(box.left - x, 0, x - box.right);
    const along = Math.max(box.top - y, 0, y - box.bottom);
    const distance = Math.hypot(across, along) + Math.hypot(box.left + box.right - 2 * x, box.top + box.bottom - 2 * y) / 1000;
    if (box.width && distance < least) {
      best = mark;
      least = distance;
    }
  }
  return best;
}

for (const svg of document.querySelectorAll(".drawing svg")) {
  const show = (event) => {
    const mark = nearest(svg, event.clientX, event.clientY);
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.value;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - width - 4)}px`;
    tip.style.top = `${event.clientY - height - 14 < 0 ? event.clientY + 18 : event.clientY - height - 14}px`;
  };
  svg.addEventListener("pointermove", show);
  svg.addEventListener("pointerdown", show);
  svg.addEventListener("pointerleave", () => { tip.hidden = true; });
}
