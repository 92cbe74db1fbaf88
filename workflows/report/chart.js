// The chart of what is explored: speedups with their bands on logarithmic axes, the target, what reaches it, what
// is at hand. It is drawn anew, in pixels of the screen, for each choice.
const [HEIGHT, LEFT, RIGHT, BOTTOM, GAP] = [300, 38, 24, 38, 26];

function logAxis(values, from, to) {
  const [low, high] = [Math.min(...values), Math.max(...values)].map(Math.log2);
  return (value) => from + ((clamp(Math.log2(value), low, high) - low) / (high - low || 1)) * (to - from);
}

function drawAxes(svg, counts, speedups, x, y, width) {
  const label = (at, down, anchor, text) => put(svg, "text", { x: at, y: down, "text-anchor": anchor }, text);
  let last = -Infinity;
  for (const count of [...new Set(counts)].sort((first, second) => first - second)) {
    put(svg, "path", { class: "grid", d: `M${x(count)} ${HEIGHT - BOTTOM}V16` });
    if (x(count) - last > GAP) label((last = x(count)), HEIGHT - BOTTOM + 15, "middle", count);
  }
  const [lowest, highest] = [Math.min(...speedups), Math.max(...speedups)].map(Math.log2);
  for (let power = Math.ceil(lowest); power <= highest; power += Math.ceil((highest - lowest) / 7) || 1) {
    put(svg, "path", { class: "grid", d: `M${LEFT} ${y(2 ** power)}H${width - RIGHT}` });
    label(LEFT - 5, y(2 ** power) + 4, "end", written(2 ** power));
  }
  label((LEFT + width - RIGHT) / 2, HEIGHT - 5, "middle", known.words.across);
  label(2, 10, "start", known.words.up);
}

function drawCurve(svg, { curve, processes, speedup, at_hand }, x, y) {
  const group = put(svg, "g", { "data-interconnect": curve.interconnect, class: curve.kind, style: `--own: ${curve.colour}` });
  const places = (points, name) => points.map((point) => `${x(point.processes)} ${y(point[name])}`);
  const banded = curve.points.filter((point) => point.speedup_low > 0 && point.speedup_high > 0);
  const edges = [...places(banded, "speedup_high"), ...places(banded.toReversed(), "speedup_low")];
  if (banded.length > 1) put(group, "path", { class: "band", d: `M${edges.join("L")}Z` });
  put(group, "path", { class: "line", d: `M${places(curve.points, "speedup").join("L")}` });
  for (const point of curve.points) {
    const dot = put(group, "circle", { cx: x(point.processes), cy: y(point.speedup), r: 3.5 });
    const values = { name: curve.title, processes: point.processes, seconds: written(point.seconds), speedup: speedupOf(point) };
    put(dot, "title", {}, say(known.words.point, values));
  }
  if (Number.isFinite(processes[0])) {
    const [at, from, to] = processes.map((count) => x(clamp(count, 1e-9, 1e9)));
    put(group, "path", { class: "drop", d: `M${at} ${y(speedup)}V${HEIGHT - BOTTOM}` });
    if (!processes.some(Number.isNaN)) put(group, "path", { class: "range", d: `M${from} ${y(speedup)}H${to}` });
    put(group, "rect", { class: "needed", x: at - 5, y: y(speedup) - 5, width: 10, height: 10 });
  }
  if (at_hand) put(group, "circle", { class: "hand", cx: x(at_hand.processes), cy: y(at_hand.speedup), r: 9 });
  return group;
}

// Numbers of the table's rows at the ends of the curves, none over another.
function drawNumbers(groups, all, x, y) {
  const ends = all.map(({ curve }, place) => ({ group: groups[place], number: place + 1, point: curve.points.at(-1) }));
  let down = -Infinity;
  for (const { group, number, point } of ends.sort((first, second) => second.point.speedup - first.point.speedup)) {
    down = Math.max(y(point.speedup) + 4, down + 13);
    put(group, "text", { x: x(point.processes) + 8, y: down }, number);
  }
}

function drawChart(all) {
  const place = document.getElementById("explore-chart");
  const width = Math.max(place.clientWidth, 240);
  const points = all.flatMap(({ curve }) => curve.points);
  const asked = all.map(({ speedup }) => speedup).filter((speedup) => speedup > 0 && speedup < Infinity);
  const ends = points.flatMap((point) => [point.speedup, point.speedup_low, point.speedup_high]);
  const speedups = [...ends, ...asked].filter((speedup) => speedup > 0);
  const counts = points.map((point) => point.processes);
  const x = logAxis(counts, LEFT + 6, width - RIGHT - 6);
  const y = logAxis(speedups, HEIGHT - BOTTOM - 6, 22);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  place.replaceChildren(svg);
  drawAxes(svg, counts, speedups, x, y, width);
  for (const speedup of new Set(asked)) put(svg, "path", { class: "target", d: `M${LEFT} ${y(speedup)}H${width - RIGHT}` });
  drawNumbers(all.map((found) => drawCurve(svg, found, x, y)), all, x, y);
}
