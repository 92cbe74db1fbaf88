// The explorer looks up values of the tables, interpolates between counts and multiplies by prices. It computes no
// statistics. A triple is a value with the ends of its range. `known` is the data of analysis/report/explore.py.
const choice = document.getElementById("explore-choice");
const HOURS_A_YEAR = 8766;
const SECONDS_A_DAY = 86400;

// The smallest count on the rising branch that reaches a target, interpolated linearly. Infinity if none does,
// -Infinity if the first count exceeds the target, NaN if a speedup is unknown.
function reaches(counts, speedups, target) {
  if (Number.isNaN(target) || speedups.some((speedup) => speedup === null)) return NaN;
  const at = speedups.findIndex((speedup) => speedup >= target);
  if (at < 0) return Infinity;
  if (at === 0) return speedups[0] > target ? -Infinity : counts[0];
  return between(speedups.slice(at - 1, at + 1), counts.slice(at - 1, at + 1), target);
}

// Whole nodes for an interpolated number of processes; below the first count, one node if that count uses one.
function wholeNodes(counts, nodes, processes) {
  if (Number.isNaN(processes) || nodes.some((count) => count === null)) return NaN;
  if (processes === -Infinity) return nodes[0] === 1 ? 1 : NaN;
  if (processes === Infinity) return Infinity;
  return Math.ceil(between(counts, nodes, processes) - 1e-9);
}

// A linearly interpolated value; NaN outside the given values.
function between(places, values, at) {
  const next = places.findIndex((place) => place >= at);
  if (next < 0 || (next === 0 && places[0] > at)) return NaN;
  if (places[next] === at) return values[next];
  return values[next - 1] + ((values[next] - values[next - 1]) * (at - places[next - 1])) / (places[next] - places[next - 1]);
}

function typed(name) {
  const text = choice.elements[name]?.value;
  return text ? Number(text) : null;
}

const column = (curve, name) => curve.points.map((point) => point[name]);
const nodesOf = (point) => point.nodes ?? (typed("each") && Math.ceil(point.processes / typed("each")));

// Price of a cluster with the range of the interconnect's price; null if a price is unknown.
function clusterPrice(curve, nodes, end) {
  const [node, port] = [typed("node") ?? known.node, typed(`port ${curve.interconnect}`)];
  const listed = known.ports[curve.interconnect]?.findLast(([from]) => from <= nodes)?.[end + 1] ?? null;
  const share = port === null ? listed : nodes > 1 ? port : 0;
  return node === null || share === null || !Number.isFinite(nodes) ? null : nodes * (node + share);
}

function runPrice(curve, nodes, seconds, end) {
  const [years, watts, energy, price] = [typed("years"), typed("watts"), typed("energy"), clusterPrice(curve, nodes, end)];
  const owned = years ? price / (years * HOURS_A_YEAR) : 0;
  const powered = watts && energy ? (nodes * watts * energy) / 1000 : 0;
  const known = (owned || powered) && (!years || price !== null) && Number.isFinite(nodes) && seconds;
  return known ? ((owned + powered) * seconds) / 3600 : null;
}

const priceOf = (curve, point) =>
  ["", "_low", "_high"].map((end, place) => runPrice(curve, nodesOf(point), point[`seconds${end}`], place));

// The fastest point of the tables that meets a condition.
function fastest(curve, holds = () => true) {
  return curve.points.filter(holds).reduce((best, point) => (best && best.speedup >= point.speedup ? best : point), null);
}

// The fastest point on at most a number of nodes, interpolated linearly between the counts.
function atHand(curve, hand) {
  const inside = fastest(curve, (point) => nodesOf(point) && nodesOf(point) <= hand);
  const next = curve.points.findIndex((point) => nodesOf(point) > hand);
  if (next < 1 || !inside) return inside;
  const ends = curve.points.slice(next - 1, next + 1);
  const lines = ["processes", "speedup", "speedup_low", "speedup_high"].map((name) => {
    const values = ends.map((point) => point[name] ?? NaN);
    return [name, between(ends.map(nodesOf), values, hand)];
  });
  const point = Object.fromEntries(lines);
  return point.speedup > inside.speedup ? point : inside;
}

// The processes, nodes and price that a curve needs for a target, as triples.
function needs(curve, target, value) {
  const found = { curve, at_hand: typed("hand") && atHand(curve, typed("hand")) };
  const [counts, nodes] = [column(curve, "processes"), curve.points.map(nodesOf)];
  if (target === "price") {
    found.point = fastest(curve, (point) => priceOf(curve, point)[0] !== null && priceOf(curve, point)[0] <= value);
    found.speedup = found.point?.speedup ?? NaN;
    found.processes = [found.point?.processes ?? NaN, NaN, NaN];
  } else {
    found.speedup = wanted(curve, target, value);
    found.processes = ["", "_high", "_low"].map((end) => reaches(counts, column(curve, `speedup${end}`), found.speedup));
  }
  found.nodes = found.processes.map((count) => wholeNodes(counts, nodes, count));
  found.price = found.nodes.map((count, end) => clusterPrice(curve, count, end));
  found.run = found.point ? priceOf(curve, found.point) : found.nodes.map((count, end) => runPrice(curve, count, curve.reference / found.speedup, end));
  return found;
}

const say = (sentence, values) => sentence.replace(/{(\w+)}/g, (_, name) => values[name]);

function written(value, digits = 3) {
  if (Math.abs(value) === Infinity) return value > 0 ? "∞" : "−∞";
  const places = clamp(digits - 1 - Math.floor(Math.log10(Math.abs(value) || 1)), 0, 20);
  return value.toLocaleString("en", { maximumFractionDigits: places }).replaceAll(",", "\u202f").replace("-", "−");
}

function triple([value, ...ends], digits) {
  if (value === null || !Number.isFinite(value)) return "";
  const range = ends.some((end) => end === null || Number.isNaN(end)) ? "" : ` [${ends.map((end) => written(end, digits)).join(",\u00a0")}]`;
  return written(value, digits) + range;
}

const speedupOf = (point) => triple([point.speedup, point.speedup_low, point.speedup_high]);

// Whether messages use the interconnect at a count; otherwise the interconnect saves nothing.
const uses = ({ curve, processes: [count] }) => Number.isFinite(count) && count > curve.unused;

// The saving of a curve against the baseline, with the ranges of the node equivalents of the tables.
function saved({ curve, processes }, baseline) {
  const { curves, equivalents } = chosen();
  const [first, second] = [baseline.curve, curve].map((one) => curves.indexOf(one));
  const listed = equivalents.filter(([one, other]) => one === first && other === second);
  const places = listed.map((row) => row[2]);
  const ends = [3, 4].map((end) => between(places, listed.map((row) => Number(row[end] ?? NaN)), baseline.processes[0]));
  const equivalent = [processes[0], ...ends];
  const nodes = equivalent.map((count) => wholeNodes(column(curve, "processes"), curve.points.map(nodesOf), count));
  const price = nodes.map((count, end) => (count === Infinity ? count : clusterPrice(curve, count, end) ?? NaN));
  const less = (whole, [value, low, high]) => [whole - value, whole - high, whole - low];
  return {
    processes_saved: triple(less(baseline.processes[0], equivalent)),
    nodes_saved: triple(less(baseline.nodes[0], nodes)),
    price_saved: triple(less(baseline.price[0] ?? NaN, price), 4),
  };
}

// The texts about a curve, by column.
function told(found, baseline) {
  const { curve, at_hand, processes, nodes } = found;
  const texts = { processes: triple(processes), nodes: triple(nodes), price: triple(found.price, 4), run: triple(found.run) };
  const best = fastest(curve);
  if (processes[0] === Infinity) texts.processes = say(known.words.beyond, { processes: best.processes, speedup: written(best.speedup) });
  if (processes[0] === -Infinity) texts.processes = say(known.words.below, { processes: best && curve.points[0].processes });
  if (Number.isNaN(processes[0])) texts.processes = known.words.unknown;
  if (typed("hand") && Number.isFinite(nodes[0]) && nodes[0] > typed("hand")) texts.nodes += ` (${known.words.over})`;
  if (typed("hand")) texts.at_hand = at_hand ? say(known.words.reached, { processes: written(at_hand.processes), speedup: speedupOf(at_hand) }) : known.words.none;
  if (found.point) texts.speedup = speedupOf(found.point);
  else if (found !== baseline && [found, baseline].every(uses)) Object.assign(texts, saved(found, baseline));
  return texts;
}

function put(parent, name, attributes) {
  const element = parent.appendChild(document.createElementNS(parent.namespaceURI, name));
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
}

// The texts of the rows of the chosen panel, without empty columns.
function fillTable(texts) {
  const table = document.getElementById("explore-needed");
  const rows = table.tBodies[choice.elements.panel.value].rows;
  for (const [place, name] of Object.keys(known.columns).entries()) {
    texts.forEach((told, number) => { rows[number].cells[place + 1].textContent = told[name] ?? ""; });
    for (const row of table.rows) row.cells[place + 1].hidden = !texts.some((told) => told[name]);
  }
}

// The marks in the chart of the chosen panel: targets, the points that reach them, and nodes at hand.
function markChart(all) {
  const chart = document.querySelector("svg[data-panel]:not([hidden])");
  const [x, y] = chosen().axes.map(([low, high]) => (value) => (100 * (Math.log2(value) - low)) / (high - low || 1));
  const across = (count) => `${count > 0 ? clamp(x(count), 0, 100) : 0}%`;
  const up = (speedup) => `${100 - y(speedup)}%`;
  for (const old of chart.querySelectorAll(".asked")) old.remove();
  all.forEach(({ processes, speedup, at_hand }, place) => {
    const group = chart.querySelectorAll("g")[place];
    const at = up(speedup);
    if (y(speedup) >= 0 && y(speedup) <= 100) put(group, "line", { class: "asked target", x2: "100%", y1: at, y2: at });
    if (Number.isFinite(processes[0])) {
      const [needed, from, to] = processes.map(across);
      put(group, "line", { class: "asked drop", x1: needed, x2: needed, y1: at, y2: "100%" });
      if (!processes.some(Number.isNaN)) put(group, "line", { class: "asked range", x1: from, x2: to, y1: at, y2: at });
      put(group, "rect", { class: "asked needed", x: needed, y: at, width: 10, height: 10 });
    }
    if (at_hand) put(group, "circle", { class: "asked hand", cx: across(at_hand.processes), cy: up(at_hand.speedup), r: 9 });
  });
}

const chosen = () => known.panels[choice.elements.panel.value];

// A target that the baseline just reaches.
function fallback(target, baseline) {
  const best = fastest(baseline);
  const seconds = baseline.reference / best.speedup;
  return { speedup: best.speedup, seconds, runs: SECONDS_A_DAY / seconds, price: priceOf(baseline, best)[0] ?? NaN }[target];
}

// The speedup that a target asks of a curve, to the digits that the points have.
function wanted(curve, target, value) {
  const speedup = { speedup: value, seconds: curve.reference / value, runs: (value * curve.reference) / SECONDS_A_DAY }[target];
  return Number(speedup.toPrecision(12));
}

function explore() {
  const { name, curves } = chosen();
  const [target, against] = [choice.elements.target.value, curves[choice.elements.baseline.value]];
  const usual = fallback(target, against);
  choice.elements.value.placeholder = Number.isNaN(usual) ? "" : written(usual, 4);
  const value = typed("value") ?? usual;
  const all = curves.map((curve) => needs(curve, target, value));
  const baseline = all[curves.indexOf(against)];
  fillTable(all.map((found) => told(found, baseline)));
  markChart(all);
  const asked = Number.isNaN(value) ? [] : [say(known.words.asked, { name, target: known.targets[target], value: written(value, 4) })];
  if (target !== "price" && known.words.same) {
    const seconds = against.reference / baseline.speedup;
    asked.push(say(known.words.same, { speedup: written(baseline.speedup), seconds: written(seconds), runs: written(SECONDS_A_DAY / seconds) }));
  }
  document.getElementById("explore-asked").textContent = asked.join(" ");
  applyFilters();
}

function showPanel() {
  const { curves, baseline } = chosen();
  const list = choice.elements.baseline;
  list.replaceChildren(...curves.map(({ title }, place) => new Option(title, place)));
  list.value = list.dataset.usual = baseline;
  for (const one of document.querySelectorAll("[data-panel]")) {
    one.toggleAttribute("hidden", one.dataset.panel !== choice.elements.panel.value);
  }
  explore();
}

function recall() {
  const said = addressed();
  if (!said) return;
  const fill = (one) => { one.value = said.get(one.name) ?? one.dataset.usual ?? ""; };
  fill(choice.elements.panel);
  showPanel();
  for (const one of choice.elements) if (one.name) fill(one);
  explore();
  document.getElementById("explore").scrollIntoView();
}

choice.addEventListener("submit", (event) => event.preventDefault());
for (const kind of ["input", "change"]) {
  choice.addEventListener(kind, (event) => (event.target.name === "panel" ? showPanel : explore)());
}
choice.addEventListener("reset", () => setTimeout(showPanel));
document.addEventListener("filtered", () => { document.getElementById("explore-sent").href = address(); });
window.addEventListener("hashchange", recall);
if (location.hash.startsWith(PLACE)) recall();
else showPanel();
