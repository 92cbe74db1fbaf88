// Figures: hover texts by pointer, touch or keyboard, and zoom. Markers, lines and texts keep their size on the
// screen when a figure is enlarged.
const tip = document.getElementById("tip");
const REACH = 24; // a finger's, in pixels of the screen
const MOST = 16; // times the figure's own size
const POINT = '[id*="PathCollection"] :not(defs) > path'; // a marker that is drawn where it stands

const clamp = (value, least, most) => Math.min(Math.max(value, least), most);
const hideTip = () => { tip.hidden = true; };

function showTip(mark, x = mark.getBoundingClientRect().right, y = mark.getBoundingClientRect().top) {
  tip.textContent = mark.dataset.value;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${clamp(x + 14, 4, Math.max(4, window.innerWidth - width - 4))}px`;
  tip.style.top = `${y - height - 14 < 0 ? y + 18 : y - height - 14}px`;
}

// Makes the styles of an SVG follow --shrink, the inverse of the zoom.
function letShrink(svg) {
  const size = /(stroke-width|stroke-dasharray|font-size): ([^;]+)/g;
  const shrunk = (_, key, value) => `${key}: ${value.replace(/([\d.]+)(px)?/g, "calc($1px * var(--shrink))")}`;
  for (const element of svg.querySelectorAll(`[style]:not(defs *):not(use):not(${POINT})`)) {
    element.setAttribute("style", element.getAttribute("style").replace(size, shrunk));
  }
  for (const marker of svg.querySelectorAll(`defs > path, ${POINT}`)) marker.style.transform = "scale(var(--shrink))";
  for (const marker of svg.querySelectorAll(POINT)) {
    [marker.style.transformBox, marker.style.transformOrigin] = ["fill-box", "center"];
  }
}

// Moves the labels of an axis that is outside the view to the edge of the view. They stay within their panel and
// the panels of the same column or row without labels.
function keepTicks(svg, view) {
  const panels = [...svg.querySelectorAll('g:has(> [id*="matplotlib.axis_"])')].map((panel) => ({
    frame: panel.querySelector("path").getBBox(),
    x: panel.querySelectorAll('[id*="xtick_"] > g:has(> text)'),
    y: panel.querySelectorAll('[id*="ytick_"] > g:has(> text)'),
  }));
  const pad = view.width / 100;
  for (const own of panels) {
    const served = (axis) => panels.filter((other) =>
      other === own || (!other[axis].length && Math.abs(other.frame[axis] - own.frame[axis]) < 1));
    const top = Math.min(...served("x").map(({ frame }) => frame.y));
    const end = Math.max(...served("y").map(({ frame }) => frame.x + frame.width));
    for (const label of own.x) {
      const { y, height } = label.getBBox();
      label.style.translate = `0px ${clamp(view.y + view.height - pad - y - height, top - y, 0)}px`;
    }
    for (const label of own.y) {
      const { x, width } = label.getBBox();
      label.style.translate = `${clamp(view.x + pad - x, 0, end - width - x)}px`;
    }
  }
}

function setUpFigure(svg) {
  const { x: left, y: top, width, height } = svg.viewBox.baseVal;
  const [larger, smaller, whole] = svg.closest("figure").querySelectorAll(".tools button");
  const marks = [...svg.querySelectorAll(".mark")];
  const pointers = new Map();
  let view = { x: left, y: top, width, height, scale: 1 };
  const focused = () => svg.querySelector(".mark:focus");
  const inFigure = (x, y) => new DOMPoint(x, y).matrixTransform(svg.getScreenCTM().inverse());
  const placeOf = ({ clientX, clientY }) => inFigure(clientX, clientY);
  const middle = (mark) => {
    const box = mark.getBoundingClientRect();
    return inFigure(box.x + box.width / 2, box.y + box.height / 2);
  };
  const centre = () => (focused() ? middle(focused()) : { x: view.x + view.width / 2, y: view.y + view.height / 2 });

  const show = (x, y, scale = view.scale) => {
    view = { width: width / scale, height: height / scale, scale };
    view.x = clamp(x, left, left + width - view.width);
    view.y = clamp(y, top, top + height - view.height);
    if (!svg.style.getPropertyValue("--shrink")) letShrink(svg);
    svg.style.setProperty("--shrink", 1 / scale);
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
    svg.classList.toggle("zoomed", scale > 1);
    [larger.disabled, smaller.disabled, whole.disabled] = [scale === MOST, scale === 1, scale === 1];
    keepTicks(svg, view);
    if (focused()) showTip(focused());
    else hideTip();
  };
  const zoom = (factor, at = centre()) => {
    const scale = clamp(view.scale * factor, 1, MOST);
    const kept = view.scale / scale;
    show(at.x - (at.x - view.x) * kept, at.y - (at.y - view.y) * kept, scale);
  };
  const reset = () => show(left, top, 1);
  larger.onclick = () => zoom(1.5);
  smaller.onclick = () => zoom(1 / 1.5);
  whole.onclick = reset;

  // Hover texts
  for (const mark of marks) {
    const title = mark.querySelector("title");
    mark.dataset.value = title.textContent;
    title.remove(); // else the browser shows its own after a while
  }
  const visible = () => marks.filter((mark) => mark.getClientRects().length);
  const point = ({ clientX: x, clientY: y }) => {
    let [nearest, least] = [null, REACH];
    for (const mark of visible()) {
      const { left, right, top, bottom } = mark.getBoundingClientRect();
      const beside = Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
      const distance = beside + Math.hypot(left + right - 2 * x, top + bottom - 2 * y) / 1000;
      if (distance < least) [nearest, least] = [mark, distance];
    }
    if (nearest) showTip(nearest, x, y);
    else hideTip();
  };
  const focusOn = (mark) => {
    const said = { tabindex: -1, role: "img", "aria-label": mark.dataset.value };
    for (const [key, value] of Object.entries(said)) mark.setAttribute(key, value);
    const { x, y } = middle(mark);
    const outside = x < view.x || x > view.x + view.width || y < view.y || y > view.y + view.height;
    if (outside) show(x - view.width / 2, y - view.height / 2);
    mark.focus({ preventScroll: true });
    mark.scrollIntoView({ block: "nearest", inline: "nearest" });
    showTip(mark);
  };
  const series = (mark) => `${mark.parentElement.id} ${mark.dataset.interconnect ?? ""}`;
  const step = (by, toOther) => {
    const all = visible();
    const from = all.indexOf(document.activeElement);
    let to = from < 0 && by < 0 ? all.length - 1 : from + by;
    while (toOther && all[from] && all[to] && series(all[to]) === series(all[from])) to += by;
    if (all[to]) focusOn(all[to]);
  };

  // Pointer, touch and keyboard
  const keys = {
    "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), 0: reset, Escape: hideTip,
    ArrowRight: () => step(1), ArrowLeft: () => step(-1),
    ArrowDown: () => step(1, true), ArrowUp: () => step(-1, true),
  };
  const moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  const listen = (kind, act, options) => svg.addEventListener(kind, act, options);
  listen("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const [across, down] = (event.shiftKey && moves[event.key]) || [];
    if (across !== undefined) show(view.x + (across * view.width) / 8, view.y + (down * view.height) / 8);
    else if (keys[event.key]) keys[event.key]();
    else return;
    event.preventDefault();
  });
  listen("wheel", (event) => {
    const wanted = event.ctrlKey || event.metaKey || svg.contains(document.activeElement);
    if (!wanted || (event.deltaY > 0 && view.scale === 1)) return; // the page scrolls
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 16 : 1) / 400), placeOf(event));
  }, { passive: false });
  listen("dblclick", (event) => zoom(event.shiftKey ? 0.5 : 2, placeOf(event)));
  listen("pointerdown", (event) => {
    svg.focus({ preventScroll: true });
    pointers.set(event.pointerId, event);
    svg.setPointerCapture(event.pointerId);
    point(event);
  });
  listen("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return point(event);
    const [from, to] = [before, event].map(placeOf);
    const other = [...pointers.values()].find((one) => one !== before);
    const moved = to.x !== from.x || to.y !== from.y;
    if (other) {
      const still = placeOf(other);
      zoom(Math.hypot(to.x - still.x, to.y - still.y) / Math.hypot(from.x - still.x, from.y - still.y), still);
    } else if (moved && view.scale > 1) show(view.x + from.x - to.x, view.y + from.y - to.y);
    pointers.set(event.pointerId, event);
  });
  for (const end of ["pointerup", "pointercancel"]) listen(end, (event) => pointers.delete(event.pointerId));
  listen("pointerleave", (event) => event.pointerType === "mouse" && hideTip());
  listen("mousedown", (event) => event.preventDefault()); // no selection of letters
  listen("focusout", hideTip);
  window.addEventListener("beforeprint", reset);
}

for (const svg of document.querySelectorAll(".drawing svg")) setUpFigure(svg);
window.addEventListener("scroll", () => {
  const mark = document.activeElement.closest(".mark");
  if (mark && !tip.hidden) showTip(mark);
  else hideTip();
}, { capture: true, passive: true });
document.addEventListener("pointerdown", (event) => event.target.closest(".drawing") || hideTip());
