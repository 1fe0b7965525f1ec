// Ranking of images: clicks rank them best first; dragging, buttons and keys move them. Ties if the
// study allows them.
import {isOnControl, make, findParts, showPrompt} from "../parts.js";
import {gettext} from "../../texts.js";

const LETTERS = "ABCDEFGHIJKL";
const DRAG_DISTANCE = 8; // pixels that a pointer moves before it drags

export function start(task, api) {
  const part = findParts(api.root);
  const {images} = task;
  const getLetter = id => LETTERS[images.findIndex(image => image.id === id)];
  const undoStack = [];
  let ranked = []; // ids, best first
  let tied = new Set(); // ids with the same rank as the previous id
  let wasDragged = false;

  const ranks = task.answers.item?.places;
  if (ranks) {
    ranked = Object.keys(ranks).sort((a, b) => ranks[a] - ranks[b]);
    tied = new Set(ranked.filter((id, index) => index > 0 && ranks[id] === ranks[ranked[index - 1]]));
  }
  showPrompt(part.prompt, task.prompt);
  part.question.textContent = task.settings.question;

  /** Return the rank of each ranked image, from 1, without gaps. */
  function getRanks() {
    const ranks = {};
    let rank = 0;
    for (const id of ranked) {
      if (!tied.has(id)) rank += 1;
      ranks[id] = rank;
    }
    return ranks;
  }

  const cards = new Map(images.map(({id, url, width, height}) => {
    const imageName = gettext("image {name}", {name: getLetter(id)});
    const badge = make("span", {class: "rank-badge", "aria-hidden": "true"});
    const pick = make(
      "button", {type: "button", class: "pick", "data-image": id},
      make("img", {src: url, alt: "", width, height, draggable: "false"}), badge,
    );
    const move = (text, label, run) => {
      const button = make("button", {type: "button", class: "quiet", "aria-label": `${label} ${imageName}`}, text);
      button.addEventListener("click", run, {signal: api.signal});
      return button;
    };
    const moves = make(
      "div", {class: "moves"},
      move("◀", gettext("Better:"), () => shift(id, -1)), move("▶", gettext("Worse:"), () => shift(id, 1)),
      ...(task.settings.ties ? [move("=", gettext("Tied with the previous image:"), () => tie(id))] : []),
    );
    const card = make("li", {class: "card", "data-card": id}, pick, moves);
    pick.addEventListener("click", () => wasDragged || choose(id), {signal: api.signal});
    pick.addEventListener("pointerdown", event => drag(event, id), {signal: api.signal});
    part.cards.append(card);
    return [id, {card, pick, badge, moves}];
  }));

  function change(run) {
    undoStack.push([[...ranked], new Set(tied)]);
    run();
    if (ranked.length) tied.delete(ranked[0]);
    draw();
  }

  function say(id) {
    const place = getRanks()[id];
    const left = images.length - ranked.length;
    const rest = left ? gettext("{left} left.", {left}) : gettext("All images ranked. Press Enter to continue.");
    const message = gettext("Image {name}: rank {place}.", {name: getLetter(id), place});
    api.say(`${message} ${rest}`);
  }

  /** Give an image the next rank. */
  function choose(id) {
    if (ranked.includes(id)) return;
    change(() => ranked.push(id));
    say(id);
    if (ranked.length === images.length) part.next.focus({preventScroll: true});
  }

  function shift(id, step) {
    if (!ranked.includes(id)) {
      choose(id);
      return;
    }
    const target = ranked.indexOf(id) + step;
    if (target < 0 || target >= ranked.length) return;
    moveTo(id, target);
    cards.get(id).moves.children[step < 0 ? 0 : 1].focus({preventScroll: true});
  }

  function moveTo(id, target) {
    change(() => {
      const from = ranked.indexOf(id);
      if (from >= 0) {
        const next = ranked[from + 1];
        // If the next image was tied with this one, it now starts that rank.
        if (next !== undefined && tied.has(next) && !tied.has(id)) tied.delete(next);
        ranked.splice(from, 1);
      }
      tied.delete(id);
      ranked.splice(target, 0, id);
      const after = ranked[target + 1];
      if (after !== undefined && tied.has(after)) tied.add(id);
    });
    say(id);
  }

  function tie(id) {
    if (ranked.indexOf(id) < 1) return;
    change(() => (tied.has(id) ? tied.delete(id) : tied.add(id)));
    say(id);
  }

  function undo() {
    const last = undoStack.pop();
    if (!last) return;
    [ranked, tied] = last;
    draw();
    api.say(gettext("Undone"));
  }

  /** Let a mouse or pen drag an image to another's rank; a finger scrolls instead. */
  function drag(event, id) {
    wasDragged = false;
    if (event.pointerType === "touch" || event.button !== 0) return;
    const stop = new AbortController();
    const target = moved => {
      const card = document.elementFromPoint(moved.clientX, moved.clientY)?.closest("[data-card]");
      return card && card.dataset.card !== id && ranked.includes(card.dataset.card) ? card : null;
    };
    addEventListener("pointermove", moved => {
      wasDragged ||= Math.hypot(moved.clientX - event.clientX, moved.clientY - event.clientY) > DRAG_DISTANCE;
      for (const {card} of cards.values()) card.classList.toggle("drop-target", wasDragged && card === target(moved));
    }, {signal: stop.signal});
    addEventListener("pointerup", moved => {
      stop.abort();
      for (const {card} of cards.values()) card.classList.remove("drop-target");
      const card = wasDragged && target(moved);
      if (card) moveTo(id, ranked.indexOf(card.dataset.card));
      setTimeout(() => (wasDragged = false)); // ignores the click after dragging
    }, {signal: stop.signal});
    addEventListener("pointercancel", () => stop.abort(), {signal: stop.signal});
  }

  function draw() {
    const ranks = getRanks();
    part.cards.append(...[...ranked, ...images.map(({id}) => id).filter(id => !ranked.includes(id))].map(id => cards.get(id).card));
    for (const [id, {card, pick, badge, moves}] of cards) {
      const place = ranks[id];
      badge.textContent = place ?? "";
      card.classList.toggle("ranked", place !== undefined);
      pick.setAttribute("aria-label", place
        ? gettext("Image {name}: rank {place}.", {name: getLetter(id), place})
        : gettext("Image {name}, not ranked yet", {name: getLetter(id)}));
      moves.hidden = place === undefined;
      moves.children[2]?.setAttribute("aria-pressed", String(tied.has(id)));
    }
    part.next.setAttribute("aria-disabled", String(ranked.length < images.length));
    part.undo.disabled = undoStack.length === 0;
  }

  function proceed() {
    if (ranked.length < images.length) {
      api.say(gettext("{count} images not ranked yet", {count: images.length - ranked.length}));
      return;
    }
    api.save(null, {places: getRanks()}).catch(error => (part.error.textContent = error.message));
    api.done();
  }

  part.next.addEventListener("click", proceed, {signal: api.signal});
  part.undo.addEventListener("click", undo, {signal: api.signal});
  const focused = () => document.activeElement?.closest("[data-card]")?.dataset.card;
  api.shortcuts([
    ...images.slice(0, 9).map(({id}, place) => ({
      key: String(place + 1), label: gettext("Rank image {name} next", {name: LETTERS[place]}), run: () => choose(id),
    })),
    {key: "ArrowLeft", label: gettext("Move the focused image forward"), run: () => focused() && shift(focused(), -1)},
    {key: "ArrowRight", label: gettext("Move the focused image backward"), run: () => focused() && shift(focused(), 1)},
    ...(task.settings.ties ? [{key: "=", label: gettext("Tie the focused image with the previous image"), run: () => focused() && tie(focused())}] : []),
    {key: "Backspace", label: gettext("Undo"), run: undo},
    {key: "Enter", label: gettext("Continue"), run: () => isOnControl() || proceed()},
  ]);
  draw();
  return {};
}
