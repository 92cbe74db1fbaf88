// Figures: values of the marks, by pointer, touch or keyboard; zoom and movement. A point's marker, the
// lines and the letters keep their size on the screen while the places between them grow.
const tip = document.getElementById("tip");
const REACH = 24; // a finger's, in pixels of the screen
const MOST = 16; // times the figure's own size

function clamp(value, least, most) {
  return Math.min(Math.max(value, least), most);
}

function showTip(mark, x, y) {
  tip.textContent = mark.dataset.value;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${clamp(x + 14, 4, Math.max(4, window.innerWidth - width - 4))}px`;
  tip.style.top = `${y - height - 14 < 0 ? y + 18 : y - height - 14}px`;
}

function showTipAt(mark) {
  const box = mark.getBoundingClientRect();
  showTip(mark, box.right, box.top);
}

function hideTip() {
  tip.hidden = true;
}

// The styles of an SVG made to follow --shrink: 1 over the zoom.
function letShrink(svg) {
  const size = /(stroke-width|stroke-dasharray|font-size): ([^;]+)/g;
  const shrunk = (number) => `calc(${parseFloat(number)}px * var(--shrink))`;
  for (const element of svg.querySelectorAll("[style]:not(defs *):not(use)")) {
    const style = element.getAttribute("style");
    element.setAttribute("style", style.replace(size, (_, key, value) => `${key}: ${value.replace(/[\d.]+(px)?/g, shrunk)}`));
  }
  for (const marker of svg.querySelectorAll("defs > path")) marker.style.transform = "scale(var(--shrink))";
}

function overlap(first, second) {
  return first.x < second.x + second.width && second.x < first.x + first.width
    && first.y < second.y + second.height && second.y < first.y + first.height;
}

// Numbers of an axis that lie outside the view move to its edge while a panel that they serve is in view:
// their own, and those of the same column or row that have none.
function keepTicks(svg, view) {
  const panels = [...svg.querySelectorAll('g:has(> [id*="matplotlib.axis_"])')].map((panel) => ({
    frame: panel.querySelector("path").getBBox(),
    x: panel.querySelectorAll('[id*="xtick_"] > g:has(> text)'),
    y: panel.querySelectorAll('[id*="ytick_"] > g:has(> text)'),
  }));
  const pad = view.width / 100;
  for (const axis of ["x", "y"]) {
    for (const panel of panels) {
      const served = panels
        .filter((other) => other === panel || (!other[axis].length && Math.abs(other.frame[axis] - panel.frame[axis]) < 1))
        .map((other) => other.frame);
      const seen = served.some((frame) => overlap(frame, view));
      const top = Math.min(...served.map((frame) => frame.y));
      const end = Math.max(...served.map((frame) => frame.x + frame.width));
      for (const label of panel[axis]) {
        const { x, y, width, height } = label.getBBox();
        const right = seen && axis === "y" ? clamp(view.x + pad - x, 0, end - width - x) : 0;
        const down = seen && axis === "x" ? clamp(view.y + view.height - pad - y - height, top - y, 0) : 0;
        label.style.translate = `${right}px ${down}px`;
      }
    }
  }
}

// A button for each way to zoom, in the caption.
function addTools(svg, caption, actions) {
  const tools = document.createElement("span");
  tools.className = "tools";
  tools.setAttribute("role", "group");
  tools.setAttribute("aria-label", "Zoom");
  const buttons = Object.entries(actions).map(([label, [sign, act]]) => {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: sign, title: label, onclick: act });
    button.setAttribute("aria-label", label);
    button.setAttribute("aria-controls", svg.id);
    return button;
  });
  tools.append(...buttons);
  caption.prepend(tools);
  return buttons;
}

function setUpFigure(svg) {
  const { x, y, width, height } = svg.viewBox.baseVal;
  const home = { x, y, width, height };
  const pointers = new Map();
  let view = { ...home, scale: 1 };
  let places = null; // of the visible marks, in the figure's own units
  const zoomed = () => view.scale > 1;
  const focused = () => svg.querySelector(".mark:focus");
  const inFigure = (x, y) => new DOMPoint(x, y).matrixTransform(svg.getScreenCTM().inverse());
  const placeOf = (mark) => {
    const box = mark.getBoundingClientRect();
    return { mark, start: inFigure(box.left, box.top), end: inFigure(box.right, box.bottom) };
  };
  const middle = ({ start, end }) => ({ x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 });
  const centre = () => (focused() ? middle(placeOf(focused())) : { x: view.x + view.width / 2, y: view.y + view.height / 2 });

  const show = (x, y, wanted = view.scale) => {
    const scale = clamp(wanted, 1, MOST);
    const [width, height] = [home.width / scale, home.height / scale];
    const left = clamp(x, home.x, home.x + home.width - width);
    const top = clamp(y, home.y, home.y + home.height - height);
    view = { x: left, y: top, width, height, scale };
    if (!svg.style.getPropertyValue("--shrink")) letShrink(svg);
    svg.style.setProperty("--shrink", 1 / scale);
    svg.setAttribute("viewBox", `${left} ${top} ${width} ${height}`);
    svg.classList.toggle("zoomed", zoomed());
    [larger.disabled, smaller.disabled, whole.disabled] = [scale === MOST, !zoomed(), !zoomed()];
    keepTicks(svg, view);
    if (focused()) showTipAt(focused());
    else hideTip();
  };
  const zoom = (factor, at = centre()) => {
    const scale = clamp(view.scale * factor, 1, MOST);
    const kept = view.scale / scale;
    show(at.x - (at.x - view.x) * kept, at.y - (at.y - view.y) * kept, scale);
  };
  const move = (dx, dy) => show(view.x + dx, view.y + dy);
  const reset = () => show(home.x, home.y, 1);
  const [larger, smaller, whole] = addTools(svg, svg.closest("figure").querySelector("figcaption"), {
    "Zoom in": ["+", () => zoom(1.5)],
    "Zoom out": ["−", () => zoom(1 / 1.5)],
    "Show the whole figure": ["whole", reset],
  });
  smaller.disabled = whole.disabled = true;

  // The values
  const marks = [...svg.querySelectorAll(".mark")];
  for (const mark of marks) {
    const title = mark.querySelector("title");
    mark.dataset.value = title.textContent;
    title.remove(); // else the browser shows its own after a while
  }
  const visible = () => marks.filter((mark) => mark.getClientRects().length);
  const pixel = () => 1 / svg.getScreenCTM().a;
  const nearest = (at) => {
    places ??= visible().map(placeOf);
    let best = null;
    let least = REACH * pixel();
    for (const { mark, start, end } of places) {
      const beside = Math.hypot(Math.max(start.x - at.x, 0, at.x - end.x), Math.max(start.y - at.y, 0, at.y - end.y));
      const distance = beside + Math.hypot(start.x + end.x - 2 * at.x, start.y + end.y - 2 * at.y) / 1000;
      if (distance < least) [best, least] = [mark, distance];
    }
    return best;
  };
  const point = (event) => {
    const mark = nearest(inFigure(event.clientX, event.clientY));
    if (mark) showTip(mark, event.clientX, event.clientY);
    else hideTip();
  };
  const focusOn = (mark) => {
    mark.setAttribute("tabindex", "-1");
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", mark.dataset.value);
    const at = middle(placeOf(mark));
    const outside = at.x < view.x || at.x > view.x + view.width || at.y < view.y || at.y > view.y + view.height;
    if (outside) show(at.x - view.width / 2, at.y - view.height / 2);
    mark.focus({ preventScroll: true });
    mark.scrollIntoView({ block: "nearest", inline: "nearest" });
    showTipAt(mark);
  };
  const series = (mark) => `${mark.parentElement.id} ${mark.dataset.interconnect ?? ""}`;
  const step = (by, toOther) => {
    const all = visible();
    const from = all.indexOf(document.activeElement);
    let to = from < 0 && by < 0 ? all.length - 1 : from + by;
    while (toOther && all[from] && all[to] && series(all[to]) === series(all[from])) to += by;
    if (all[to]) focusOn(all[to]);
  };

  // The ways to use them
  const keys = {
    "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), 0: reset, Escape: hideTip,
    ArrowRight: () => step(1), ArrowLeft: () => step(-1),
    ArrowDown: () => step(1, true), ArrowUp: () => step(-1, true),
  };
  const moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const [across, down] = (event.shiftKey && moves[event.key]) || [];
    if (across !== undefined) move((across * view.width) / 8, (down * view.height) / 8);
    else if (keys[event.key]) keys[event.key]();
    else return;
    event.preventDefault();
  });
  svg.addEventListener("focusout", hideTip);
  svg.addEventListener("wheel", (event) => {
    const wanted = event.ctrlKey || event.metaKey || svg.contains(document.activeElement);
    if (!wanted || (event.deltaY > 0 && !zoomed())) return; // the page scrolls
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 16 : 1) / 400), inFigure(event.clientX, event.clientY));
  }, { passive: false });
  svg.addEventListener("mousedown", (event) => event.preventDefault()); // no selection of letters
  svg.addEventListener("dblclick", (event) => zoom(event.shiftKey ? 0.5 : 2, inFigure(event.clientX, event.clientY)));
  svg.addEventListener("pointerdown", (event) => {
    svg.focus({ preventScroll: true });
    pointers.set(event.pointerId, event);
    svg.setPointerCapture(event.pointerId);
    point(event);
  });
  svg.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return point(event);
    const [from, to] = [before, event].map((one) => inFigure(one.clientX, one.clientY));
    const other = [...pointers.values()].find((one) => one.pointerId !== event.pointerId);
    if (other) {
      const still = inFigure(other.clientX, other.clientY);
      zoom(Math.hypot(to.x - still.x, to.y - still.y) / Math.hypot(from.x - still.x, from.y - still.y), still);
    } else if (zoomed() && (to.x !== from.x || to.y !== from.y)) {
      move(from.x - to.x, from.y - to.y);
    }
    pointers.set(event.pointerId, event);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    svg.addEventListener(end, (event) => pointers.delete(event.pointerId));
  }
  svg.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") hideTip();
  });
  document.addEventListener("filtered", () => { places = null; });
  window.addEventListener("beforeprint", reset);
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("role", "application");
  svg.setAttribute("aria-roledescription", "figure");
  svg.setAttribute("aria-describedby", "keys");
}

for (const svg of document.querySelectorAll(".drawing svg")) setUpFigure(svg);
window.addEventListener("scroll", () => {
  const mark = document.activeElement.closest(".mark");
  if (mark && !tip.hidden) showTipAt(mark);
  else hideTip();
}, { capture: true, passive: true });
document.addEventListener("pointerdown", (event) => {
  if (!event.target.closest(".drawing")) hideTip();
});
