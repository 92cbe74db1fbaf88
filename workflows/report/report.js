"use strict";

// Filters: elements of a case or an interconnect that is not ticked are out. Sections without a case and rows
// without an interconnect always stay. report.css hides elements that are out or have no other content.
const form = document.getElementById("filters");
const boxes = (name) => [...form.querySelectorAll(`input[name="${name}"]`)];
const ticked = (name) => new Set(boxes(name).filter((box) => box.checked).map((box) => box.value));

function applyFilters() {
  const [cases, interconnects] = ["case", "interconnect"].map(ticked);
  for (const element of document.querySelectorAll("[data-case], [data-interconnect]")) {
    const { case: ofCase, interconnect } = element.dataset;
    const shown = (!ofCase || cases.has(ofCase)) && (!interconnect || interconnects.has(interconnect));
    element.classList.toggle("out", !shown);
  }
  const said = ["case", "interconnect"].map((name) => `${ticked(name).size} of ${boxes(name).length} ${name}s`);
  const all = !form.querySelector("input:not(:checked)");
  document.getElementById("shown").textContent = all ? "" : `The page shows ${said.join(" and ")}. Sentences describe all.`;
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

// The address holds the choices that differ from the defaults, so that it can be shared and survives a reload.
const PLACE = "#explore?";
function address() {
  const said = new URLSearchParams();
  const fields = document.getElementById("explore-choice")?.elements ?? [];
  for (const one of fields) if (one.name && one.value !== (one.dataset.usual ?? "")) said.append(one.name, one.value);
  for (const box of form.querySelectorAll("input:not(:checked)")) said.append(`without ${box.name}`, box.value);
  return `${PLACE}${said}`;
}

function addressed() {
  if (!location.hash.startsWith(PLACE)) return null;
  const said = new URLSearchParams(location.hash.slice(PLACE.length));
  for (const box of form.querySelectorAll("input")) box.checked = !said.has(`without ${box.name}`, box.value);
  return said;
}

addressed();
applyFilters();
document.addEventListener("filtered", () => {
  if (address() !== PLACE || location.hash.startsWith(PLACE)) history.replaceState(null, "", address());
});

// On a narrow screen, contents and filters are above the answer, and start closed.
const wide = matchMedia("(min-width: 68rem)");
wide.onchange = () => { for (const one of document.querySelectorAll("nav details")) one.open = wide.matches; };
wide.onchange();

// Tables: a click on the head of a column sorts by it, within each group of rows.
const numberOf = (text) => parseFloat(text.replace(/[\s\u202f]/g, "").replace(/^−/, "-").replace(/^[+<]/, ""));
const compare = (first, second) =>
  numberOf(first) - numberOf(second) || first.localeCompare(second, "en", { numeric: true });

for (const head of document.querySelectorAll("thead th:has(button)")) {
  head.addEventListener("click", () => {
    const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const textOf = (row) => row.cells[head.cellIndex].textContent.trim();
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    for (const group of head.closest("table").tBodies) {
      const rows = [...group.rows].filter((row) => !row.classList.contains("group"));
      group.append(...rows.sort((first, second) => sign * compare(textOf(first), textOf(second))));
    }
  });
}
