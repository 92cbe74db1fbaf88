"use strict";

// Filters: what belongs to a case or an interconnect that is not ticked is hidden. A figure or
// section of no case, and a row of no interconnect, always stay.
const form = document.getElementById("filters");

const boxes = (name) => [...form.querySelectorAll(`input[name="${name}"]`)];
const ticked = (name) => new Set(boxes(name).filter((box) => box.checked).map((box) => box.value));

function sayWhatIsShown() {
  const parts = ["case", "interconnect"].map((name) => [ticked(name).size, boxes(name).length, `${name}s`]);
  const all = parts.every(([shown, known]) => shown === known);
  const said = parts.map(([shown, known, what]) => `${shown} of ${known} ${what}`).join(" and ");
  document.getElementById("shown").textContent = all ? "" : `Shown are ${said}; the sentences speak of all.`;
}

function applyFilters() {
  const cases = ticked("case");
  const interconnects = ticked("interconnect");
  for (const element of document.querySelectorAll("[data-case], [data-interconnect]")) {
    const { case: ofCase = "", interconnect = "" } = element.dataset;
    const shown = (!ofCase || cases.has(ofCase)) && (!interconnect || interconnects.has(interconnect));
    if (element.matches(".panel")) {
      element.classList.toggle("out", !shown); // its axis may carry the names for the whole row
    } else if (element instanceof SVGElement) {
      element.style.display = shown ? "" : "none";
    } else {
      element.hidden = !shown;
    }
  }
  for (const figure of document.querySelectorAll("figure:has(.panel)")) {
    figure.hidden = !figure.querySelector(".panel:not(.out)");
  }
  for (const group of document.querySelectorAll("tbody")) {
    group.hidden = ![...group.rows].some((row) => !row.hidden && !row.classList.contains("group"));
  }
  sayWhatIsShown();
  document.dispatchEvent(new Event("filtered"));
}

for (const button of form.querySelectorAll("button[data-all]")) {
  button.addEventListener("click", () => {
    const ticks = ticked(button.dataset.all).size === 0;
    for (const box of boxes(button.dataset.all)) box.checked = ticks;
    applyFilters();
  });
}
form.addEventListener("change", applyFilters);
form.addEventListener("reset", () => setTimeout(applyFilters));

// What is chosen is in the address, as far as it differs from the page as it was made: it can be sent, and a page
// that loads itself anew keeps it.
const PLACE = "#explore?";
function address() {
  const said = new URLSearchParams();
  const fields = document.getElementById("explore-choice")?.elements ?? [];
  for (const one of fields) if (one.name && one.value !== (one.dataset.usual ?? "")) said.append(one.name, one.value);
  for (const box of form.querySelectorAll("input:not(:checked)")) said.append(`without ${box.name}`, box.value);
  return `${PLACE}${said}`;
}

function remember() {
  if (address() !== PLACE || location.hash.startsWith(PLACE)) history.replaceState(null, "", address());
}

function addressed() {
  const said = location.hash.startsWith(PLACE) ? new URLSearchParams(location.hash.slice(PLACE.length)) : null;
  const without = (box) => said?.getAll(`without ${box.name}`).includes(box.value);
  for (const box of said ? form.querySelectorAll("input") : []) box.checked = !without(box);
  return said;
}

addressed();
applyFilters();
document.addEventListener("filtered", remember);

// On a narrow screen contents and filters are above the answer: they are closed.
const wide = matchMedia("(min-width: 68rem)");
function fold() {
  for (const one of document.querySelectorAll("nav details")) one.open = wide.matches;
}
wide.addEventListener("change", fold);
fold();

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
