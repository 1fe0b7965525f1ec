// Points on an image, set by clicks or a crosshair, and their disks.
import {getPosition} from "../parts.js";

const RADIUS = 1 / 20; // of the image's height
const STEP = 1 / 50; // of the image's height, for a press of an arrow key
const FINE = 1 / 200; // with Shift
const ARROWS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};

const clip = fraction => Math.min(1, Math.max(0, fraction));
const round = fraction => Math.round(clip(fraction) * 1e6) / 1e6;

function makeShape(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** Draw the disks of each kind, [{name, points}], over an image. */
export function drawPoints(drawing, {width, height, tall}, kinds) {
  drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
  drawing.dataset.radius = height * tall * RADIUS;
  const cross = drawing.querySelector(".cross");
  drawing.replaceChildren(...kinds.flatMap(({name, points}) => points.flatMap(([x, y]) => {
    const position = {cx: x * width, cy: y * height, r: drawing.dataset.radius};
    return [makeShape("circle", {...position, class: "halo"}), makeShape("circle", {...position, class: `disk ${name}`})];
  })), ...(cross ? [cross] : []));
}

/** Call `add` with [x, y], in fractions of the image, at each click, tap, or Enter on the crosshair. */
export function trackPoints({canvas, image, drawing}, api, add) {
  const position = {x: .5, y: .5};

  function moveCross() {
    drawing.querySelector(".cross")?.remove();
    const {width, height} = drawing.viewBox.baseVal;
    const cross = makeShape("g", {class: "cross"});
    for (const name of ["halo", "line"]) {
      cross.append(
        makeShape("path", {class: name, d: `M${position.x * width} 0V${height}M0 ${position.y * height}H${width}`}),
        makeShape("circle", {class: name, cx: position.x * width, cy: position.y * height, r: drawing.dataset.radius}),
      );
    }
    drawing.append(cross);
  }

  canvas.addEventListener("click", event => {
    Object.assign(position, getPosition(image, event));
    add([round(position.x), round(position.y)]);
    drawing.querySelector(".cross")?.remove();
  }, {signal: api.signal});

  canvas.addEventListener("keydown", event => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      if (!event.repeat) add([round(position.x), round(position.y)]);
    } else if (event.key in ARROWS) {
      const [right, down] = ARROWS[event.key];
      const step = event.shiftKey ? FINE : STEP;
      position.x = clip(position.x + right * step * (image.clientHeight / image.clientWidth));
      position.y = clip(position.y + down * step);
    } else {
      return;
    }
    event.preventDefault();
    moveCross();
  }, {signal: api.signal});
  canvas.addEventListener("focus", () => canvas.matches(":focus-visible") && moveCross(), {signal: api.signal});
  canvas.addEventListener("blur", () => drawing.querySelector(".cross")?.remove(), {signal: api.signal});
}
